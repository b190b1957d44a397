"""Where a run's reproducers are ordered: it knows the backends, and how many scripts are wanted of one failure."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

from conformance.bench import Evidence, Result
from conformance.catalogue import Description
from conformance.devices import Device, Ledger
from conformance.errors import DeviceEnded, SubjectError
from conformance.reproducers._judge import Facts
from conformance.reproducers._scenario import BackendFacts, CannotTell
from conformance.reproducers._script import Limits, reproducer
from conformance.workshop import Workshop


class Desk:
    """Writes the reproducers of one process. ``most`` is how many failures of one group get one (0: none)."""

    def __init__(self, workshop: Workshop, most: int) -> None:
        self._workshop = workshop
        self._most = most
        self._written: collections.Counter[tuple[str, ...]] = collections.Counter()

    def order(
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
            return self._write(result, evidence, function, parameters)
        except CannotTell as reason:
            return {"problem": f"{cell.id}: {reason}"}
        except Exception as error:  # a verdict is worth more than its reproducer
            return {"problem": f"{cell.id}: the harness itself failed: {type(error).__name__}: {error}"}

    def _write(
        self, result: Result, evidence: Evidence, function: Callable[..., None], parameters: tuple[str, ...]
    ) -> dict[str, Any]:
        cell = result.cell
        description = self._workshop.descriptions[cell.backend]
        facts = Facts(
            cell=cell,
            failure=evidence.failure,
            steps=tuple(evidence.trace.steps),
            description=description,
            seed=self._workshop.seed,
            function=function,
            parameters=parameters,
            calls=lambda name: self._workshop.calls(name, cell.clause.toolchain),
        )
        limits = Limits(self._workshop.pool.limits.seconds, self._workshop.pool.limits.memory_bytes)
        if evidence.trace.overflowed:
            raise CannotTell("its artifacts and values are too large")
        return reproducer(facts, result.outcome, self._ask(description, _cases(facts)), limits).as_message()

    def _ask(self, description: Description, cases: list[str]) -> BackendFacts:
        """What a script must know of the backend, from a process of its own. Raises CannotTell where that fails."""
        source = dataclasses.asdict(description.source)
        device = Device(
            "discovery",
            lambda: self._workshop.pool.fork("discovery", source, description.prepared, zygote=description.toolchain),
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


def _cases(facts: Facts) -> list[str]:
    """The cases that are lowered in some step."""
    named = [step.arguments["case"] for step in facts.steps if step.verb == "script"]
    named += [case for step in facts.steps if step.verb == "lower_selectively" for case in step.arguments["cases"]]
    return list(dict.fromkeys(named))
