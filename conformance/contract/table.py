"""The table of all clauses: those of each toolchain's folder of suites."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance._util.shipped import shipped_folder
from conformance.api.clause import Clause, Level
from conformance.extensions import ExtensionError, SuiteFolder, given
from conformance.toolchains import Toolchain, default_toolchain, toolchain_named, toolchains

#: The version of the contract that the shipped suites state. It changes when a clause is added, removed or changed.
CONTRACT_VERSION = "5"


def clause_of(function: Any) -> Clause | None:
    """The clause that a function states, or None. Where its decorator names no toolchain, the folder of its file does;
    where it names no runtimes, the toolchain's first is meant."""
    stated: Clause | None = getattr(function, "__clause__", None)
    if stated is None or (stated.toolchain and stated.runtimes):
        return stated
    toolchain = toolchain_named(stated.toolchain) if stated.toolchain else _toolchain_of(function.__code__.co_filename)
    runtimes = stated.runtimes or toolchain.runtimes[:1]
    return dataclasses.replace(stated, toolchain=toolchain.name, runtimes=runtimes)


@functools.cache
def _toolchain_of(file: str) -> Toolchain:
    """The toolchain of a file of clauses: that of its folder of suites, else the default one."""
    folder = Path(file).resolve().parent
    for each in suite_folders():
        if each.folder.resolve() == folder:
            return toolchain_named(each.toolchain)
    return default_toolchain()


@functools.cache
def suite_folders() -> tuple[SuiteFolder, ...]:
    """Every folder of suites: those of the toolchains, which are the contract, and those that extensions add.

    Raises ExtensionError where two files have one name: a suite is called after its file, in reports and in pytest.
    """
    own = [SuiteFolder(each.name, each.suites) for each in toolchains()]
    folders = (*own, *given("conformance_suites", SuiteFolder))
    found: dict[str, Path] = {}
    for path in (path for each in folders for path in sorted(each.folder.glob("test_*.py"))):
        other = found.setdefault(path.name, path)
        if other.resolve() != path.resolve():
            raise ExtensionError(f"two suites are called {path.name}: {other} and {path}; rename one of the files")
    return folders


def suites_path() -> Path:
    """The folder of the suites that ship with the harness, one folder in it for each toolchain."""
    return shipped_folder("suites")


@functools.cache
def shipped_clauses() -> tuple[Clause, ...]:
    """Every clause of the contract, in the order of the names of their files, and of the functions in them."""
    paths = [path for toolchain in toolchains() for path in toolchain.suites.glob("test_*.py")]
    return tuple(clause for path in sorted(paths, key=lambda path: path.name) for clause in _clauses_of(path))


def installed_clauses() -> tuple[Clause, ...]:
    """Every clause of the contract, and those that extensions add. Raises ExtensionError as :func:`suite_folders`."""
    return tuple(
        clause
        for each in suite_folders()
        for path in sorted(each.folder.glob("test_*.py"))
        for clause in _clauses_of(path)
    )


def suite_function(clause: Clause) -> tuple[Callable[..., None], tuple[str, ...]]:
    """The function that states a clause of the contract, and the names of its parameters."""
    folder = toolchain_named(clause.toolchain).suites
    function = getattr(_suite_module(folder / f"test_{clause.suite}.py"), clause.function)
    return function, tuple(inspect.signature(function).parameters)


def levels_of(toolchain: str) -> tuple[Level, ...]:
    """The levels that a backend of the toolchain can reach: those for which it has clauses, the lowest first."""
    found = {each.level for each in shipped_clauses() if each.toolchain == toolchain}
    return tuple(level for level in Level if level in found and level is not Level.REPORTED)


def contract_clauses(toolchain: str = "") -> tuple[Clause, ...]:
    """The clauses of one contract, as :func:`shipped_clauses` has them.

    The toolchains that ship with the harness, and need no more than it brings, have one contract between them, which is
    also meant by an empty name; any other has its own.
    """
    shared = {each.name for each in toolchains() if each.suites.is_relative_to(suites_path()) and not each.requires}
    meant = {toolchain} if toolchain and toolchain not in shared else shared
    return tuple(each for each in shipped_clauses() if each.toolchain in meant)


def contract_digest(toolchain: str = "") -> str:
    """SHA-256 over what a contract states, and what it is tried on: two reports with one digest agree on them.

    These are the id, statement and level of each clause, and the cases, runtimes, hosts and targets that it names.
    Which contract it is :func:`contract_clauses` says.
    """
    clauses = sorted(contract_clauses(toolchain), key=lambda clause: clause.id)
    return hashlib.sha256(json.dumps([_stated(each) for each in clauses]).encode()).hexdigest()


def _stated(clause: Clause) -> dict[str, Any]:
    """What a clause states and what it is tried on, as builtin values for a digest."""
    return {
        "id": clause.id,
        "statement": clause.statement,
        "level": clause.level.value,
        "cases": clause.cases,
        "runtimes": clause.runtimes,
        "hosts": [each.value for each in clause.hosts],
        "targets": [each.value for each in clause.targets],
    }


def _clauses_of(path: Path) -> Iterator[Clause]:
    for value in vars(_suite_module(path)).values():
        clause = clause_of(value) if inspect.isfunction(value) else None
        if clause is not None:
            yield clause


def _suite_module(path: Path) -> ModuleType:
    name = f"conformance._suites.{path.stem}"
    if name not in sys.modules:
        specification = importlib.util.spec_from_file_location(name, path)
        assert specification is not None
        assert specification.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
    return sys.modules[name]
