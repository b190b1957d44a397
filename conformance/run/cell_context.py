"""Where one cell runs: its devices, its case, and what is noted on the way."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance._util.files import file_name
from conformance.api.availability import Availability
from conformance.api.errors import HarnessError
from conformance.api.verdicts import Outcome, outcome_of
from conformance.devices import Ledger, Pool, Trace, Transport
from conformance.devices.protocol import WITHOUT_MODULES
from conformance.discovery.describing import Description
from conformance.operators.trial import OperatorTrial
from conformance.run.plan import Cell
from conformance.run.result import Record
from conformance.run.run_context import RunContext
from conformance.toolchains import Source, case_named, toolchain_named
from conformance.toolchains.client import CellDevice, PreparedCase

if TYPE_CHECKING:
    from conformance.generate.budget import Budget
    from conformance.generate.laboratory import Laboratory

#: What a clause can ask for by the name of a parameter; "bench" is what former releases called "context".
PARTS = frozenset(
    {
        "backend",
        "bare",
        "bench",
        "case",
        "context",
        "goldens",
        "host",
        "native",
        "operators",
        "other_case",
        "other_cases",
        "record",
        "target",
    }
)


class CellContext:
    """One attempt at a cell: its devices, and what they were asked.

    The devices have the backend of ``description``. In a control that is None: they have the ``stand_in`` then, or,
    without one, plain PyTorch. Without ``has_models`` they make every model by themselves.
    """

    def __init__(
        self,
        run: RunContext,
        cell: Cell,
        description: Description | None,
        stand_in: Source | None = None,
        has_models: bool = True,
    ) -> None:
        self._run = run
        self.cell = cell
        self._toolchain = toolchain_named(cell.clause.toolchain)
        self._description = description
        self._stand_in = stand_in
        self._has_models = has_models
        self._devices: list[CellDevice] = []
        self.ledger = Ledger()
        self.record = Record()
        self.trace = Trace()
        #: Whether the user interrupted (Ctrl-C) a generated cell, which ended with what it had tried so far.
        self.interrupted = False
        #: The exception that the clause raised; None before it ended, and where it passed.
        self.failure: BaseException | None = None
        self.case = self.other_case(cell.case) if cell.case else None
        #: The description of the backend under test, in a control too.
        self.backend = run.descriptions[cell.backend]
        self.host: CellDevice = self.device("host", cell.host)
        self.target: CellDevice = self.device("target", cell.target or Availability.FULL)
        #: A target that is a program without Python, whatever kind the others are.
        self.native: CellDevice = self.device("native", cell.target or Availability.FULL)
        #: A target in which no backend is loaded.
        self.bare = self._device("bare", None, {})

    def device(self, role: str, state: Availability, without: Sequence[str] = ()) -> Any:
        """A fresh device with the backend in a state of availability. Its process starts at the first verb.

        ``without`` are modules that cannot be imported in it.
        """
        environment = (self._description.environment(state) if self._description else None) or {}
        if without:
            environment = {**environment, WITHOUT_MODULES: ",".join(without)}
        subject = self._description.subject() if self._description else None
        if self._stand_in is not None:
            subject = dataclasses.asdict(self._stand_in)
        return self._device(role, subject, environment)

    def again(self) -> CellContext:
        """A fresh context for the same cell, whose devices have nothing that was made ahead."""
        return CellContext(self._run, self.cell, self._description, has_models=False)

    def other_case(self, name: str) -> PreparedCase:
        """Another case of the corpus, by name."""
        return self._run.case(name, self._toolchain.name)

    def other_cases(self, *names: str) -> tuple[PreparedCase, ...]:
        """Those of these cases of the corpus that need no feature that the backend under test declares missing."""
        cases = (case_named(name, self._toolchain.name) for name in names)
        return tuple(self.other_case(each.name) for each in cases if not self.backend.lacks(each.features))

    @property
    def goldens(self) -> tuple[Any, ...]:
        """Golden sets: artifacts that former releases of the backend wrote."""
        return self._run.goldens(self.backend)

    @property
    def operators(self) -> OperatorTrial:
        """Where PyTorch's operators are tried on the backend."""
        return self._run.operators(self.cell.backend)

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self._run.seed

    @property
    def budget(self) -> Budget:
        """What the generated cells of the backend may try together. Raises HarnessError where the run has none."""
        if self._run.generated is None:
            raise HarnessError("a generated cell needs a budget, and this run was given none: RunContext(generated=)")
        return self._run.generated

    @property
    def laboratory(self) -> Laboratory:
        """Where generated programs are tried on the backend."""
        return self._run.laboratory(self.cell.backend)

    @property
    def kept(self) -> Path | None:
        """The file with the findings of earlier runs of a generated cell; None where nothing is kept."""
        if self._run.kept is None:
            return None
        return self._run.kept / file_name(self.cell.backend) / f"{self.cell.clause.id}-{self.cell.theme}.json"

    def tell(self, text: str) -> None:
        """Show a text to the user while the cell runs, if the run shows such."""
        self._run.tell(text)

    @property
    def first_finding_only(self) -> bool:
        """Whether a generated cell ends at its first finding, which is not made smaller."""
        return self._run.first_finding_only

    @property
    def cells_that_share(self) -> int:
        """How many generated cells of the backend share the budget."""
        return self._run.cells_that_share(self.cell.backend)

    def part(self, name: str) -> Any:
        """The value of a clause's parameter; ``name`` is one of PARTS."""
        return self if name in ("context", "bench") else getattr(self, name)

    def parts(self, names: Iterable[str]) -> dict[str, Any]:
        """The arguments of a clause's function whose parameters have these names."""
        return {name: self.part(name) for name in names}

    def attempt(self, function: Callable[..., None], arguments: dict[str, Any]) -> Outcome:
        """Call a clause's function, release the devices, and give the outcome."""
        failure: BaseException | None = None
        phase = ""
        try:
            for device in (self.host, self.target, self.native, self.bare):
                if device in arguments.values():
                    device.start()  # side by side: the target gets ready while the host is at work
            if self.case is not None:
                self._run.begin_calls(self.case.name, self._toolchain.name)
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
        return outcome_of(failure, phase, self._toolchain.gist)

    def _device(self, role: str, subject: dict[str, Any] | None, environment: dict[str, str | None]) -> CellDevice:
        kind = dataclasses.replace(self._toolchain.device(role), has_models=self._has_models)
        pools: dict[str, Pool] = {"host": self._run.hosts, "native": self._run.native}
        pool = pools.get(role.partition(" ")[0], self._run.targets)  # "host without the runtime" is a host

        def start() -> Transport:
            limits = self._run.limits(self.cell.backend) if subject and self._description else None
            return pool.fork(kind, subject, environment, limits)

        machine = self.trace.machine(role, environment, has_backend=subject is not None)
        device = self._toolchain.client_class()(role, start, self.ledger, machine)
        device.runtime = self.cell.runtime
        self._devices.append(device)
        return device
