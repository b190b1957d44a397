"""Where one cell runs: its devices, its case, and what is noted on the way."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

from conformance.availability import Availability
from conformance.cases import Call, case_named
from conformance.catalogue import Description
from conformance.comparison import Margin, comparing
from conformance.contract import Control
from conformance.devices import Child, Limits, ZygotePool
from conformance.devices._device import Ledger
from conformance.plan import Cell
from conformance.privacy import without_paths
from conformance.registry import Source
from conformance.toolchains.cell import CellDevice, PreparedCase
from conformance.toolchains.faces import FACES
from conformance.verdict import Outcome, Verdict, outcome_of

#: What a clause can ask for by the name of a parameter.
PARTS = frozenset({"bench", "host", "target", "bare", "case", "other_case", "backend", "record"})


#: What stands in for the backend under test where a failure of AOT Autograd would be PyTorch's as well.
AOT_ALONE = Source(name="aot_eager", toolchain="dynamo")

#: After so many timeouts of a backend in a process, its devices get less time, but at least so many seconds.
_PATIENCE = 5
_LEAST_SECONDS = 2.0


@dataclasses.dataclass
class Record:
    """What a clause notes beside its verdict: remarks for the report, and a row of the behaviour table."""

    notes: list[str] = dataclasses.field(default_factory=list)
    expected: dict[str, str] = dataclasses.field(default_factory=dict)
    observed: dict[str, str] = dataclasses.field(default_factory=dict)

    def note(self, text: str) -> None:
        """Add a remark that users of the report should see, whatever the verdict."""
        self.notes.append(text)


@dataclasses.dataclass(frozen=True)
class Result:
    """A cell that came back."""

    cell: Cell
    outcome: Outcome
    seconds: dict[str, float]
    record: Record
    margin: Margin

    def as_row(self) -> dict[str, Any]:
        """The cell's row in the report."""
        row = self.cell.as_row() | {
            "verdict": self.outcome.verdict.value,
            "phase": self.outcome.phase,
            "message": without_paths(self.outcome.message),
            "seconds": self.seconds,
        }
        if self.outcome.error is not None:
            row["error"] = without_paths(self.outcome.error)
        if self.record.notes:
            row["notes"] = without_paths(self.record.notes)
        if self.record.observed:
            row["behaviour"] = {"expected": self.record.expected, "observed": self.record.observed}
        if self.margin.comparisons:
            row["margin"] = {
                "comparisons": self.margin.comparisons,
                "used": round(self.margin.used, 4),
                "absolute": self.margin.absolute,
                "dtype": self.margin.dtype,
            }
        return row


