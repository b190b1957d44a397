"""Samples that wait until several of them can be tried in one program, which costs little more than one of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from conformance.operators.table import Outcome, Tried

#: So many samples are in one program at most.
_MOST = 8
#: A sample waits for so many draws at most.
_PATIENCE = 24


@dataclasses.dataclass(frozen=True, slots=True)
class Draw:
    """An operator that was drawn, with a dtype, a seed for its samples, and how many they are."""

    operator: str
    dtype: str
    seed: int
    count: int


class Drawn(NamedTuple):
    """What a sample came to, of one operator, or of several whose samples are wrong in one program alone."""

    operators: tuple[str, ...]
    dtype: str
    sample: dict[str, Any]
    tried: Tried


#: Samples for one program, with the draw that each is of.
Group = Sequence[tuple[Draw, dict[str, Any]]]


@dataclasses.dataclass
class Waiting:
    """The samples that wait, by the mode in which they are called. None is of an operator that was not right before,
    which the others in its program would have to be tried again for."""

    _most: int = _MOST
    _draws: int = 0
    _apart: set[str] = dataclasses.field(default_factory=set)
    #: The samples of a mode, and at which draw the first of them came.
    _samples: dict[str, tuple[int, list[tuple[Draw, dict[str, Any]]]]] = dataclasses.field(default_factory=dict)

    def takes(self, draw: Draw, sample: dict[str, Any]) -> bool:
        """Whether a sample may be in a program with others."""
        return bool(sample.get("joins")) and draw.operator not in self._apart

    def add(self, draw: Draw, sample: dict[str, Any]) -> None:
        """Let a sample wait."""
        self._samples.setdefault(sample["mode"], (self._draws, []))[1].append((draw, sample))

    def due(self) -> Iterator[Group]:
        """After a draw: the groups that are to be tried now, which wait no longer."""
        self._draws += 1
        for mode, (since, found) in list(self._samples.items()):
            while len(found) >= self._most or (found and self._draws - since >= _PATIENCE):
                group, found = found[: self._most], found[self._most :]
                yield group
            if found:
                self._samples[mode] = since, found
            else:
                del self._samples[mode]

    def ask_for_less_than(self, count: int) -> None:
        """Have half of so many samples in a program: so many took too long."""
        self._most = min(self._most, max(1, count // 2))

    def learn(self, drawn: Drawn) -> None:
        """Remember what a sample came to."""
        if drawn.tried.outcome is not Outcome.RIGHT:
            self._apart.update(drawn.operators)


def told_together(group: Group) -> dict[str, Any]:
    """Several samples as if they were one, as a report tells of it."""
    samples = [sample for _, sample in group]
    return {
        "call": " beside ".join(each["call"] for each in samples),
        "values": sorted({value for each in samples for value in each["values"]}),
        "shapes": [shape for each in samples for shape in each["shapes"]],
    }
