"""What a clause is: one numbered, sourced statement of the contract.

It is one function in a suite; its docstring is the statement, and :func:`clause` attaches the rest.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypedDict, TypeVar, Unpack

from conformance.api.availability import Availability
from conformance.api.features import Feature
from conformance.api.promise import Promise, sources_of

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
    #: As SAME_CELL, and then with each of those that stand in for a backend in its toolchain, such as AOT Autograd with
    #: nothing behind it.
    STAND_INS = "same cell, then stand-ins"
    #: As releases before 0.2 call it.
    AOT = STAND_INS
    #: The clause speaks of the delegate itself, of which plain PyTorch has none: a failure is the backend's.
    NONE = "none"


class SpeaksOf(enum.Enum):
    """Which cells a clause has."""

    #: Those of its cases; where a case needs a feature that the backend declares missing, the cell is UNSUPPORTED.
    SUPPORTED = "supported"
    #: Those of just the cases that need such a feature.
    UNSUPPORTED = "unsupported"
    #: One for each of PyTorch's operators that a run asks for, and none for a case.
    OPERATORS = "operators"
    #: One for each theme that its cases name: programs, or orders of events, are generated there. Themes are no cases
    #: of the corpus.
    GENERATED = "generated"


@dataclasses.dataclass(frozen=True, slots=True)
class Clause:
    """A statement of the contract.

    ``cases`` are the names of the cases that the clause is tried on (empty: every case of the corpus), or the themes of
    its generated cells. ``hosts`` and ``targets`` are the states of availability in which it is tried (no targets: only
    the host takes part). ``toolchain`` and ``runtimes`` are empty where the decorator leaves them open:
    :func:`conformance.contract.clause_of` fills them in.
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
    speaks_of: SpeaksOf
    #: What the backend must be able to do for the clause to say anything, beside what each case needs.
    needs: frozenset[Feature] = frozenset()
    #: The documented promises that it rests on. Every graded clause of TorchScript and torch.compile has some.
    promises: tuple[Promise, ...] = ()
    #: Whether everyday models are among its cases, if these are every case of the corpus.
    everyday: bool = True


class Particulars(TypedDict, total=False):
    """The keyword arguments of :func:`clause`."""

    source: str | Promise | tuple[Promise, ...]
    level: Level
    toolchain: str
    cases: Iterable[str]
    runtimes: Iterable[str] | None
    hosts: Iterable[Availability]
    targets: Iterable[Availability]
    control: Control
    speaks_of: SpeaksOf | str
    needs: Iterable[Feature]
    everyday: bool


class ClauseDecorator(Protocol):
    """What :func:`clauses` returns: :func:`clause`, with some of its keyword arguments given already."""

    def __call__(self, id: str, **particulars: Unpack[Particulars]) -> Callable[[Function], Function]: ...


def clause(
    id: str,
    *,
    source: str | Promise | tuple[Promise, ...],
    level: Level,
    toolchain: str = "",
    cases: Iterable[str] = ("add",),
    runtimes: Iterable[str] | None = None,
    hosts: Iterable[Availability] = (Availability.FULL,),
    targets: Iterable[Availability] = (),
    control: Control = Control.SAME_CELL,
    speaks_of: SpeaksOf | str = SpeaksOf.SUPPORTED,
    needs: Iterable[Feature] = (),
    everyday: bool = True,
) -> Callable[[Function], Function]:
    """Declare the decorated function to be the clause ``id``; its docstring is the statement.

    ``source`` is what the clause rests on: promises, or the place where one is documented, as a text.
    A function that takes ``target`` or ``native`` and names no ``targets`` is tried with an available one; one that
    names no ``runtimes`` by the toolchain's ordinary one; one that names no ``toolchain`` belongs to that of its
    folder. One that speaks of how a model is lowered, and not of what it gives, is tried on every case but the
    ``everyday`` ones.
    Raises ValueError when the function has no docstring, and when a clause of generated cells has no theme, takes a
    target, or speaks of other hosts than those with the whole backend.
    """

    def attach(function: Function) -> Function:
        statement = inspect.cleandoc(function.__doc__ or "")
        if not statement:
            raise ValueError(f"clause {id!r}: its function {function.__name__} needs a docstring, the statement")
        promises = () if isinstance(source, str) else source if isinstance(source, tuple) else (source,)
        takes_target = not {"target", "native"}.isdisjoint(inspect.signature(function).parameters)
        stated = Clause(
            id=id,
            statement=statement,
            source=source if isinstance(source, str) else sources_of(promises),
            level=level,
            toolchain=toolchain,
            suite=function.__module__.rpartition(".")[2].removeprefix("test_"),
            function=function.__name__,
            cases=tuple(cases),
            runtimes=() if runtimes is None else tuple(runtimes),
            hosts=tuple(hosts),
            targets=tuple(targets) or ((Availability.FULL,) if takes_target else ()),
            control=control,
            speaks_of=SpeaksOf(speaks_of),
            needs=frozenset(needs),
            promises=promises,
            everyday=everyday,
        )
        if stated.speaks_of is SpeaksOf.GENERATED:
            _expect_generated(stated)
        function.__clause__ = stated  # type: ignore[attr-defined]
        return function

    return attach


def _expect_generated(stated: Clause) -> None:
    """Raise ValueError where a clause of generated cells asks for what these do not have."""
    if not stated.cases:
        raise ValueError(f"clause {stated.id!r}: cases= names the themes of its generated cells, one at least")
    if stated.targets:
        raise ValueError(f"clause {stated.id!r}: a generated cell has no target; what it loads it loads in devices")
    if stated.hosts != (Availability.FULL,):
        found = ", ".join(each.value for each in stated.hosts)
        raise ValueError(f"clause {stated.id!r}: generated cells have hosts in state yes/yes alone, found {found}")


def clauses(**shared: Unpack[Particulars]) -> ClauseDecorator:
    """:func:`clause` for the clauses of a module, which share these keyword arguments unless one states its own.

    ::

        clause = clauses(source="pytorch/pytorch#26477", level=Level.COMPLETE)


        @clause("inference.lowering", cases=("add", "linear"))
        def test_lowered(host: TorchScriptDevice, case: PreparedCase) -> None: ...

    The decorator raises what :func:`clause` raises, and TypeError for a clause that gets no source or no level.
    """

    def clause_sharing(id: str, **particulars: Unpack[Particulars]) -> Callable[[Function], Function]:
        together: Particulars = {**shared, **particulars}
        return clause(id, **together)

    return clause_sharing
