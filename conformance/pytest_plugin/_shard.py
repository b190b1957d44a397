"""``--conformance-shard=K/N``: one of N parts of what was selected, the same cells for the same N on any machine."""

from __future__ import annotations

import dataclasses
import re

import pytest

from conformance.pytest_plugin._run import CELL

OPTION = "--conformance-shard"
_FORM = re.compile(r"(\d{1,6})/(\d{1,6})")


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


class Sharder:
    """The plugin that leaves out the cells of other shards; what is no cell is the first one's."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect, once ``-k`` and everything else has."""
        cells = [item for item in items if CELL in item.stash]
        own = {item for place, item in enumerate(cells) if self._shard.has(place)}
        own |= {item for item in items if CELL not in item.stash and self._shard.has(0)}
        if left_out := [item for item in items if item not in own]:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if item in own]
