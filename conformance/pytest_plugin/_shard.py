"""``--conformance-shard=K/N``: one of N parts of what was selected, the same cells for the same N on any machine."""

from __future__ import annotations

import pytest

from conformance.pytest_plugin._run import CELL
from conformance.pytest_plugin._scope import Shard


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
