"""A comparison of reports for people: tables for a terminal of any width, or Markdown."""

from __future__ import annotations

import dataclasses
import string
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from tabulate import tabulate

from conformance._util.escaping import escape_markdown, printable
from conformance.report import operators
from conformance.report._store import rows_by_id
from conformance.report.compare.changes import (
    Behaviour,
    CellChange,
    Change,
    Ending,
    Rows,
    behaviours,
    changes,
    circumstances,
    shortfalls,
)
from conformance.report.model import Report
from conformance.report.parts import read_part
from conformance.report.view import share_shown

#: A column is not made narrower than this.
_NARROWEST = 8
_GAP = 2
#: tabulate makes every column this much wider than its header.
_HEADER_PADDING = 2


@dataclasses.dataclass(frozen=True)
class Named:
    """A report under the letter that it has in a comparison, and the file that it came from."""

    letter: str
    file: str
    report: Report
    rows: Rows


def named(paths: Sequence[Path], reports: Sequence[dict[str, Any]]) -> list[Named]:
    """Reports with the letters A, B, C, ... Raises ReportError for one with a cell that stands there twice."""
    letters = [*string.ascii_uppercase, *(str(number) for number in range(27, len(reports) + 1))]
    return [_named(*each) for each in zip(letters, paths, reports, strict=False)]


def _named(letter: str, path: Path, document: dict[str, Any]) -> Named:
    rows_by_id(document, path.name)  # raises ReportError for a cell that stands there twice
    report = read_part(Report, document)
    return Named(letter, str(path), report, {row.id: row for row in report.cells})


class _Layout(Protocol):
    def heading(self, text: str) -> str: ...

    def points(self, texts: Sequence[str]) -> str: ...

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str: ...


class TerminalLayout:
    """Text within ``width`` columns."""

    def __init__(self, width: int) -> None:
        self._width = width

    def heading(self, text: str) -> str:
        """A line of its own."""
        return textwrap.fill(printable(text), self._width)

    def points(self, texts: Sequence[str]) -> str:
        """A list."""
        lines = [
            textwrap.fill(printable(text), self._width, initial_indent="  - ", subsequent_indent="    ")
            for text in texts
        ]
        return "\n".join(lines)

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """A table whose widest columns give way until it fits."""
        body = [[printable(text) for text in row] for row in rows]
        padded = [header + " " * _HEADER_PADDING for header in headers]
        widths = [max(map(len, column)) for column in zip(padded, *body, strict=True)]
        while sum(widths) + _GAP * (len(widths) - 1) > self._width and max(widths) > _NARROWEST:
            widths[widths.index(max(widths))] -= 1
        heads = [_wrapped(text, width - _HEADER_PADDING) for text, width in zip(headers, widths, strict=True)]
        lines = [[_wrapped(text, width) for text, width in zip(row, widths, strict=True)] for row in body]
        return tabulate(lines, headers=heads, tablefmt="simple", disable_numparse=True)


def _wrapped(text: str, width: int) -> str:
    return "\n".join(textwrap.wrap(text, max(1, width)))


class MarkdownLayout:
    """GitHub's Markdown, to paste into an issue or a pull request."""

    def heading(self, text: str) -> str:
        """A heading."""
        return f"### {escape_markdown(text)}"

    def points(self, texts: Sequence[str]) -> str:
        """A list."""
        return "\n".join(f"- {escape_markdown(text)}" for text in texts)

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        """A table."""
        lines = [headers, ["---"] * len(headers), *([escape_markdown(text) for text in row] for row in rows)]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def comparison_text(reports: Sequence[Named], layout: _Layout, *, every: bool = False) -> tuple[str, bool]:
    """The whole comparison of the first report with each other one, and whether any cell regressed.

    ``every``: also the rows of the behaviour tables that do not differ.
    """
    first, *others = reports
    parts = [layout.heading("Reports"), layout.points([_headline(each) for each in reports])]
    reservations = [f"{each.letter}: {text}" for each in reports for text in shortfalls(each.report)]
    if reservations:
        parts += [layout.heading("Not the whole contract"), layout.points(reservations)]
    regressed = False
    for other in others:
        found = changes(first.rows, other.rows)
        regressed |= any(each.change is Change.REGRESSED for each in found)
        parts += _pair(first, other, found, layout)
    parts += _behaviours(
        [each.letter for each in reports], behaviours([each.rows for each in reports], every=every), layout
    )
    return "\n\n".join(parts), regressed


def _headline(each: Named) -> str:
    backend, achieved = each.report.backend, each.report.certification.achieved
    version = f" {backend.version}" if backend.version else ""
    level = " ".join(filter(None, (achieved.value, share_shown(each.report.certification)))) if achieved else "none"
    return f"{each.letter}: {each.file}: {backend.name}{version}, {each.report.run.started}, level reached: {level}"


def _pair(first: Named, other: Named, found: Sequence[CellChange], layout: _Layout) -> Iterator[str]:
    pair = f"{first.letter} to {other.letter}"
    differences = circumstances(first.report, other.report)
    if differences:
        yield layout.heading(f"{pair}: {what_differs(first, other)}")
        yield layout.table(["what", first.letter, other.letter], differences)
    yield layout.heading(f"{pair}: {tally(first, other, found)}")
    for change in Change:
        rows = [
            (each.cell, ending_text(each.before), ending_text(each.after)) for each in found if each.change is change
        ]
        if rows:
            yield layout.table([f"{change.value} ({len(rows)})", first.letter, other.letter], rows)
    if sentences := operators.changes(first.report.operators or None, other.report.operators or None):
        yield layout.heading(f"{pair}: operators")
        yield layout.points(sentences)


def what_differs(first: Named, other: Named) -> str:
    """What a difference of circumstances is one of."""
    same = first.report.backend.name == other.report.backend.name
    return "the runs differ" if same else "two different backends"


def tally(first: Named, other: Named, found: Sequence[CellChange]) -> str:
    """How many cells changed in which way; regressions are named even if there are none."""
    counts = Counter(each.change for each in found)
    parts = [f"{counts[change]} {change.value}" for change in Change if counts[change] or change is Change.REGRESSED]
    changed = sum(each.before is not None and each.after is not None for each in found)
    unchanged = len(first.rows.keys() & other.rows.keys()) - changed
    return f"{', '.join(parts)}, {unchanged} unchanged"


def ending_text(ending: Ending | None) -> str:
    """How a cell ended, in a line."""
    if ending is None:
        return "-"
    phase = f" in {ending.phase}" if ending.phase else ""
    return f"{ending.verdict.value}{phase}" + (f": {ending.message}" if ending.message else "")


def _behaviours(letters: Sequence[str], rows: Sequence[Behaviour], layout: _Layout) -> Iterator[str]:
    for clause, case in dict.fromkeys((row.clause, row.case) for row in rows):
        body = [
            [row.host, row.target or "-", row.runtime, *("-" if seen is None else seen for seen in row.seen)]
            for row in rows
            if (row.clause, row.case) == (clause, case)
        ]
        yield layout.heading(f"Behaviour observed: {clause}, {case} (compile/execute)")
        yield layout.table(["host", "target", "runtime", *letters], body)
