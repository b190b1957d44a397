"""What the page shows of causes: with each the script that shows it, so that the page needs no file beside it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from conformance.report.anchors import address_of, cell_anchor
from conformance.report.causes import Cause
from conformance.report.cell_details import Script, script_of
from conformance.report.model_text import model_text
from conformance.report.reproducer_folder import MARK
from conformance.report.row_model import CellRow

#: A longer script is not shown: it is there to be read.
_LONGEST_SCRIPT = 40_000
_CELLS_SHOWN = 60


@dataclasses.dataclass(frozen=True)
class CauseDetails:
    """A cause, the script of its example where there is one to be shown, and the addresses of its cells."""

    cause: Cause
    script: Script | None
    cells: tuple[tuple[str, str], ...]
    #: How many more cells there are.
    more: int

    @property
    def model(self) -> str:
        """What the model of the example computes, where its script is there to say so."""
        return model_text(self.script.text) if self.script and self.cause.finding is None else ""

    @property
    def count(self) -> str:
        """In how much it shows."""
        cells = len(self.cause.cells)
        words = f"{cells} cell{'s' if cells != 1 else ''}"
        if self.cause.programs:
            words += f", {self.cause.programs} program{'s' if self.cause.programs != 1 else ''}"
        return words


def cause_details(causes: tuple[Cause, ...], folder: Path | None) -> list[CauseDetails]:
    """The causes of a report that lies in ``folder``; without one there are no scripts."""
    return [
        CauseDetails(
            cause,
            script_beside(cause.example, folder) if cause.reproducer else None,
            tuple((row.id, address_of(cell_anchor(row.id))) for row in cause.cells[:_CELLS_SHOWN]),
            max(0, len(cause.cells) - _CELLS_SHOWN),
        )
        for cause in causes
    ]


def script_beside(row: CellRow, folder: Path | None) -> Script | None:
    """The reproducer of a cell with its text; None where that is not to be found, too long, or not of our making."""
    script = script_of(row)
    if script is None or folder is None:
        return None
    try:
        path = folder / script.path
        if path.stat().st_size > _LONGEST_SCRIPT:
            return None
        text = path.read_text(encoding="utf-8")
        return dataclasses.replace(script, text=text) if text.startswith(MARK) else None
    except (OSError, UnicodeDecodeError):
        return None
