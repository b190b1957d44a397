"""What the cells of one pytest process share."""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance.api.availability import Availability
from conformance.api.case import Call
from conformance.api.clause import SpeaksOf
from conformance.api.errors import GoldensError, HarnessError
from conformance.api.verdicts import Outcome
from conformance.contract import installed_clauses
from conformance.devices import Device, Ledger, Limits, Pool, Transport, ZygotePool
from conformance.discovery.describing import Description
from conformance.extensions import resolve
from conformance.generate.judge import Rules
from conformance.generate.laboratory import Laboratory
from conformance.operators import SAMPLES
from conformance.operators.trial import OperatorTrial
from conformance.run.plan import Cell, cells_of
from conformance.run.samples import Samples
from conformance.targets.native import NativePool
from conformance.toolchains import case_named, toolchain_named
from conformance.toolchains.client import CellDevice, PreparedCase

if TYPE_CHECKING:
    from conformance.generate.budget import Budget

#: After this many timeouts of a backend, each confirmed by a rerun, its verbs get a part of their time limit, ...
_PATIENCE = 3
_PART_OF_THE_LIMIT = 1 / 10
#: ... but no fewer seconds than these, or than the limit itself.
_LEAST_SECONDS = 2.0


class RunContext:
    """What the cells of one pytest process share: pools of devices, the seed, and what was computed once for all.

    Hosts are forked from the pool ``hosts`` and targets from ``targets``, by default both from ``pool``; targets
    without Python come from ``native``. ``goldens`` is a folder of golden sets, ``samples`` the number of samples that
    are tried of each operator, and ``generated`` the budget of a backend's generated cells, which need one.
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
        generated: Budget | None = None,
        kept: Path | None = None,
        first_finding_only: bool = False,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.pool = pool
        self.hosts = hosts or pool
        self.targets = targets or pool
        self.native = native or NativePool(pool)
        self.seed = seed
        self.descriptions = descriptions
        self.generated = generated
        #: The folder of findings of generated cells, which a later run tries first; None: nothing is kept.
        self.kept = kept
        #: Whether a generated cell ends at its first finding, which is not made smaller.
        self.first_finding_only = first_finding_only
        #: Shows a text to the user while a cell runs.
        self.tell = tell
        #: Backend → how many of its cells share the budget.
        self._sharing: collections.Counter[str] = collections.Counter()
        self._goldens = goldens
        self._operator_samples = samples
        self._trials: dict[str, OperatorTrial] = {}
        self._laboratories: dict[str, Laboratory] = {}
        self._timeouts: collections.Counter[str] = collections.Counter()
        self._samples: dict[str, Samples] = {}
        #: The outcomes of controls, by toolchain, id of the cell, name of the stand-in (or ""), number of the attempt.
        self.controls: dict[tuple[str, str, str, int], Outcome] = {}

    def case(self, name: str, toolchain: str) -> PreparedCase:
        """A case of a toolchain's corpus with this run's seed."""
        methods = case_named(name, toolchain).methods
        return PreparedCase(name, self.seed, methods, lambda: self.calls(name, toolchain))

    def limits(self, backend: str) -> Limits:
        """What a device with the backend may use. A backend that has timed out often gets a tenth of the time: one that
        hangs everywhere must not hold a run up for hours."""
        limits = self.pool.limits
        if self._timeouts[backend] < _PATIENCE:
            return limits
        seconds = max(min(limits.seconds, _LEAST_SECONDS), limits.seconds * _PART_OF_THE_LIMIT)
        return dataclasses.replace(limits, seconds=seconds)

    def goldens(self, description: Description) -> tuple[Any, ...]:
        """The golden sets of a backend: those that its distribution brings, and those in this run's folder.

        Raises HarnessError for a set that cannot be read.
        """
        reference = toolchain_named(description.toolchain).goldens
        if not reference:
            return ()
        goldens = resolve(reference)
        shipped = Path(description.goldens) if description.goldens else None
        try:
            sets = [each for folder in (shipped, self._goldens) if folder for each in goldens.read_goldens(folder)]
        except GoldensError as error:
            raise HarnessError(str(error)) from error
        return tuple(each for each in sets if each.backend == description.source.name)

    def share_budget(self, cells: Iterable[Cell]) -> None:
        """Share the budget between those of the cells that are generated and will be tried."""
        self._sharing.update(cell.backend for cell in cells if cell.theme and cell.decided is None)

    def get_ready(self, cells: Iterable[Cell]) -> None:
        """Let what devices are forked from do ahead what pays for the cells: make their models, in their order; and
        begin to start what targets are forked from, where some of the cells have one on this machine."""
        tried = [each for each in cells if each.decided is None]
        self.pool.expect_many(self.seed, list(dict.fromkeys(each.case for each in tried if each.case)))
        names = {self.descriptions[cell.backend].toolchain for cell in tried if cell.target}
        if isinstance(self.targets, ZygotePool):
            for name in sorted(names):
                self.targets.start(toolchain_named(name).zygote("target"))

    def cells_that_share(self, backend: str) -> int:
        """How many generated cells of a backend share the budget, at least one.

        Where :meth:`share_budget` was not called for the backend, these are all generated cells of its contract.
        """
        if backend not in self._sharing:
            generated = [each for each in installed_clauses() if each.speaks_of is SpeaksOf.GENERATED]
            self.share_budget(cell for each in generated for cell in cells_of(each, self.descriptions[backend]))
        return max(1, self._sharing[backend])

    def timed_out(self, backend: str) -> None:
        """Note that a cell of the backend timed out."""
        self._timeouts[backend] += 1

    def operators(self, backend: str) -> OperatorTrial:
        """Where operators are tried on a backend; one for all cells, because its processes serve many operators."""
        if backend not in self._trials:
            description = self.descriptions[backend]
            subject = description.subject()
            environment = description.environment(Availability.FULL) or {}
            toolchain = toolchain_named(description.toolchain)

            def device(role: str, start: Callable[[], Transport]) -> Device:
                return Device(role, start, Ledger())

            self._trials[backend] = OperatorTrial(
                lambda: device("control", lambda: self.pool.fork(toolchain.device("control"), None, {})),
                lambda: device("alone", lambda: self.pool.fork(toolchain.device("alone"), subject, environment)),
                seed=self.seed,
                samples=self._operator_samples,
                missing_features=description.missing_features,
                tolerances=description.tolerances,
                seconds=lambda: min(self.limits(backend).seconds, toolchain.seconds_of_an_operator),
                timed_out=lambda: self.timed_out(backend),
                gist=toolchain.gist,
                may_refuse=toolchain.programs is None or toolchain.programs.may_refuse,
            )
        return self._trials[backend]

    def laboratory(self, backend: str) -> Laboratory:
        """Where generated programs are tried on a backend; one for all cells, because its processes serve many."""
        if backend not in self._laboratories:
            description = self.descriptions[backend]
            toolchain = toolchain_named(description.toolchain)
            traits = toolchain.programs
            assert traits is not None, "a toolchain with generated clauses says what its models do with programs"

            def opened(role: str, subject: dict[str, Any] | None, environment: dict[str, str | None]) -> Device:
                return Device(role, lambda: self.pool.fork(toolchain.device(role), subject, environment), Ledger())

            environment = description.environment(Availability.FULL) or {}
            stand_ins = [dataclasses.asdict(each.source) for each in toolchain.stand_ins]
            self._laboratories[backend] = Laboratory(
                lambda: opened("control", None, {}),
                lambda: opened("alone", description.subject(), environment),
                lambda: opened("elsewhere", description.subject(), environment),
                [functools.partial(opened, "alone", subject, {}) for subject in (None, *stand_ins)],
                rules=Rules(
                    aliases=traits.keeps_aliases,
                    strides=traits.keeps_strides,
                    writes=traits.keeps_writes,
                    gradients=traits.keeps_gradients,
                    signatures=traits.saves,
                    tolerances=description.tolerances,
                    gist=toolchain.gist,
                ),
                seconds=lambda: self.limits(backend).seconds,
                timed_out=lambda: self.timed_out(backend),
                may_refuse=traits.may_refuse,
            )
        return self._laboratories[backend]

    def close(self) -> None:
        """End every process."""
        for laboratory in self._laboratories.values():
            laboratory.close()
        for trial in self._trials.values():
            trial.close()
        for samples in self._samples.values():
            samples.close()
        self.pool.close()

    def calls(self, name: str, toolchain: str) -> tuple[Call, ...]:
        """The sample calls of a case, with what eager PyTorch gives for them; computed in a control, once."""
        return self._samples_of(toolchain).calls(name)

    def begin_calls(self, name: str, toolchain: str) -> None:
        """Let a control begin with :meth:`calls`, which somebody will soon ask for."""
        self._samples_of(toolchain).begin(name)

    def _samples_of(self, toolchain: str) -> Samples:
        if toolchain not in self._samples:
            stack = toolchain_named(toolchain)

            def start() -> CellDevice:
                device: CellDevice = stack.client_class()(
                    "control", lambda: self.pool.fork(stack.device("control"), None, {}), Ledger()
                )
                return device

            self._samples[toolchain] = Samples(start, self.seed)
        return self._samples[toolchain]
