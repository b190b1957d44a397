"""Finds backends: entry points first, then what PyTorch itself knows, then a library named on the command line.

Nothing of a backend is imported here but in :func:`load_backend`, which runs in a device or in a describing child.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any

from conformance.availability import Availability
from conformance.backend import Backend, DynamoBackend, Environment, Tolerance, TorchScriptBackend
from conformance.features import Features, delegation

ENTRY_POINT_GROUP = "conformance_backends"
#: Where backends of ``torch.compile`` register themselves with PyTorch.
DYNAMO_ENTRY_POINT_GROUP = "torch_dynamo_backends"


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """Where a backend comes from: an entry point's ``value`` (``module:attribute``) that gives an author's class, a
    ``library``, or, with neither, PyTorch's own registry of ``torch.compile`` backends.

    ``name`` is what the backend is called in a run, ``registered`` what it is known by where it was found (the same
    when empty). ``toolchain`` is empty while only importing the class could tell. ``options`` replace its.
    """

    name: str
    value: str = ""
    library: str = ""
    distribution: str = ""
    version: str = ""
    toolchain: str = ""
    registered: str = ""
    options: dict[str, Any] | None = dataclasses.field(default=None, hash=False)

    @property
    def found_as(self) -> str:
        """The name by which ``--backend`` finds it, whatever a run calls it."""
        return self.registered or self.name


class PluginError(Exception):
    """An author's class is not what the harness can use; the text says what was expected and found."""


def installed_sources(group: str = ENTRY_POINT_GROUP) -> tuple[Source, ...]:
    """Every entry point of the group, sorted by name; importing none of them.

    A name may stand there several times, as the name of backends of different toolchains.
    """
    found: dict[tuple[str, str], Source] = {}
    for point in importlib.metadata.entry_points(group=group):
        distribution = point.dist
        found.setdefault(
            (point.name, point.value),
            Source(
                name=point.name,
                value=point.value,
                distribution=distribution.name if distribution else "",
                version=distribution.version if distribution else "",
            ),
        )
    return tuple(found[key] for key in sorted(found))


def dynamo_sources() -> tuple[Source, ...]:
    """Every backend of ``torch.compile`` that an entry point registers with PyTorch; importing none of them."""
    sources = installed_sources(DYNAMO_ENTRY_POINT_GROUP)
    return tuple(dataclasses.replace(source, value="", toolchain="dynamo") for source in sources)


def load_backend(subject: dict[str, Any]) -> Backend:
    """The backend of a source, as ``dataclasses.asdict`` gives it. Imports the author's module.

    Raises PluginError for what is no backend, and whatever importing the author's module raises. The attributes of the
    class are not looked at: :func:`check` does that, once a run.
    """
    if subject["library"]:
        library_class = type("LibraryBackend", (TorchScriptBackend,), {"libraries": (subject["library"],)})
        backend: Backend = library_class()
    elif subject["value"]:
        backend = _instantiate(subject["value"])
    else:
        backend = _registered_with_pytorch(subject["registered"] or subject["name"])
    if not backend.name:
        backend.name = subject["registered"] or subject["name"]
    if subject["options"] is not None and isinstance(backend, DynamoBackend):
        backend.options = subject["options"]
    return backend


def _registered_with_pytorch(name: str) -> DynamoBackend:
    """A backend of which nothing is known but its name, and the tags under which PyTorch has it."""
    from torch._dynamo.backends.registry import _COMPILER_FNS

    backend = DynamoBackend()
    backend.name = name
    if "debug" in getattr(_COMPILER_FNS.get(name), "_tags", ()):
        reason = "PyTorch registers it for debugging: it runs the graph with PyTorch's own operators"
        backend.features = backend.features.without(delegation, reason)
    return backend


def check(backend: Backend) -> None:
    """Raise PluginError, with everything that is wrong, unless the attributes of an author's class have their types."""
    problems = problems_of(backend)
    if problems:
        raise PluginError(f"{type(backend).__module__}:{type(backend).__qualname__}: " + "; ".join(problems))


def resolve(value: str) -> Any:
    """What an entry point's ``module:attribute`` refers to. Imports the module."""
    module_name, _, attribute = value.partition(":")
    target: Any = importlib.import_module(module_name)
    for part in attribute.split("."):
        target = getattr(target, part)
    return target


def _instantiate(value: str) -> Backend:
    target = resolve(value)
    backend = target() if isinstance(target, type) else target
    if not isinstance(backend, Backend):
        raise PluginError(
            f"{value} is {type(backend).__name__}, not a conformance.Backend: "
            "let the class derive from conformance.TorchScriptBackend or conformance.DynamoBackend"
        )
    return backend


def problems_of(backend: Backend) -> list[str]:
    """What is wrong with the attributes of an author's class, a sentence each."""
    problems = []

    def expect(attribute: str, wanted: str, holds: bool) -> None:
        if not holds:
            value = getattr(backend, attribute)
            problems.append(f"{attribute} must be {wanted}, found {type(value).__name__}: {value!r:.80}")

    expect("name", "a string", isinstance(backend.name, str))
    expect("features", "a conformance.Features", isinstance(backend.features, Features))
    for attribute in (*(state.attribute for state in Availability), "lost"):
        value = getattr(backend, attribute)
        expect(attribute, "a conformance.Environment or None", value is None or isinstance(value, Environment))
    expect(
        "goldens",
        "the path of a folder as a string, or None",
        backend.goldens is None or isinstance(backend.goldens, str),
    )
    try:
        tolerances: dict[str, Any] = dict(backend.tolerances)
    except (TypeError, ValueError):
        tolerances = {"": None}
    expect(
        "tolerances",
        'a mapping from dtype names ("float32") to conformance.Tolerance',
        all(isinstance(key, str) and isinstance(value, Tolerance) for key, value in tolerances.items()),
    )
    if isinstance(backend, TorchScriptBackend):
        libraries = backend.libraries
        expect(
            "libraries",
            "a tuple of paths as strings",
            isinstance(libraries, tuple) and all(isinstance(path, str) for path in libraries),
        )
    if isinstance(backend, DynamoBackend):
        expect("options", "a mapping that JSON can hold", _is_json_object(backend.options))
        expect("mode", "a string or None", backend.mode is None or isinstance(backend.mode, str))
        expect(
            "runtime",
            "a tuple of names of modules",
            isinstance(backend.runtime, tuple) and all(isinstance(name, str) for name in backend.runtime),
        )
    return problems


def _is_json_object(value: Any) -> bool:
    try:
        return isinstance(json.loads(json.dumps(dict(value))), dict) and all(isinstance(key, str) for key in value)
    except (TypeError, ValueError):
        return False


def describe(backend: Backend) -> dict[str, Any]:
    """A backend as plain data: what the pytest process, the plan and the report know of it."""
    libraries = backend.libraries if isinstance(backend, TorchScriptBackend) else ()
    states = {state.value: getattr(backend, state.attribute) for state in Availability}
    return {
        "name": backend.name,
        "toolchain": backend.toolchain,
        "missing_features": dict(backend.features.missing),
        "tolerances": {name: (each.rtol, each.atol) for name, each in backend.tolerances.items()},
        "states": {name: None if state is None else dict(state) for name, state in states.items()},
        "lost": None if backend.lost is None else dict(backend.lost),
        "goldens": backend.goldens,
        "libraries": [str(Path(path).absolute()) for path in libraries],
        "options": dict(backend.options) if isinstance(backend, DynamoBackend) else {},
        "files": [{"name": Path(path).name, "sha256": sha256_of(Path(path))} for path in libraries],
    }


def sha256_of(path: Path) -> str:
    """The digest of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
