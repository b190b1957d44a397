"""The grid of clauses and cases, as the page shows it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from conformance.api.verdicts import Verdict
from conformance.report.causes import clauses_of
from conformance.report.model import Report
from conformance.report.row_model import CellRow, ClauseRow
from conformance.report.view import is_about_an_operator

LETTERS = {
    Verdict.PASS: "P",
    Verdict.FAIL: "F",
    Verdict.CRASH: "C",
    Verdict.TIMEOUT: "T",
    Verdict.UNSUPPORTED: "U",
    Verdict.NOT_APPLICABLE: "NA",
    Verdict.NOT_EXERCISED: "NE",
    Verdict.XFAIL: "XF",
    Verdict.XPASS: "XP",
    Verdict.XFAIL_MISMATCH: "XM",
    Verdict.FLAKY: "FL",
    Verdict.HARNESS_ERROR: "H",
    Verdict.LOST: "L",
}
#: The worst first.
_SEVERITY = (
    Verdict.CRASH,
    Verdict.TIMEOUT,
    Verdict.FAIL,
    Verdict.XFAIL_MISMATCH,
    Verdict.XPASS,
    Verdict.FLAKY,
    Verdict.HARNESS_ERROR,
    Verdict.LOST,
    Verdict.XFAIL,
    Verdict.NOT_EXERCISED,
    Verdict.UNSUPPORTED,
    Verdict.NOT_APPLICABLE,
    Verdict.PASS,
)
_HOVER_LINES = 12
_HOVER_MESSAGE = 200


@dataclasses.dataclass(frozen=True)
class Mark:
    """One square of the grid. ``tally`` is empty for one cell, ``6`` for six alike, ``2/6`` for two of six."""

    verdict: Verdict
    tally: str
    hover: str
    anchor: str

    @property
    def letter(self) -> str:
        return LETTERS[self.verdict]


@dataclasses.dataclass(frozen=True)
class GridRow:
    """A clause, with a mark or None for each case."""

    clause: ClauseRow
    cases: tuple[str, ...]
    verdicts: tuple[str, ...]
    marks: tuple[Mark | None, ...]


@dataclasses.dataclass(frozen=True)
class Grid:
    """The suites with their rows, and the names of the columns."""

    cases: tuple[str, ...]
    suites: dict[str, list[GridRow]]


def grid_of(report: Report, anchors: Mapping[str, str]) -> Grid:
    """The grid of a report. ``anchors`` maps the ids of failed cells to their places in the page.

    Operators are no cases: their hundreds of columns would have one square each.
    """
    clauses = clauses_of(report)
    squares: dict[tuple[str, str], dict[str, list[CellRow]]] = {}
    for row in report.cells:
        if is_about_an_operator(row):
            continue
        squares.setdefault((row.suite, row.clause), {}).setdefault(row.case, []).append(row)
    cases = _columns(squares.values())
    suites: dict[str, list[GridRow]] = {}
    for (suite, clause), by_case in squares.items():
        verdicts = {row.verdict.value for rows in by_case.values() for row in rows}
        marks = tuple(_mark(by_case[case], anchors) if case in by_case else None for case in cases)
        suites.setdefault(suite, []).append(GridRow(clauses[clause], tuple(by_case), tuple(sorted(verdicts)), marks))
    return Grid(cases, suites)


def _columns(tried: Iterable[Mapping[str, Sequence[CellRow]]]) -> tuple[str, ...]:
    """All cases, in the order of the clause that was tried on the most: that is the order of the corpus."""
    longest_first = sorted(tried, key=len, reverse=True)
    return tuple(dict.fromkeys(case for by_case in longest_first for case in by_case))


def _mark(rows: Sequence[CellRow], anchors: Mapping[str, str]) -> Mark:
    rows = sorted(rows, key=lambda row: _SEVERITY.index(row.verdict))
    worst = rows[0].verdict
    count = sum(row.verdict is worst for row in rows)
    tally = "" if len(rows) == 1 else str(count) if count == len(rows) else f"{count}/{len(rows)}"
    lines = [
        f"{row.id}: {row.verdict.value}" + (f": {row.message[:_HOVER_MESSAGE]}" if row.message else "")
        for row in rows[:_HOVER_LINES]
    ]
    if len(rows) > _HOVER_LINES:
        lines.append(f"... and {len(rows) - _HOVER_LINES} more")
    return Mark(worst, tally, "\n".join(lines), anchors.get(rows[0].id, ""))
