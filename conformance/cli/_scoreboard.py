"""``scoreboard``: the reports of a folder side by side."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path

from conformance.cli._common import Commands, refuse, say
from conformance.report import ReportError, printable, read_report, write_atomically
from conformance.report.formats import formats


def add(commands: Commands) -> None:
    """``scoreboard``."""
    scoreboard = commands.add_parser("scoreboard", help="compare the backends of DIR/*/report.json, as a page")
    scoreboard.add_argument("folder", type=Path, metavar="DIR", help="where the reports lie, a folder for each")
    scoreboard.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="the page; the Markdown is beside it (default: DIR/index.html)",
    )
    scoreboard.add_argument(
        "--pages",
        action="store_true",
        help="also write each report in every format, in a folder of its own beside the page, and copy findings there",
    )
    scoreboard.set_defaults(run=_scoreboard)


def _scoreboard(options: argparse.Namespace) -> int:
    from conformance.report.scoreboard import copy_defects, scoreboard_html, scoreboard_markdown, scoreboard_of

    page: Path = options.output or options.folder / "index.html"
    if page.suffix == ".md":
        return refuse(f"{page} would be the Markdown and the page at once: name the page, such as {page.stem}.html")
    try:
        if options.pages:
            _write_pages(options.folder, page.parent)
            copy_defects(options.folder, page.parent)
        scoreboard = scoreboard_of(options.folder.resolve(), page.parent.resolve())
        write_atomically(page, scoreboard_html(scoreboard))
        write_atomically(page.with_suffix(".md"), scoreboard_markdown(scoreboard))
    except ReportError as error:
        return refuse(str(error))
    except OSError as error:
        return refuse(f"{page} cannot be written: {error.strerror}")
    for each in scoreboard.entries:
        say(printable(f"{each.folder}: {each.problem or f'{each.level}, {each.all} passed'}"))
    say(f"scoreboard: {page}")
    return 1 if any(each.problem for each in scoreboard.entries) else 0


def _write_pages(folder: Path, beside: Path) -> None:
    """Write every report that can be read in every format; the scoreboard says what is wrong with the others."""
    for path in sorted(folder.glob("*/report.json")):
        with contextlib.suppress(ReportError):
            report = read_report(path)
            place = beside / path.parent.name
            place.mkdir(parents=True, exist_ok=True)
            for each in formats().values():
                write_atomically(place / each.file, each.text(report, place))
