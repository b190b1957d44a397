"""The scoreboard as a whole, and as a page."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from conformance.report.operator_grid import OUTCOMES
from conformance.report.scoreboard.boards import Board, Entry, boards_of
from conformance.report.scoreboard.capabilities import Capabilities, capabilities_of
from conformance.report.scoreboard.defects import Defects, defects_of
from conformance.report.scoreboard.operators import Operators, operators_of
from conformance.report.scoreboard.releases import Release, releases_of
from conformance.report.templating import render


@dataclasses.dataclass(frozen=True)
class Scoreboard:
    """What the reports of a folder, and the findings beside them, say."""

    boards: tuple[Board, ...]
    capabilities: tuple[Capabilities, ...]
    operators: Operators | None
    defects: Defects | None
    releases: tuple[Release, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Those of all boards."""
        return tuple(each for board in self.boards for each in board.entries)


def scoreboard_of(folder: Path, beside: Path) -> Scoreboard:
    """The scoreboard of every ``folder/*/report.json``, with links from ``beside``, where it is to be written.

    A backend is linked to its page, below ``beside`` or beside its report, or else to the report itself.

    A report that cannot be read is an entry with its error. Raises ReportError where there is no report at all, and
    where the findings beside them cannot be read.
    """
    boards = boards_of(folder, beside)
    entries = [each for board in boards for each in board.entries]
    return Scoreboard(
        boards, capabilities_of(boards), operators_of(entries), defects_of(folder, beside), releases_of(entries)
    )


def scoreboard_html(scoreboard: Scoreboard) -> str:
    """The page."""
    return render("scoreboard.html.j2", scoreboard=scoreboard, outcomes=OUTCOMES)
