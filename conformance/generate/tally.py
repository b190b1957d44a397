"""The outcomes of a cell's trials, counted, as its row in the report has them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any

from conformance.api.errors import DeviceEnded
from conformance.api.fingerprint import fingerprint
from conformance.api.verdicts import Verdict
from conformance.generate.judge import Divergence
from conformance.generate.kinds import STATE, axes_of, explains, operators_of
from conformance.generate.places import values_of
from conformance.generate.steps import Trial


@dataclasses.dataclass
class Finding:
    """A failure: the smallest trial that shows it, and what goes wrong in it."""

    trial: Trial
    observable: str
    phase: str
    verdict: str
    message: str
    #: In how many trials it was found.
    count: int = 1
    #: The trials that must be played before it in the same process for it to fail.
    before: tuple[Trial, ...] = ()
    #: What became of the process, where it ended.
    ended: DeviceEnded | None = None

    @property
    def operators(self) -> list[str]:
        """The operators of its programs, each once."""
        return sorted(operators_of(self.trial))

    @property
    def axes(self) -> list[str]:
        """The values of axes that its trial has, without the plainest ones."""
        return sorted(axes_of(self.trial))

    @property
    def cause(self) -> str:
        """What findings of one cause have in common."""
        return " / ".join(filter(None, [" ".join(self.operators), " ".join(self.axes), self.observable]))

    def as_row(self) -> dict[str, Any]:
        """The finding as a report has it."""
        row = {
            "cause": self.cause,
            "operators": self.operators,
            "axes": self.axes,
            "observable": self.observable,
            "count": self.count,
            "phase": self.phase,
            "verdict": self.verdict,
            "message": self.message,
            "source": "\n".join(program.source() for program in self.trial.programs),
            "inputs": [str(step) for step in self.trial.steps],
            "fingerprint": fingerprint("", self.verdict, self.phase, self.cause),
        }
        return row | ({"after": len(self.before)} if self.before else {})


class Tally:
    """Counts of a cell's trials, and its findings."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.tried = 0
        self.seconds = 0.0
        self.discarded: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.findings: list[Finding] = []
        self._values: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()

    def count(self, trial: Trial) -> None:
        """Count a trial that judged the backend."""
        self.tried += 1
        values = values_of(trial)
        self._values.update(values)
        self._pairs.update((one, other) for index, one in enumerate(values) for other in values[:index])

    def knows(self, cause: str) -> bool:
        """Whether there is a finding of a cause."""
        return any(each.cause == cause for each in self.findings)

    def explains(self, trial: Trial, differences: Sequence[Divergence], count: int) -> bool:
        """Whether a finding explains a failing trial, as :func:`conformance.generate.kinds.explains` says. Then
        ``count`` is added to the finding's."""
        observable = differences[0].observable
        for known in self.findings:
            repeats = known.verdict != Verdict.FLAKY.value and observable != STATE
            if repeats and known.observable == observable and explains(known.trial, trial, observable):
                known.count += count
                return True
        return False

    def add(self, finding: Finding) -> None:
        """Add a finding; if there is one of the same cause, add its count to that."""
        for known in self.findings:
            if known.cause == finding.cause:
                known.count += finding.count
                return
        self.findings.append(finding)

    def as_row(self) -> dict[str, Any]:
        """The field ``generated`` of a row."""
        values = sorted(self._values)
        return {
            "seed": self.seed,
            "tried": self.tried,
            "discarded": dict(self.discarded),
            "refused": dict(self.refused),
            "seconds": round(self.seconds, 3),
            "values": values,
            "counts": [self._values[each] for each in values],
            "pairs": [[self._pairs[one, other] for other in values[:index]] for index, one in enumerate(values)],
            "findings": [each.as_row() for each in self.findings],
        }
