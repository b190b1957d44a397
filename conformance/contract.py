"""What a clause is, and the table of all of them.

A clause is one numbered, sourced statement of the contract. It is one function in ``suites/``; its docstring is the
statement, and :func:`clause` attaches the rest. Nothing here imports torch.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from conformance.availability import Availability
from conformance.features import Feature

#: The version of the contract that the shipped suites state. It changes when a clause is added, removed or changed.
CONTRACT_VERSION = "1"

#: How the modules of a toolchain run where a clause says nothing about it.
ORDINARY_RUNTIME = {"torchscript": "full", "dynamo": "compile"}

Function = TypeVar("Function", bound=Callable[..., Any])


class Level(enum.Enum):
    """What a certificate can claim: each level includes those before it. REPORTED clauses are never graded."""

    CORE = "core"
    MOBILE = "mobile"
    COMPLETE = "complete"
    REPORTED = "reported"

    def includes(self, other: Level) -> bool:
        """True when a backend of this level owes a clause of the other."""
        order = (Level.CORE, Level.MOBILE, Level.COMPLETE)
        return other in order and order.index(other) <= order.index(self)


class Control(enum.Enum):
    """What PyTorch without a backend can say about a clause."""

    SAME_CELL = "same cell"
    #: As SAME_CELL, and then with AOT Autograd and nothing behind it ("aot_eager").
    AOT = "same cell, then AOT Autograd alone"
    #: The clause speaks of the delegate itself, of which plain PyTorch has none: a failure is the backend's.
    NONE = "none"


@dataclasses.dataclass(frozen=True, slots=True)
class Clause:
    """A statement of the contract.

    ``cases`` are the names of the cases that the clause is tried on (empty: every case of the corpus); ``hosts`` and
    ``targets`` the states of availability that it speaks of (no targets: only the host takes part).
    """

    id: str
    statement: str
    source: str
    level: Level
    toolchain: str
    suite: str
    function: str
    cases: tuple[str, ...]
    runtimes: tuple[str, ...]
    hosts: tuple[Availability, ...]
    targets: tuple[Availability, ...]
    control: Control
    #: "supported": cells whose case needs a feature that the backend declares missing are UNSUPPORTED;
    #: "unsupported": the clause speaks of just those cases; "operators": of PyTorch's operators, and of no case.
    speaks_of: str
    #: What the backend must be able to do for the clause to say anything, beside what each case needs.
    needs: frozenset[Feature] = frozenset()


def clause(
    id: str,
    *,
    source: str,
    level: Level,
    toolchain: str = "torchscript",
    cases: Iterable[str] = ("add",),
    runtimes: Iterable[str] | None = None,
    hosts: Iterable[Availability] = (Availability.FULL,),
    targets: Iterable[Availability] = (),
    control: Control = Control.SAME_CELL,
    speaks_of: str = "supported",
    needs: Iterable[Feature] = (),
) -> Callable[[Function], Function]:
    """Declare the decorated function to be the clause ``id``; its docstring is the statement.

    A function that takes ``target`` or ``native`` and names no ``targets`` is tried with an available one; one that
    names no ``runtimes`` by the toolchain's ordinary one.
    Raises ValueError when the function has no docstring.
    """

    def attach(function: Function) -> Function:
        statement = inspect.cleandoc(function.__doc__ or "")
        if not statement:
            raise ValueError(f"clause {id!r}: its function {function.__name__} needs a docstring, the statement")
        takes_target = not {"target", "native"}.isdisjoint(inspect.signature(function).parameters)
        function.__clause__ = Clause(  # type: ignore[attr-defined]
            id=id,
            statement=statement,
            source=source,
            level=level,
            toolchain=toolchain,
            suite=function.__module__.rpartition(".")[2].removeprefix("test_"),
            function=function.__name__,
            cases=tuple(cases),
            runtimes=(ORDINARY_RUNTIME[toolchain],) if runtimes is None else tuple(runtimes),
            hosts=tuple(hosts),
            targets=tuple(targets) or ((Availability.FULL,) if takes_target else ()),
            control=control,
            speaks_of=speaks_of,
            needs=frozenset(needs),
        )
        return function

    return attach


def clause_of(function: Any) -> Clause | None:
    """The clause that a function states, or None."""
    return getattr(function, "__clause__", None)


def suites_path() -> Path:
    """The folder of the shipped suites: ``conformance/suites`` when installed, ``suites`` in a checkout."""
    package = Path(__file__).resolve().parent
    for folder in (package / "suites", package.parent / "suites"):
        if (folder / "test_lowering.py").is_file():
            return folder
    raise FileNotFoundError(f"the suites that ship with torch-conformance are missing beside {package.name}/")


def shipped_clauses() -> tuple[Clause, ...]:
    """Every clause of the shipped suites, in the order of the files and of the functions in them."""
    clauses = []
    for path in sorted(suites_path().glob("test_*.py")):
        for value in vars(_suite_module(path)).values():
            found = clause_of(value)
            if found is not None and inspect.isfunction(value):
                clauses.append(found)
    return tuple(clauses)


def suite_function(clause: Clause) -> tuple[Callable[..., None], tuple[str, ...]]:
    """The function that states a shipped clause, and the names of its parameters."""
    function = getattr(_suite_module(suites_path() / f"test_{clause.suite}.py"), clause.function)
    return function, tuple(inspect.signature(function).parameters)


def levels_of(toolchain: str) -> tuple[Level, ...]:
    """The levels that a backend of the toolchain can reach: those for which it has clauses, the lowest first."""
    found = {each.level for each in shipped_clauses() if each.toolchain == toolchain}
    return tuple(level for level in Level if level in found and level is not Level.REPORTED)


def contract_digest() -> str:
    """SHA-256 over the ids, statements and levels of the shipped clauses: two reports with one digest agree on them."""
    digest = hashlib.sha256()
    for each in sorted(shipped_clauses(), key=lambda clause: clause.id):
        digest.update(f"{each.id}\0{each.statement}\0{each.level.value}\0".encode())
    return digest.hexdigest()


def _suite_module(path: Path) -> ModuleType:
    name = f"conformance._suites.{path.stem}"
    if name not in sys.modules:
        specification = importlib.util.spec_from_file_location(name, path)
        assert specification is not None
        assert specification.loader is not None
        sys.modules[name] = module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
    return sys.modules[name]
