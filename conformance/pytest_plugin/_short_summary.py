"""The last lines of a run with failures, as pytest's users know them: FAILED, an id that can be pasted, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance._util.escaping import legible
from conformance.report.row_model import CellRow
from conformance.report.view import view_of

#: So many cells are listed of a backend; where more fail, one of each cause comes first.
_SHOWN = 10


def failed_lines(report: Mapping[str, Any], nodeids: Mapping[str, str], width: int) -> Iterator[str]:
    """A line for each failing cell, or for the example of each cause where that is too many. ``nodeids`` has pytest's
    name of each cell."""
    view = view_of(report)
    examples = dict.fromkeys(cause.example.id for cause in view.causes)
    ranks = {id: place for place, id in enumerate(examples)}
    rows = [row for row in view.failing if row.id in nodeids]
    if len(rows) > _SHOWN:
        rows.sort(key=lambda row: ranks.get(row.id, len(ranks)))
    for row in rows[:_SHOWN]:
        yield _line(row, nodeids[row.id], width)
    if (rest := len(rows) - _SHOWN) > 0:
        yield f"... and {rest} more: -rf lists them all"


def why(row: CellRow) -> str:
    """What a cell came to, in a line."""
    phase = f" in {row.phase}" if row.phase else ""
    return f"{row.verdict.value}{phase}: {row.message}"


def _line(row: CellRow, nodeid: str, width: int) -> str:
    """Cut as pytest does: the message, and never the id."""
    line = legible(" ".join(f"FAILED {nodeid} - {why(row)}".split()))
    least = len(f"FAILED {nodeid}")
    return line if len(line) <= width else f"{line[: max(least, width - len('...'))]}{'...' if least < width else ''}"
