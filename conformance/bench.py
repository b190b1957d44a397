"""Where one cell runs: its devices, its case, and what is noted on the way."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from conformance.availability import Availability
from conformance.catalogue import Description
from conformance.comparison import Margin
from conformance.devices import Ledger, Limits, Pool, Trace, Transport
from conformance.goldens import GoldenSet
from conformance.operators.trial import OperatorTrial
from conformance.plan import Cell
from conformance.privacy import without_paths
from conformance.registry import Source
from conformance.toolchains import WITHOUT_MODULES
from conformance.toolchains.cell import CellDevice, PreparedCase
from conformance.toolchains.faces import FACES
from conformance.verdict import Outcome, Verdict, outcome_of

if TYPE_CHECKING:
    from conformance.workshop import Workshop

#: What a clause can ask for by the name of a parameter.
PARTS = frozenset(
    {"bench", "host", "target", "native", "bare", "case", "other_case", "backend", "record", "goldens", "operators"}
)
#: However often a backend has hung, a verb of it gets so many seconds.
LEAST_SECONDS = 2.0


@dataclasses.dataclass
class Record:
    """What a clause notes beside its verdict: remarks for the report, and rows of its tables."""

    notes: list[str] = dataclasses.field(default_factory=list)
    expected: dict[str, str] = dataclasses.field(default_factory=dict)
    observed: dict[str, str] = dataclasses.field(default_factory=dict)
    #: Rows of the operator table.
    operators: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    def note(self, text: str) -> None:
        """Add a remark that users of the report should see, whatever the verdict."""
        self.notes.append(text)


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What a failing cell leaves to tell its failure again: what its clause raised, and what its devices did."""

    failure: BaseException
    trace: Trace


@dataclasses.dataclass(frozen=True)
class Result:
    """A cell that came back. ``evidence`` is there when the backend is in breach."""

    cell: Cell
    outcome: Outcome
    seconds: dict[str, float]
    record: Record
    margin: Margin
    evidence: Evidence | None = None
    peak_bytes: int | None = None

    def as_row(self) -> dict[str, Any]:
        """The cell's row in the report."""
        row = self.cell.as_row() | {
            "verdict": self.outcome.verdict.value,
            "phase": self.outcome.phase,
            "message": without_paths(self.outcome.message),
            "seconds": self.seconds,
        }
        if self.outcome.verdict.fails:
            row["fingerprint"] = self.outcome.fingerprint(self.cell.clause.id, self.cell.case)
        if self.outcome.error is not None:
            row["error"] = without_paths(self.outcome.error)
        if self.peak_bytes is not None:
            row["peak_bytes"] = self.peak_bytes
        if self.outcome.repeated:
            row["repeated"] = self.outcome.repeated
        if self.outcome.attempts:
            row["attempts"] = [_attempt_row(each) for each in self.outcome.attempts]
        if self.record.notes:
            row["notes"] = without_paths(self.record.notes)
        if self.record.operators:
            row["operators"] = without_paths(self.record.operators)
        if self.record.observed:
            row["behaviour"] = {"expected": self.record.expected, "observed": self.record.observed}
        if self.margin.comparisons:
            row["margin"] = self.margin.as_row()
        return row


def _attempt_row(outcome: Outcome) -> dict[str, str]:
    return {
        "verdict": outcome.verdict.value,
        "phase": outcome.phase,
        "message": without_paths(outcome.message),
    }


