"""Where a run's reproducers are ordered: it knows the backends, and how many scripts are wanted of one failure."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

from conformance.api.errors import DeviceEnded, SubjectError
from conformance.devices import Device, Ledger
from conformance.discovery.describing import Description, discovery_kind
from conformance.run.result import FailureRecord, Result
from conformance.run.run_context import RunContext
from conformance.standalone.reproducers._generated import generated_reproducers
from conformance.standalone.reproducers._judge import FailingCell
from conformance.standalone.reproducers._scenario import CannotReproduce, ReproducedBackend
from conformance.standalone.reproducers._script import reproducer
from conformance.standalone.reproducers.kit import kit_of
from conformance.toolchains import Reproduction


class ReproducerWriter:
    """Writes the reproducers of one process. ``most`` is how many failures of one group get one (0: none)."""

    def __init__(self, run: RunContext, most: int) -> None:
        self._run = run
        self._most = most
        self._written: collections.Counter[tuple[str, ...]] = collections.Counter()

    def write(
        self, result: Result, function: Callable[..., None], parameters: tuple[str, ...]
    ) -> dict[str, Any] | None:
        """The reproducer of a failing cell, as a message; None where none is wanted.

        Where there can be none the message says why: ``{"problem": ...}``. A group is a clause with a verdict and a
        phase, as the summary tells failures.
        """
        cell, outcome, record = result.cell, result.outcome, result.failure_record
        if record is None:
            return None
        group = (cell.backend, cell.clause.id, outcome.verdict.value, outcome.phase)
        if self._written[group] >= self._most:
            return None
        self._written[group] += 1
        try:
            return self._written_down(result, record, function, parameters)
        except CannotReproduce as reason:
            return {"problem": f"{cell.id}: {reason}"}
        except Exception as error:  # a verdict is worth more than its reproducer
            return {"problem": f"{cell.id}: the harness itself failed: {type(error).__name__}: {error}"}

    def _written_down(
        self, result: Result, record: FailureRecord, function: Callable[..., None], parameters: tuple[str, ...]
    ) -> dict[str, Any]:
        cell = result.cell
        description = self._run.descriptions[cell.backend]
        if result.record.findings:
            backend = self._ask(description, sorted({each.trial.as_case for each in result.record.findings}))
            return generated_reproducers(result, description, backend, self._run.seed, self._run.pool.limits)
        failing = FailingCell(
            cell=cell,
            failure=record.failure,
            steps=tuple(record.trace.steps),
            description=description,
            seed=self._run.seed,
            function=function,
            parameters=parameters,
            calls=lambda name: self._run.calls(name, cell.clause.toolchain),
        )
        if cell.theme:
            raise CannotReproduce("what it found stands in the report, each with the program that shows it")
        if record.trace.overflowed:
            raise CannotReproduce("its artifacts and values are too large")
        return reproducer(
            failing, result.outcome, self._ask(description, self._lowered_cases(failing)), self._run.pool.limits
        ).as_message()

    def _lowered_cases(self, failing: FailingCell) -> list[str]:
        kit = kit_of(failing.cell.clause.toolchain)
        return kit.lowered_cases(list(failing.steps)) if kit else []

    def _ask(self, description: Description, cases: list[str]) -> ReproducedBackend:
        """What a script must know of the backend, asked in a process of its own.

        Raises CannotReproduce where that fails.
        """
        source = dataclasses.asdict(description.source)
        device = Device(
            "discovery",
            lambda: self._run.pool.fork(discovery_kind(description.toolchain), source, description.prepared),
            Ledger(),
        )
        try:
            found = Reproduction(**device.call("reproduction", phase="import", cases=cases))
        except (SubjectError, DeviceEnded) as error:
            raise CannotReproduce(f"the backend's class does not tell how to load it: {error}") from error
        finally:
            device.end()
        if found.options is None:
            raise CannotReproduce("the options that the backend is given are objects, which cannot be written down")
        return ReproducedBackend(description.name, description.source.value, found)
