"""The PyTorch stacks that backends plug into, and the only place where one is looked up by its name.

A toolchain is a :class:`Toolchain`, given by an extension. The harness's own are folders of this room, each a plug-in
like anybody's: nothing outside of a folder knows its name.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

from conformance.api.backend import Backend
from conformance.extensions import ExtensionError, given, resolve
from conformance.toolchains._toolchain import NativeProgram, ProgramTraits, Reproduction, StandIn, Toolchain
from conformance.toolchains.source import PluginError, Source, installed_sources

if TYPE_CHECKING:
    from conformance.api.case import Case

__all__ = [
    "NativeProgram",
    "PluginError",
    "ProgramTraits",
    "Reproduction",
    "Source",
    "StandIn",
    "Toolchain",
    "UnknownToolchainError",
    "case_named",
    "corpus",
    "default_toolchain",
    "import_cases",
    "installed_sources",
    "load_backend",
    "toolchain_named",
    "toolchains",
]


class UnknownToolchainError(LookupError):
    """No installed extension gives a toolchain of that name; the text lists those that there are."""


@functools.cache
def toolchains() -> tuple[Toolchain, ...]:
    """Every toolchain, the default one first, the others in the order of the extensions that give them.

    Raises ExtensionError where two have one name, and where none is the default.
    """
    found: dict[str, Toolchain] = {}
    for each in given("conformance_toolchains", Toolchain):
        if each.name in found:
            raise ExtensionError(f"two extensions give a toolchain named {each.name!r}; uninstall one of them")
        found[each.name] = each
    if not any(each.is_default for each in found.values()):
        raise ExtensionError(
            "the toolchains that ship with the harness are missing from its installed metadata, which is of another "
            "release or beside the sources (torch_conformance.egg-info): install torch-conformance again"
        )
    return tuple(sorted(found.values(), key=lambda each: not each.is_default))


def toolchain_named(name: str) -> Toolchain:
    """The toolchain of that name. Raises UnknownToolchainError."""
    for each in toolchains():
        if each.name == name:
            return each
    known = ", ".join(each.name for each in toolchains())
    raise UnknownToolchainError(f"there is no toolchain {name!r}; installed here: {known}")


def default_toolchain() -> Toolchain:
    """The one that is meant where nothing says which."""
    return next(each for each in toolchains() if each.is_default)


@functools.cache
def import_cases(toolchain: str) -> None:
    """Import every module of a toolchain's cases, as the zygotes of its devices do. Imports torch.

    Raises ExtensionError for a module that cannot be imported.
    """
    for module in toolchain_named(toolchain).case_modules:
        try:
            importlib.import_module(module)
        except Exception as error:
            raise ExtensionError(
                f"the cases {module} of the toolchain {toolchain} cannot be imported: {type(error).__name__}: {error}"
            ) from error


def corpus(toolchain: str) -> tuple[Case, ...]:
    """What clauses of a toolchain about every case are tried on, in the order of registration: from one addition up to
    small networks. What extensions add is tried by the clauses that name it: the contract is the same everywhere."""
    from conformance.api.case import registered_cases

    import_cases(toolchain)
    own = toolchain_named(toolchain).cases
    return tuple(
        case
        for case in registered_cases()
        if case.toolchain == toolchain and case.everywhere and (case.everyday or case.module_class.__module__ in own)
    )


def case_named(name: str, toolchain: str) -> Case:
    """A case of a toolchain's corpus, or of those that extensions add. KeyError with the known names for another."""
    from conformance.api import case

    import_cases(toolchain)
    return case.case_named(name, toolchain)


def load_backend(subject: dict[str, Any]) -> Backend:
    """The backend of a source, as ``dataclasses.asdict`` gives it. Imports the author's module.

    Raises PluginError for what is no backend, and whatever importing the author's module raises. The attributes of the
    class are not looked at: :func:`conformance.discovery.checking.check` does that, once a run.
    """
    name = subject["registered"] or subject["name"]
    if subject["library"]:
        backend = toolchain_named(subject["toolchain"]).from_library(subject["library"])
    elif subject["value"]:
        backend = _instantiate(subject["value"])
    else:
        toolchain = toolchain_named(subject["toolchain"])
        module = subject.get("imports")
        backend = toolchain.registered_by(module, name) if module else toolchain.named(name)
    if not backend.name:
        backend.name = name
    if subject["options"] is not None:
        toolchain_named(backend.toolchain).configure(backend, subject["options"])
    return backend


def _instantiate(value: str) -> Backend:
    target = resolve(value)
    backend = target() if isinstance(target, type) else target
    if not isinstance(backend, Backend):
        classes = " or ".join(f"conformance.{each.backend_class.__name__}" for each in toolchains())
        raise PluginError(
            f"{value} is {type(backend).__name__}, not a conformance.Backend: let the class derive from {classes}"
        )
    return backend
