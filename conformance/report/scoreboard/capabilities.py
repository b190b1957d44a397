"""What each backend says that it cannot do, feature by feature."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from conformance.report.scoreboard.boards import Board, Entry


@dataclasses.dataclass(frozen=True)
class Capabilities:
    """The backends of one toolchain. ``rows`` map a feature to why each backend lacks it; None: it does not say so."""

    toolchain: str
    entries: tuple[Entry, ...]
    rows: tuple[tuple[str, tuple[str | None, ...]], ...]


def capabilities_of(boards: Iterable[Board]) -> tuple[Capabilities, ...]:
    """A table for each toolchain of which any backend lacks something."""
    return tuple(table for board in boards if board.readable and (table := _table(board)).rows)


def _table(board: Board) -> Capabilities:
    missing = [each.report.backend.features.missing for each in board.entries if each.report]
    features = sorted({feature for each in missing for feature in each})
    rows = tuple((feature, tuple(each.get(feature) for each in missing)) for feature in features)
    return Capabilities(board.toolchain, board.entries, rows)
