"""A backend as its author's class describes it: whether its attributes are what they must be, and as plain data.

Runs in a describing child, where the author's module was imported.
"""

from __future__ import annotations

from typing import Any

from conformance.api.availability import Availability
from conformance.api.backend import Backend, Environment, Tolerance
from conformance.api.features import Features
from conformance.toolchains import PluginError, toolchain_named


def check(backend: Backend) -> None:
    """Raise PluginError, with everything that is wrong, unless the attributes of an author's class have their types."""
    problems = problems_of(backend)
    if problems:
        raise PluginError(f"{type(backend).__module__}:{type(backend).__qualname__}: " + "; ".join(problems))


def problems_of(backend: Backend) -> list[str]:
    """What is wrong with the attributes of an author's class, a sentence each."""
    problems = []

    def expect(attribute: str, wanted: str, holds: bool) -> None:
        if not holds:
            value = getattr(backend, attribute)
            problems.append(f"{attribute} must be {wanted}, found {type(value).__name__}: {value!r:.80}")

    expect("name", "a string that UTF-8 can encode", isinstance(backend.name, str) and _is_text(backend.name))
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
    toolchain = toolchain_named(backend.toolchain)
    lacking = toolchain.lacking()
    return problems + ([lacking] if lacking else []) + toolchain.problems(backend)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # lone surrogates
        return False
    return True


def describe(backend: Backend, *, prepared: bool) -> dict[str, Any]:
    """A backend as plain data, in builtin types: what the pytest process, the plan and the report know of it.

    What its toolchain adds may be known only once it is ``prepared``, such as its libraries.
    """
    states = {state.value: getattr(backend, state.attribute) for state in Availability}
    described: dict[str, Any] = {
        "name": backend.name,
        "toolchain": backend.toolchain,
        "missing_features": dict(backend.features.missing),
        "tolerances": {name: (each.rtol, each.atol) for name, each in backend.tolerances.items()},
        "states": {name: None if state is None else dict(state) for name, state in states.items()},
        "lost": None if backend.lost is None else dict(backend.lost),
        "goldens": backend.goldens,
        "libraries": [],
        "options": {},
        "files": [],
        "only_lowers": "",
        **toolchain_named(backend.toolchain).details(backend, prepared=prepared),
    }
    return {name: plain(value) for name, value in described.items()}


def plain(value: Any) -> Any:
    """The same, with what derives from a builtin type as that type: a name of an Enum, a number of NumPy. Messages
    take no other types."""
    if isinstance(value, dict):
        return {plain(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return (tuple if isinstance(value, tuple) else list)(map(plain, value))
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    return float(value) if isinstance(value, float) else value
