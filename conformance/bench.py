"""Where one cell runs: its devices, its case, and what is noted on the way."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from conformance.availability import Availability
from conformance.cases import Call, case_named
from conformance.catalogue import Description
from conformance.comparison import Margin, comparing
from conformance.contract import Control
from conformance.devices import Device, Ledger, Limits, Pool, Trace, Transport, ZygotePool
from conformance.devices._native import NativePool
from conformance.errors import HarnessError
from conformance.goldens import GoldensError, GoldenSet, read_goldens
from conformance.operators import SAMPLES
from conformance.operators.trial import OperatorTrial
from conformance.plan import Cell
from conformance.privacy import without_paths
from conformance.registry import Source
from conformance.toolchains import WITHOUT_MODULES
from conformance.toolchains.cell import CellDevice, PreparedCase
from conformance.toolchains.faces import FACES
from conformance.verdict import Outcome, Verdict, flaky, outcome_of

#: What a clause can ask for by the name of a parameter.
PARTS = frozenset(
    {"bench", "host", "target", "native", "bare", "case", "other_case", "backend", "record", "goldens", "operators"}
)


#: What stands in for the backend under test where a failure of AOT Autograd would be PyTorch's as well.
AOT_ALONE = Source(name="aot_eager", toolchain="dynamo")

#: After so many timeouts of a backend in a process, its devices get less time, but at least so many seconds.
_PATIENCE = 5
_LEAST_SECONDS = 2.0
#: An operator on a sample takes milliseconds, a compiler some seconds: what does not come back by then hangs.
_MOST_SECONDS_OF_AN_OPERATOR = {"torchscript": 10.0, "dynamo": 60.0}


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


class Workshop:
    """What the cells of one pytest process share: the pools, the seed, samples and controls that were computed.

    ``hosts`` and ``targets`` are where these come from, the pool when None; ``native`` where those without Python do;
    ``goldens`` a folder of golden sets, ``samples`` how many samples of an operator are tried.
    """

    def __init__(
        self,
        pool: ZygotePool,
        seed: int,
        descriptions: dict[str, Description],
        *,
        hosts: Pool | None = None,
        targets: Pool | None = None,
        native: Pool | None = None,
        goldens: Path | None = None,
        samples: int = SAMPLES,
    ) -> None:
        self.pool = pool
        self.hosts = hosts or pool
        self.targets = targets or pool
        self.native = native or NativePool(pool)
        self.seed = seed
        self.descriptions = descriptions
        self._goldens = goldens
        self._operator_samples = samples
        self._trials: dict[str, OperatorTrial] = {}
        self._timeouts: collections.Counter[str] = collections.Counter()
        self._samples: dict[tuple[str, str, int], tuple[Call, ...]] = {}
        self._controls: dict[tuple[str, str, str], Outcome] = {}

    def case(self, name: str, toolchain: str) -> PreparedCase:
        """A case of a toolchain's corpus with this run's seed."""
        methods = case_named(name, toolchain).methods
        return PreparedCase(name, self.seed, methods, lambda: self.calls(name, toolchain))

    def run(
        self,
        bench: Bench,
        function: Callable[..., None],
        arguments: Callable[[Bench], dict[str, Any]],
        *,
        reruns: int = 0,
    ) -> Result:
        """Run a clause's function on a bench; where it fails, again, and then in the same cell without a backend.

        ``arguments`` gives the function's arguments for a bench. A failure is tried again ``reruns`` times at most, on
        fresh devices. If it does not fail in the same way each time the cell is FLAKY, and no control is asked: what
        plain PyTorch does once says nothing about what the backend does now and then.
        """
        cell = bench.cell
        if cell.decided is not None:
            return Result(cell, Outcome(cell.decided, message=cell.why), {}, Record(), Margin())
        with comparing(bench.backend.tolerances) as margin:
            outcome = bench.attempt(function, arguments(bench))
        trace, bench.trace = bench.trace, Trace()  # not kept with the bench, which lives as long as its item
        if outcome.verdict is Verdict.TIMEOUT:
            self.timed_out(cell.backend)
        if outcome.verdict.is_breach:
            outcome = self._confirmed(outcome, bench, function, arguments, reruns)
        if outcome.verdict.is_breach and cell.clause.control is not Control.NONE:
            who, control = self._control(cell, outcome, function, arguments)
            # A control that the chosen target cannot run, or to which the clause does not apply, excuses nothing.
            if control.verdict is Verdict.HARNESS_ERROR:
                outcome = control
            elif control.verdict.is_breach:
                reason = f"{who} fails here too: {control.message} (with it: {outcome.message})"
                outcome = Outcome(Verdict.NOT_APPLICABLE, control.phase, reason, outcome.error)
        evidence = None
        if outcome.verdict.is_breach and bench.failure is not None:
            evidence = Evidence(bench.failure, trace)
        bench.failure = None
        ledger = bench.ledger
        return Result(cell, outcome, ledger.seconds, bench.record, margin, evidence, ledger.peak_bytes)

    def _confirmed(
        self,
        first: Outcome,
        bench: Bench,
        function: Callable[..., None],
        arguments: Callable[[Bench], dict[str, Any]],
        reruns: int,
    ) -> Outcome:
        """The failure, with how often it repeated; FLAKY, with all attempts, if it once did not.

        A failure of the harness in a rerun is the outcome: nothing is known then about the backend.
        """
        names = bench.cell.clause.id, bench.cell.case
        for _ in range(reruns):
            another = bench.again(first)
            with comparing(bench.backend.tolerances):
                outcome = another.attempt(function, arguments(another))
            if first.verdict is not Verdict.TIMEOUT:  # which had little time to repeat itself
                self._timeouts[bench.cell.backend] += outcome.verdict is Verdict.TIMEOUT
            if outcome.verdict is Verdict.HARNESS_ERROR:
                return outcome
            same = outcome.verdict is first.verdict and outcome.fingerprint(*names) == first.fingerprint(*names)
            if not same:
                return flaky((*[first] * (1 + first.repeated), outcome))
            first = dataclasses.replace(first, repeated=first.repeated + 1)
        return first

    def limits(self, backend: str) -> Limits:
        """What a device with the backend may use. One that has timed out often gets a tenth of the time: a backend that
        hangs everywhere must not hold a run up for hours."""
        limits = self.pool.limits
        if self._timeouts[backend] < _PATIENCE:
            return limits
        return dataclasses.replace(limits, seconds=max(min(limits.seconds, _LEAST_SECONDS), limits.seconds / 10))

    def goldens(self, description: Description) -> tuple[GoldenSet, ...]:
        """What the backend wrote in former times: the sets that its distribution brings, and those of this run's
        folder. Raises HarnessError for a set that cannot be read."""
        shipped = Path(description.goldens) if description.goldens else None
        try:
            sets = [each for folder in (shipped, self._goldens) if folder for each in read_goldens(folder)]
        except GoldensError as error:
            raise HarnessError(str(error)) from error
        return tuple(each for each in sets if each.backend == description.source.name)

    def timed_out(self, backend: str) -> None:
        """Something of a backend did not come back."""
        self._timeouts[backend] += 1

    def operators(self, backend: str) -> OperatorTrial:
        """Where operators are tried on a backend; one for all cells, because its processes serve many operators."""
        if backend not in self._trials:
            description = self.descriptions[backend]
            subject = description.subject()
            environment = description.environment(Availability.FULL) or {}
            toolchain = description.toolchain

            def device(role: str, start: Callable[[], Transport]) -> Device:
                return Device(role, start, Ledger())

            self._trials[backend] = OperatorTrial(
                lambda: device("control", lambda: self.pool.fork(toolchain, None, {})),
                lambda: device("host", lambda: self.pool.fork(toolchain, subject, environment)),
                seed=self.seed,
                samples=self._operator_samples,
                missing_features=description.missing_features,
                tolerances=description.tolerances,
                seconds=lambda: min(self.limits(backend).seconds, _MOST_SECONDS_OF_AN_OPERATOR[toolchain]),
                timed_out=lambda: self.timed_out(backend),
            )
        return self._trials[backend]

    def close(self) -> None:
        """End every process."""
        for trial in self._trials.values():
            trial.close()
        self.pool.close()

    def _control(
        self,
        cell: Cell,
        outcome: Outcome,
        function: Callable[..., None],
        arguments: Callable[[Bench], dict[str, Any]],
    ) -> tuple[str, Outcome]:
        """What the cell comes to without the backend under test: who stood in for it, and the outcome.

        AOT Autograd excuses only what it comes to by itself: the same failure, by its fingerprint.
        """
        plain = self._without_backend(cell, function, arguments, None)
        if cell.clause.control is Control.AOT and plain.verdict is Verdict.PASS:
            alone = self._without_backend(cell, function, arguments, AOT_ALONE)
            names = cell.clause.id, cell.case
            if alone.fingerprint(*names) == outcome.fingerprint(*names):
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
            seconds = min(allowed, max(allowed / 10, needed, _LEAST_SECONDS))
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
        pool = pools.get(role, self._workshop.targets)

        def start() -> Transport:
            limits = self._limits() if subject and self._description else None
            return pool.fork(toolchain, subject, environment, limits)

        machine = self.trace.machine(role, environment, has_backend=subject is not None)
        device = FACES[toolchain](role, start, self.ledger, machine)
        device.runtime = self.cell.runtime
        self._devices.append(device)
        return device
