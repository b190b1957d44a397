"""The toolchain of ``torch.compile``, as an extension gives it. Imports no torch."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance._util.shipped import shipped_folder
from conformance.api.backend import Backend
from conformance.api.features import delegation
from conformance.hookspecs import hookimpl
from conformance.toolchains import (
    PluginError,
    ProgramTraits,
    Reproduction,
    Source,
    StandIn,
    Toolchain,
    installed_sources,
)
from conformance.toolchains.dynamo.backend import DynamoBackend
from conformance.toolchains.dynamo.registering import import_backend

_HERE = "conformance.toolchains.dynamo"
#: Where backends of ``torch.compile`` register themselves with PyTorch.
ENTRY_POINT_GROUP = "torch_dynamo_backends"

#: What PyTorch tags backends with that are not for users.
_TAGS = ("debug", "experimental")


class _RegisteredOnImport(DynamoBackend):
    """A backend without an entry point: its vendor's module registers it when it is imported, or has it as a function
    that users give to ``torch.compile`` itself."""

    def __init__(self, module: str) -> None:
        self.module = module

    def load(self) -> None:
        """Import the module."""
        import_backend(self.module, self.name)


class Dynamo(Toolchain):
    """Backends of ``torch.compile``: lowered when Dynamo compiles a frame, guarded by what was assumed then."""

    name = "dynamo"
    summary = "torch.compile backends"
    runtimes = ("compile",)
    backend_class = DynamoBackend

    session = f"{_HERE}.verbs:open_session"
    client = f"{_HERE}.client:DynamoDevice"
    preload = f"{_HERE}.preload"
    run_folders = ("TORCHINDUCTOR_CACHE_DIR",)
    cases = tuple(
        f"{_HERE}.cases.{name}"
        for name in (
            "models",
            "state",
            "outputs",
            "corners",
            "practice",
            "ordinary",
            "combined",
            "everyday",
            "training",
        )
    )

    stand_ins = (StandIn(Source(name="aot_eager", toolchain="dynamo"), "AOT Autograd without a backend"),)
    programs = ProgramTraits(
        copies_weights=False,
        keeps_aliases=True,
        keeps_strides=True,
        keeps_writes=True,
        keeps_state=True,
        keeps_gradients=True,
        trains=True,
        takes_python=True,
        gives_numbers=True,
        saves=False,
    )
    conforming = ("dynamo_control", "aot_eager")
    entry_point_group = ENTRY_POINT_GROUP
    takes_options = True
    registers_on_import = True
    suites = shipped_folder("suites") / "dynamo"
    seconds_of_an_operator = 60.0
    kit = f"{_HERE}.reproduce.kit:KIT"
    templates = Path(__file__).with_name("templates")

    def sources(self) -> tuple[Source, ...]:
        """Every backend that an entry point registers with PyTorch; importing none of them."""
        return tuple(
            dataclasses.replace(source, value="", toolchain=self.name)
            for source in installed_sources(ENTRY_POINT_GROUP)
        )

    def known(self) -> dict[str, list[str]]:
        """Every name that ``torch.compile(backend=...)`` takes here, with its tags; importing no vendor's module."""
        import torch._dynamo

        names = torch._dynamo.list_backends(exclude_tags=())
        tagged = {tag: _tagged(tag) for tag in _TAGS}
        return {name: [tag for tag in _TAGS if name in tagged[tag]] for name in names}

    def named(self, name: str) -> Backend:
        """A backend of which nothing is known but its name, and the tags under which PyTorch has it."""
        backend = DynamoBackend()
        backend.name = name
        if name in _tagged("debug"):
            reason = "PyTorch registers it for debugging: it runs the graph with PyTorch's own operators"
            backend.features = backend.features.without(delegation, reason)
        return backend

    def registered_by(self, module: str, name: str) -> Backend:
        """One that PyTorch knows once the module was imported, and of which nothing else is known."""
        backend = _RegisteredOnImport(module)
        backend.name = name
        return backend

    def names_taken(self) -> Mapping[str, str]:
        """Backends that PyTorch knows, and the distribution of each. It takes its own before any entry point."""
        import torch._dynamo

        own = dict.fromkeys(torch._dynamo.list_backends(exclude_tags=()), "torch")
        return own | {source.name: source.distribution for source in self.sources()}

    def problems(self, backend: Backend) -> list[str]:
        """What is wrong with ``options``, ``mode`` and ``runtime``."""
        assert isinstance(backend, DynamoBackend)
        runtime = backend.runtime
        expected = (
            ("options", "a mapping that JSON can hold", _is_json_object(backend.options)),
            ("mode", "a string or None", backend.mode is None or isinstance(backend.mode, str)),
            (
                "runtime",
                "a tuple of names of modules",
                isinstance(runtime, tuple) and all(isinstance(name, str) for name in runtime),
            ),
        )
        found = [(name, wanted, getattr(backend, name)) for name, wanted, holds in expected if not holds]
        return [
            f"{name} must be {wanted}, found {type(value).__name__}: {value!r:.80}" for name, wanted, value in found
        ]

    def details(self, backend: Backend, *, prepared: bool) -> dict[str, Any]:
        """The options with which its models are compiled."""
        assert isinstance(backend, DynamoBackend)
        return {"options": dict(backend.options)}

    def configure(self, backend: Backend, options: dict[str, Any]) -> None:
        """Compile with other options."""
        assert isinstance(backend, DynamoBackend)
        backend.options = options

    def expect_known(self, backend: Backend, registered: list[str]) -> None:
        """Raise PluginError unless ``torch.compile`` takes the backend's name."""
        import torch._dynamo

        try:
            found = torch._dynamo.lookup_backend(backend.name)
        except torch._dynamo.exc.InvalidBackend:
            raise PluginError(
                f"load() worked, but torch.compile knows no backend {backend.name!r} afterwards. Register it with "
                f"torch._dynamo.register_backend in load(), or by an entry point of the group {ENTRY_POINT_GROUP!r}."
            ) from None
        if not callable(found):
            raise PluginError(
                f"the backend {backend.name!r} is not callable: PyTorch has {found!r:.80} under that name"
            )

    def reproduction(self, backend: Backend, cases: list[str]) -> Reproduction:
        """What ``torch.compile`` is given: PyTorch finds the backend by its name unless its class does more."""
        from conformance.devices import Subject

        assert isinstance(backend, DynamoBackend)
        imports = backend.module if isinstance(backend, _RegisteredOnImport) else ""
        with Subject():
            return Reproduction(
                loads=type(backend).load is not DynamoBackend.load and not imports,
                options=_written_down(dict(backend.options)),
                mode=backend.mode,
                runtime=tuple(backend.runtime),
                imports=imports,
            )

    def gist(self, text: str) -> str:
        """Without the name that Dynamo puts before what a backend raised, and the advice behind it."""
        return _RAISED_BY.sub("", text.partition("\nSet TORCHDYNAMO_VERBOSE=")[0])


#: How BackendCompilerFailed begins: the failure of another backend would be another one by that.
_RAISED_BY = re.compile(r"^backend='[^'\n]*' raised:\n")


def _tagged(tag: str) -> set[str]:
    """The backends with a tag of PyTorch's: those that it lists no more when told to leave it out."""
    import torch._dynamo

    return {*torch._dynamo.list_backends(exclude_tags=())} - {*torch._dynamo.list_backends(exclude_tags=(tag,))}


def _written_down(options: dict[str, Any]) -> dict[str, Any] | None:
    """Options that are the same when they are read from their text; None for others."""
    try:
        return options if ast.literal_eval(repr(options)) == options else None
    except (ValueError, SyntaxError):
        return None


def _is_json_object(value: Any) -> bool:
    try:
        return isinstance(json.loads(json.dumps(dict(value))), dict) and all(isinstance(key, str) for key in value)
    except (TypeError, ValueError):
        return False


@hookimpl
def conformance_toolchains() -> list[Toolchain]:
    """The toolchain ``dynamo``."""
    return [Dynamo()]
