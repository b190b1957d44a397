"""Which of the cells that were chosen a run tries: a shard of them, and what is begun within a time.

Imports no torch: what makes no sense is said at once.
"""

from __future__ import annotations

import dataclasses
import re

from conformance._util.times import seconds_of, time_text

SHARD_OPTION = "--conformance-shard"
BUDGET_OPTION = "--conformance-budget"
_FORM = re.compile(r"(\d{1,6})/(\d{1,6})")
_LEAST_SECONDS, _MOST_SECONDS = 0.01, 10**7


@dataclasses.dataclass(frozen=True)
class Shard:
    """The ``number``-th of ``count`` parts, from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """What the option was given. Raises ValueError, which says what it takes, for anything else."""
        found = _FORM.fullmatch(text)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise ValueError(f"takes K/N, such as 2/4 for the second of four parts, found {text!r}")
        return cls(int(found[1]), int(found[2]))

    @property
    def folder(self) -> str:
        """Where its report lies, below the folder of the backend."""
        return f"shard-{self.number}-of-{self.count}"

    def has(self, place: int) -> bool:
        """Whether it has the cell at that place. Neighbours, which take alike long, go to different shards."""
        return place % self.count == self.number - 1


@dataclasses.dataclass(frozen=True)
class TimeBudget:
    """So many seconds of a run, after which no cell is begun."""

    seconds: float

    @classmethod
    def parse(cls, text: str) -> TimeBudget:
        """What the option was given. Raises ValueError, which says what it takes, for anything else."""
        seconds = seconds_of(text)
        if seconds is None or not _LEAST_SECONDS <= seconds <= _MOST_SECONDS:
            raise ValueError(
                f"takes a time such as 30s, 5m or 2h, from {_LEAST_SECONDS}s to {_MOST_SECONDS}s, found {text!r:.80}"
            )
        return cls(seconds)

    def __str__(self) -> str:
        """The time in its largest unit: 30m."""
        return time_text(self.seconds)
