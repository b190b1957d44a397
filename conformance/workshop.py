"""What the cells of one pytest process share, and how one of them comes to its result."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conformance.availability import Availability
from conformance.bench import LEAST_SECONDS, Bench, Evidence, Record, Result
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
from conformance.registry import Source
from conformance.toolchains.cell import PreparedCase
from conformance.toolchains.faces import FACES
from conformance.verdict import Outcome, Verdict, flaky

#: What stands in for the backend under test where a failure of AOT Autograd would be PyTorch's as well.
AOT_ALONE = Source(name="aot_eager", toolchain="dynamo")

#: After so many timeouts of a backend in a process, its devices get less time.
_PATIENCE = 5
#: An operator on a sample takes milliseconds, a compiler some seconds: what does not come back by then hangs.
_MOST_SECONDS_OF_AN_OPERATOR = {"torchscript": 10.0, "dynamo": 60.0}


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
        return dataclasses.replace(limits, seconds=max(min(limits.seconds, LEAST_SECONDS), limits.seconds / 10))

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
