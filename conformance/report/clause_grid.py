"""The grid of clauses and cases, as the page shows it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from conformance.api.verdicts import Verdict
from conformance.report.anchors import address_of, cell_anchor, clause_anchor
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
#: No suite of the contract has as many squares.
_MOST_SQUARES = 4_000
_HOVER_LINES = 12
_HOVER_MESSAGE = 200


@dataclasses.dataclass(frozen=True)
class Mark:
    """One square of the grid. ``tally`` is empty for one cell, ``6`` for six alike, ``2/6`` for two of six.

    ``why`` has the cells and what was said of them; ``address`` is that of the worst, where it failed.
    """

    verdict: Verdict
    tally: str
    why: str
    address: str

    @property
    def letter(self) -> str:
        return LETTERS[self.verdict]


@dataclasses.dataclass(frozen=True)
class GridRow:
    """A clause, with a mark or None for each case of its suite."""

    clause: ClauseRow
    anchor: str
    cases: tuple[str, ...]
    verdicts: tuple[str, ...]
    marks: tuple[Mark | None, ...]


@dataclasses.dataclass(frozen=True)
class SuiteGrid:
    """A suite: a column for each case that some clause of it is tried on, and a row for each clause."""

    suite: str
    cases: tuple[str, ...]
    rows: tuple[GridRow, ...]

    @property
    def is_large(self) -> bool:
        """Whether it is one for a browser to lay out only when it comes into view."""
        return len(self.cases) * len(self.rows) > _MOST_SQUARES


def grid_of(report: Report) -> tuple[SuiteGrid, ...]:
    """The grid of a report, a part for each suite.

    Operators are no cases: their hundreds of columns would have one square each.
    """
    clauses = clauses_of(report)
    squares: dict[tuple[str, str], dict[str, list[CellRow]]] = {}
    for row in report.cells:
        if is_about_an_operator(row):
            continue
        squares.setdefault((row.suite, row.clause), {}).setdefault(row.case, []).append(row)
    suites: dict[str, dict[str, dict[str, list[CellRow]]]] = {}
    for (suite, clause), by_case in squares.items():
        suites.setdefault(suite, {})[clause] = by_case
    return tuple(_suite_grid(suite, tried, clauses) for suite, tried in suites.items())


def _suite_grid(
    suite: str, tried: Mapping[str, Mapping[str, Sequence[CellRow]]], clauses: Mapping[str, ClauseRow]
) -> SuiteGrid:
    cases = _columns(tried.values())
    rows = []
    for clause, by_case in tried.items():
        verdicts = {row.verdict.value for rows in by_case.values() for row in rows}
        marks = tuple(_mark(by_case[case]) if case in by_case else None for case in cases)
        row = GridRow(clauses[clause], clause_anchor(clause), tuple(by_case), tuple(sorted(verdicts)), marks)
        rows.append(row)
    return SuiteGrid(suite, cases, tuple(rows))


def _columns(tried: Iterable[Mapping[str, Sequence[CellRow]]]) -> tuple[str, ...]:
    """All cases, in the order of the clause that was tried on the most: that is the order of the corpus."""
    longest_first = sorted(tried, key=len, reverse=True)
    return tuple(dict.fromkeys(case for by_case in longest_first for case in by_case))


def _mark(rows: Sequence[CellRow]) -> Mark:
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
    return Mark(worst, tally, "\n".join(lines), address_of(cell_anchor(rows[0].id)) if rows[0].fails else "")
