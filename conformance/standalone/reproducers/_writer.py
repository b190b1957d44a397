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
from conformance.standalone.reproducers._judge import Facts
from conformance.standalone.reproducers._scenario import BackendFacts, CannotTell
from conformance.standalone.reproducers._script import reproducer
from conformance.standalone.reproducers.kit import kit_of


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
        cell, outcome, evidence = result.cell, result.outcome, result.evidence
        if evidence is None:
            return None
        group = (cell.backend, cell.clause.id, outcome.verdict.value, outcome.phase)
        if self._written[group] >= self._most:
            return None
        self._written[group] += 1
        try:
            return self._written_down(result, evidence, function, parameters)
        except CannotTell as reason:
            return {"problem": f"{cell.id}: {reason}"}
        except Exception as error:  # a verdict is worth more than its reproducer
            return {"problem": f"{cell.id}: the harness itself failed: {type(error).__name__}: {error}"}

    def _written_down(
        self, result: Result, evidence: FailureRecord, function: Callable[..., None], parameters: tuple[str, ...]
    ) -> dict[str, Any]:
        cell = result.cell
        description = self._run.descriptions[cell.backend]
        facts = Facts(
            cell=cell,
            failure=evidence.failure,
            steps=tuple(evidence.trace.steps),
            description=description,
            seed=self._run.seed,
            function=function,
            parameters=parameters,
            calls=lambda name: self._run.calls(name, cell.clause.toolchain),
        )
        if evidence.trace.overflowed:
            raise CannotTell("its artifacts and values are too large")
        return reproducer(
            facts, result.outcome, self._ask(description, self._lowered_cases(facts)), self._run.pool.limits
        ).as_message()

    def _lowered_cases(self, facts: Facts) -> list[str]:
        kit = kit_of(facts.cell.clause.toolchain)
        return kit.lowered_cases(list(facts.steps)) if kit else []

    def _ask(self, description: Description, cases: list[str]) -> BackendFacts:
        """What a script must know of the backend, from a process of its own. Raises CannotTell where that fails."""
        source = dataclasses.asdict(description.source)
        device = Device(
            "discovery",
            lambda: self._run.pool.fork(discovery_kind(description.toolchain), source, description.prepared),
            Ledger(),
        )
        try:
            found: dict[str, Any] = device.call("reproduction", phase="import", cases=cases)
        except (SubjectError, DeviceEnded) as error:
            raise CannotTell(f"the backend's class does not tell how to load it: {error}") from error
        finally:
            device.end()
        if found["options"] is None:
            raise CannotTell("the options that the backend is given are objects, which cannot be written down")
        value = description.source.value
        return BackendFacts(
            name=description.name,
            libraries=tuple(found["libraries"]),
            author=value if found["loads"] or found["lowers"] else "",
            lowers=found["lowers"],
            specs=found["specs"],
            value=value,
            options=found["options"],
            mode=found["mode"],
            runtime=tuple(found["runtime"]),
        )