class Bench:
    """The devices of one cell, with a backend or (``description`` None) without one.

    ``stand_in`` is what a control has in place of the backend; plain PyTorch when None.
    """

    def __init__(
        self,
        workshop: Workshop,
        cell: Cell,
        description: Description | None,
        stand_in: Source | None = None,
        seconds: float | None = None,
    ) -> None:
        self._workshop = workshop
        #: What a verb may take at most, where that is less than the workshop allows.
        self._seconds = seconds
        self.cell = cell
        self._description = description
        self._stand_in = stand_in
        self._devices: list[CellDevice] = []
        self.ledger = Ledger()
        self.record = Record()
        self.trace = Trace()
        #: What the clause raised.
        self.failure: BaseException | None = None
        self.case = self.other_case(cell.case) if cell.case else None
        #: The backend's description; that of the backend under test in a control too.
        self.backend = workshop.descriptions[cell.backend]
        self.host: CellDevice = self.device("host", cell.host)
        self.target: CellDevice = self.device("target", cell.target or Availability.FULL)
        #: A target that is a program without Python, whatever kind the others are.
        self.native: CellDevice = self.device("native", cell.target or Availability.FULL)
        #: A target in which no backend is loaded.
        self.bare = self._device("bare", None, {})

    def device(self, role: str, state: Availability, without: Sequence[str] = ()) -> Any:
        """A fresh device with the backend in a state of availability. Its process starts at the first verb.

        ``without`` are modules that it must lack, where the toolchain is ``dynamo``.
        """
        environment = (self._description.environment(state) if self._description else None) or {}
        if without:
            environment = {**environment, WITHOUT_MODULES: ",".join(without)}
        subject = self._description.subject() if self._description else None
        if self._stand_in is not None:
            subject = dataclasses.asdict(self._stand_in)
        return self._device(role, subject, environment)

    def again(self, failed: Outcome) -> Bench:
        """A fresh bench for the same cell, which ``failed`` on this one.

        What timed out gets less time than before, or a long hang would be doubled: a tenth, but enough for each verb
        that did come back, with a reserve of as much again, so that it is the same verb which has to hurry.
        """
        seconds = None
        if failed.verdict is Verdict.TIMEOUT:
            allowed = self._limits().seconds
            needed = 2 * max(self.ledger.seconds.values(), default=0.0)
            seconds = min(allowed, max(allowed / 10, needed, LEAST_SECONDS))
        return Bench(self._workshop, self.cell, self._description, seconds=seconds)

    def _limits(self) -> Limits:
        limits = self._workshop.limits(self.cell.backend)
        return limits if self._seconds is None else dataclasses.replace(limits, seconds=self._seconds)

    def other_case(self, name: str) -> PreparedCase:
        """Another case of the corpus, by name."""
        return self._workshop.case(name, self.cell.clause.toolchain)

    @property
    def goldens(self) -> tuple[GoldenSet, ...]:
        """Artifacts that the backend wrote in former times."""
        return self._workshop.goldens(self.backend)

    @property
    def operators(self) -> OperatorTrial:
        """Where PyTorch's operators are tried on the backend."""
        return self._workshop.operators(self.cell.backend)

    def part(self, name: str) -> Any:
        """What a clause's parameter of that name is; one of PARTS."""
        return self if name == "bench" else getattr(self, name)

    def attempt(self, function: Callable[..., None], arguments: dict[str, Any]) -> Outcome:
        """Call a clause's function, release the devices, and say what it came to."""
        failure: BaseException | None = None
        phase = ""
        try:
            for device in (self.host, self.target, self.native, self.bare):
                if device in arguments.values():
                    device.start()  # side by side: the target gets ready while the host is at work
            function(**arguments)
            for device in self._devices:
                device.release()
        except Exception as error:
            failure = error
        finally:
            phase = self.ledger.phase
            for device in self._devices:
                device.end()
        self.failure = failure
        return outcome_of(failure, phase)

    def _device(self, role: str, subject: dict[str, Any] | None, environment: dict[str, str | None]) -> CellDevice:
        toolchain = self.cell.clause.toolchain
        pools: dict[str, Pool] = {"host": self._workshop.hosts, "native": self._workshop.native}
        pool = pools.get(role.partition(" ")[0], self._workshop.targets)  # "host without the runtime" is a host

        def start() -> Transport:
            limits = self._limits() if subject and self._description else None
            return pool.fork(toolchain, subject, environment, limits)

        machine = self.trace.machine(role, environment, has_backend=subject is not None)
        device = FACES[toolchain](role, start, self.ledger, machine)
        device.runtime = self.cell.runtime
        self._devices.append(device)
        return device
