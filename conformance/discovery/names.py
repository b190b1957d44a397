"""The names of backends: known at once where somebody was asked before, and nothing of it has changed since."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from importlib import metadata, util
from pathlib import Path
from typing import Any

from conformance import __version__
from conformance._util.remembered import recall, remember, state_of_package
from conformance.api.saboteur import ENTRY_POINT_GROUP as SABOTEUR_GROUP
from conformance.devices import ZygoteKind, ZygotePool
from conformance.discovery.describing import discovery, discovery_kind, known_saboteurs
from conformance.toolchains import Source, Toolchain, installed_sources, toolchains
from conformance.toolchains.source import ENTRY_POINT_GROUP

_OWN, _SABOTEURS = "torchs-own", "saboteurs"
#: How names end that PyTorch has for its own tests.
_FOR_TESTS = "_TESTING_ONLY"


def torchs_own(toolchain: Toolchain, pool: ZygotePool) -> dict[Source, list[str]]:
    """The backends that PyTorch itself brings for a toolchain, with their tags. Imports no vendor's module."""
    known = _recalled_own(toolchain)
    if known is None:
        device = discovery(None, pool, toolchain.name)
        try:
            known = device.call("known", phase="import", toolchain=toolchain.name)
        finally:
            device.end()
        remember(_OWN, _key_of_torch(toolchain), known)
    return _as_sources(toolchain, known)


def saboteur_sources(name: str, pool: ZygotePool) -> list[Source]:
    """The installed saboteurs of that name. Raises SelectionError when those of a distribution cannot be imported."""
    recalled = _recalled_saboteurs()
    if recalled is not None and name not in recalled:
        return []
    found = [each.source for each in known_saboteurs(pool)]
    remember(_SABOTEURS, _key_of_saboteurs(), [each.name for each in found])
    return [each for each in found if each.name == name]


def unknown_text(wanted: str) -> str:
    """What to say of a name that nothing provides; empty while it would take a process to know that nothing does."""
    prefix, _, name = wanted.rpartition(":")
    if module_sources(prefix, name):
        return ""
    own = [_recalled_own(each) for each in toolchains()]
    saboteurs = _recalled_saboteurs()
    if saboteurs is None or None in own or name in saboteurs:
        return ""
    known = {source.name for source in _sources_without_asking()}
    return "" if name in known else text_of_unknown(wanted, known)


def discovered_by(wanted: str) -> list[ZygoteKind]:
    """The zygote whose devices will be asked about a backend; none where that takes a process to know."""
    sources = [source for source in _sources_without_asking() if source.name == wanted]
    return [discovery_kind(sources[0].toolchain).zygote] if len(sources) == 1 else []


def text_of_unknown(wanted: str, names: set[str]) -> str:
    """That nothing provides a backend, which names there are, and how one is found."""
    shown = sorted(name for name in names if not name.endswith(_FOR_TESTS))
    close = difflib.get_close_matches(wanted.rpartition(":")[2], shown, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    groups = [ENTRY_POINT_GROUP, *(each.entry_point_group for each in toolchains() if each.entry_point_group)]
    return (
        f"there is no backend named {wanted!r}.{hint} Known here: {', '.join(shown)}. A backend is found by an entry "
        f"point of the group {' or '.join(map(repr, groups))}, in PyTorch's own registry, or by "
        "--conformance-library=PATH; one without an entry point, which a module has, or registers when it is imported, "
        "by --backend=MODULE:NAME. --list-backends shows details."
    )


def module_sources(module: str, name: str) -> list[Source]:
    """The backend that a module may have or register under a name when it is imported, which it is not here: one for
    each toolchain that has such. None where there is no such module, or the word names a toolchain."""
    taking = [each for each in toolchains() if each.registers_on_import]
    package = module.partition(".")[0]
    if not package.isidentifier() or module in {each.name for each in toolchains()} or not _can_be_imported(package):
        return []
    distribution = next(iter(metadata.packages_distributions().get(package, ())), "")
    version = metadata.version(distribution) if distribution else ""
    return [
        Source(name, distribution=distribution, version=version, toolchain=each.name, imports=module) for each in taking
    ]


def _can_be_imported(package: str) -> bool:
    """Whether a device can import a package. What is ``__main__`` here is another module there."""
    try:
        return package != "__main__" and util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def _sources_without_asking() -> Iterator[Source]:
    yield from installed_sources()
    for toolchain in toolchains():
        yield from toolchain.sources()
        yield from _as_sources(toolchain, _recalled_own(toolchain) or {})


def _as_sources(toolchain: Toolchain, known: dict[str, list[str]]) -> dict[Source, list[str]]:
    elsewhere = {source.name for source in toolchain.sources()}
    version = metadata.version("torch")
    return {
        Source(name, distribution="torch", version=version, toolchain=toolchain.name): tags
        for name, tags in known.items()
        if name not in elsewhere
    }


def _recalled_own(toolchain: Toolchain) -> dict[str, list[str]] | None:
    """What PyTorch said of itself when it was asked last; None if it was not."""
    if type(toolchain).known is Toolchain.known or toolchain.lacking():
        return {}
    found: Any = recall(_OWN, _key_of_torch(toolchain))
    return found if isinstance(found, dict) and all(isinstance(tags, list) for tags in found.values()) else None


def _recalled_saboteurs() -> list[str] | None:
    if not installed_sources(SABOTEUR_GROUP):
        return []
    found: Any = recall(_SABOTEURS, _key_of_saboteurs())
    return found if isinstance(found, list) else None


def _key_of_torch(toolchain: Toolchain) -> str:
    found = util.find_spec("torch")
    file = Path(found.origin) if found and found.origin else None
    when = file.stat().st_mtime_ns if file else 0
    return f"{__version__} {toolchain.name} {metadata.version('torch')} {file} {when}"


def _key_of_saboteurs() -> str:
    points = installed_sources(SABOTEUR_GROUP)
    return " ".join(
        [__version__, *(f"{each.value} {state_of_package(each.value.partition(':')[0])}" for each in points)]
    )
