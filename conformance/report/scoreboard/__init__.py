"""The reports of a folder side by side: backends, what they lack, operators by dtype, defects, and releases."""

from conformance.report.scoreboard.boards import Board, Entry, Share
from conformance.report.scoreboard.defects import copy_defects
from conformance.report.scoreboard.markdown import scoreboard_markdown
from conformance.report.scoreboard.page import Scoreboard, scoreboard_html, scoreboard_of

__all__ = [
    "Board",
    "Entry",
    "Scoreboard",
    "Share",
    "copy_defects",
    "scoreboard_html",
    "scoreboard_markdown",
    "scoreboard_of",
]