class Workshop:
    """What the cells of one pytest process share: the pool, the seed, samples and controls that were computed."""

    def __init__(self, pool: ZygotePool, seed: int, descriptions: dict[str, Description]) -> None:
        self.pool = pool
        self.seed = seed
        self.descriptions = descriptions
        self._timeouts: collections.Counter[str] = collections.Counter()
        self._samples: dict[tuple[str, str, int], tuple[Call, ...]] = {}
        self._controls: dict[tuple[str, str, str], Outcome] = {}

    def case(self, name: str, toolchain: str) -> PreparedCase:
        """A case of a toolchain's corpus with this run's seed."""
        methods = case_named(name, toolchain).methods
        return PreparedCase(name, self.seed, methods, lambda: self.calls(name, toolchain))

    def run(self, bench: Bench, function: Callable[..., None], arguments: Callable[[Bench], dict[str, Any]]) -> Result:
        """Run a clause's function on a bench, and, where it fails, in the same cell without a backend.

        ``arguments`` gives the function's arguments for a bench.
        """
        cell = bench.cell
        if cell.decided is not None:
            return Result(cell, Outcome(cell.decided, message=cell.why), {}, Record(), Margin())
        with comparing(bench.backend.tolerances) as margin:
            outcome = bench.attempt(function, arguments(bench))
        self._timeouts[cell.backend] += outcome.verdict is Verdict.TIMEOUT
        if outcome.verdict.is_breach and cell.clause.control is not Control.NONE:
            who, control = self._control(cell, outcome, function, arguments)
            if control.verdict is not Verdict.PASS:
                reason = f"{who} fails here too: {control.message} (with it: {outcome.message})"
                outcome = Outcome(Verdict.NOT_APPLICABLE, control.phase, reason, outcome.error)
        return Result(cell, outcome, bench.ledger.seconds, bench.record, margin)

    def limits(self, backend: str) -> Limits:
        """What a device with the backend may use. One that has timed out often gets a tenth of the time: a backend that
        hangs everywhere must not hold a run up for hours."""
        limits = self.pool.limits
        if self._timeouts[backend] < _PATIENCE:
            return limits
        return dataclasses.replace(limits, seconds=max(min(limits.seconds, _LEAST_SECONDS), limits.seconds / 10))

    def _control(
        self,
        cell: Cell,
        outcome: Outcome,
        function: Callable[..., None],
        arguments: Callable[[Bench], dict[str, Any]],
    ) -> tuple[str, Outcome]:
        """What the cell comes to without the backend under test: who stood in for it, and the outcome.

        AOT Autograd excuses only what it comes to by itself: the same verdict in the same phase.
        """
        plain = self._without_backend(cell, function, arguments, None)
        if cell.clause.control is Control.AOT and plain.verdict is Verdict.PASS:
            alone = self._without_backend(cell, function, arguments, AOT_ALONE)
            if (alone.verdict, alone.phase) == (outcome.verdict, outcome.phase):
                return "AOT Autograd without a backend", alone
        return "PyTorch without a backend", plain

    def _without_backend(
        self,
        cell: Cell,
        function: Callable[..., None],
        arguments: Callable[[Bench], dict[str, Any]],
        stand_in: Source | None,
    ) -> Outcome:
        key = (cell.clause.toolchain, cell.id, stand_in.name if stand_in else "")
        if key not in self._controls:
            bench = Bench(self, cell, None, stand_in)
            with comparing({}):
                self._controls[key] = bench.attempt(function, arguments(bench))
        return self._controls[key]

    def calls(self, name: str, toolchain: str) -> tuple[Call, ...]:
        """The sample calls of a case, with what eager PyTorch gives for them; computed in a control, once."""
        key = (toolchain, name, self.seed)
        if key not in self._samples:
            device = FACES[toolchain]("control", lambda: self.pool.fork(toolchain, None, {}), Ledger())
            try:
                self._samples[key] = device.samples(name, self.seed)
            finally:
                device.end()
        return self._samples[key]


class Bench:
    """The devices of one cell, with a backend or (``description`` None) without one.

    ``stand_in`` is what a control has in place of the backend; plain PyTorch when None.
    """

    def __init__(
        self, workshop: Workshop, cell: Cell, description: Description | None, stand_in: Source | None = None
    ) -> None:
        self._workshop = workshop
        self.cell = cell
        self._description = description
        self._source = description.source if description else stand_in
        self._devices: list[CellDevice] = []
        self.ledger = Ledger()
        self.record = Record()
        self.case = self.other_case(cell.case) if cell.case else None
        #: The backend's description; that of the backend under test in a control too.
        self.backend = workshop.descriptions[cell.backend]
        self.host: CellDevice = self.device("host", cell.host)
        self.target: CellDevice = self.device("target", cell.target or Availability.FULL)
        #: A process in which no backend is loaded.
        self.bare = self._device("bare", None, {})

    def device(self, role: str, state: Availability) -> Any:
        """A fresh device with the backend in a state of availability. Its process starts at the first verb."""
        environment = self._description.environment(state) if self._description else {}
        return self._device(role, self._source, environment or {})

    def other_case(self, name: str) -> PreparedCase:
        """Another case of the corpus, by name."""
        return self._workshop.case(name, self.cell.clause.toolchain)

    def part(self, name: str) -> Any:
        """What a clause's parameter of that name is; one of PARTS."""
        return self if name == "bench" else getattr(self, name)

    def attempt(self, function: Callable[..., None], arguments: dict[str, Any]) -> Outcome:
        """Call a clause's function, release the devices, and say what it came to."""
        failure: BaseException | None = None
        phase = ""
        try:
            for device in (self.host, self.target):
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
        return outcome_of(failure, phase)

    def _device(self, role: str, source: Source | None, environment: dict[str, str | None]) -> CellDevice:
        subject = dataclasses.asdict(source) if source else None
        toolchain = self.cell.clause.toolchain

        def start() -> Child:
            limits = self._workshop.limits(self.cell.backend) if source and self._description else None
            return self._workshop.pool.fork(toolchain, subject, environment, limits)

        device = FACES[toolchain](role, start, self.ledger)
        device.runtime = self.cell.runtime
        self._devices.append(device)
        return device
