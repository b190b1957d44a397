"""The grid of clauses and cases, and the failures, as the HTML face shows them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conformance.api.verdicts import Verdict
from conformance.report import _rows
from conformance.report._details import Attempt, Reproducer, attempts_of, plain, reproducer_of
from conformance.report._rows import Row

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
#: What a process printed is cut there, in a page that a browser must open.
_LONGEST_OUTPUT = 20_000
_OUTPUTS = ("text", "stack", "stdout", "stderr")


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

    clause: Mapping[str, str]
    cases: tuple[str, ...]
    verdicts: tuple[str, ...]
    marks: tuple[Mark | None, ...]


@dataclasses.dataclass(frozen=True)
class Grid:
    """The suites with their rows, and the names of the columns."""

    cases: tuple[str, ...]
    suites: dict[str, list[GridRow]]


@dataclasses.dataclass(frozen=True)
class Output:
    """Something that a failure left behind, and how many characters of it are not shown."""

    name: str
    text: str
    left_out: int


@dataclasses.dataclass(frozen=True)
class Failure:
    """A cell that failed."""

    anchor: str
    row: Row
    where: str
    facts: tuple[tuple[str, str], ...]
    outputs: tuple[Output, ...]
    attempts: tuple[Attempt, ...]
    reproducer: Reproducer | None


@dataclasses.dataclass(frozen=True)
class FailureGroup:
    """Failures of one clause with one verdict in one phase."""

    clause: Mapping[str, str]
    verdict: Verdict
    phase: str
    failures: tuple[Failure, ...]


def clauses_of(report: Row) -> dict[str, dict[str, str]]:
    """The clauses by id; one that only cells name has no statement."""
    known = {clause["id"]: clause for clause in report["clauses"]}
    for row in report["cells"]:
        unknown = {"id": row["clause"], "suite": row["suite"], "level": row["level"], "statement": "", "source": ""}
        known.setdefault(row["clause"], unknown)
    return known


def grid_of(report: Row, anchors: Mapping[str, str]) -> Grid:
    """The grid of a report. ``anchors`` maps the ids of failed cells to where the page tells about them.

    Operators are no cases: their hundreds of columns would have one square each.
    """
    clauses = clauses_of(report)
    squares: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in report["cells"]:
        if _rows.is_about_an_operator(row):
            continue
        squares.setdefault((row["suite"], row["clause"]), {}).setdefault(row["case"], []).append(row)
    cases = _columns(squares.values())
    suites: dict[str, list[GridRow]] = {}
    for (suite, clause), by_case in squares.items():
        verdicts = {row["verdict"] for rows in by_case.values() for row in rows}
        marks = tuple(_mark(by_case[case], anchors) if case in by_case else None for case in cases)
        suites.setdefault(suite, []).append(GridRow(clauses[clause], tuple(by_case), tuple(sorted(verdicts)), marks))
    return Grid(cases, suites)


def _columns(tried: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """All cases, in the order of the clause that was tried on the most: that is the order of the corpus."""
    longest_first = sorted(tried, key=len, reverse=True)
    return tuple(dict.fromkeys(case for by_case in longest_first for case in by_case))


def _mark(rows: Sequence[Row], anchors: Mapping[str, str]) -> Mark:
    rows = sorted(rows, key=lambda row: _SEVERITY.index(Verdict(row["verdict"])))
    worst = Verdict(rows[0]["verdict"])
    count = sum(row["verdict"] == worst.value for row in rows)
    tally = "" if len(rows) == 1 else str(count) if count == len(rows) else f"{count}/{len(rows)}"
    lines = [
        f"{row['id']}: {row['verdict']}" + (f": {row['message'][:_HOVER_MESSAGE]}" if row["message"] else "")
        for row in rows[:_HOVER_LINES]
    ]
    if len(rows) > _HOVER_LINES:
        lines.append(f"... and {len(rows) - _HOVER_LINES} more")
    return Mark(worst, tally, "\n".join(lines), anchors.get(rows[0]["id"], ""))


def failures_of(report: Row) -> list[FailureGroup]:
    """The failures of a report, told together where clause, verdict and phase are the same."""
    clauses = clauses_of(report)
    groups, number = [], 0
    for rows in _rows.failure_groups(_rows.failing(report)):
        failures = []
        for row in rows:
            number += 1
            facts, outputs = _left_behind(row)
            failures.append(
                Failure(
                    f"failure-{number}",
                    row,
                    _rows.where(row) or row["id"],
                    facts,
                    outputs,
                    attempts_of(row),
                    reproducer_of(row),
                )
            )
        first = rows[0]
        groups.append(
            FailureGroup(clauses[first["clause"]], Verdict(first["verdict"]), first["phase"], tuple(failures))
        )
    return groups


def _left_behind(row: Row) -> tuple[tuple[tuple[str, str], ...], tuple[Output, ...]]:
    error: dict[str, Any] = row.get("error", {})
    seconds = ", ".join(f"{verb} {spent:.3f}" for verb, spent in row["seconds"].items())
    facts = [
        ("cell", row["id"]),
        ("runtime", row["runtime"]),
        ("host", row["host"]),
        ("target", row["target"] or ""),
        *((name, _rows.steps_text(steps)) for name, steps in row.get("behaviour", {}).items()),
        *((name, plain(value)) for name, value in error.items() if name not in _OUTPUTS and value is not None),
        *((name, plain(row[name])) for name in ("expectation", "margin") if name in row),
        ("seconds", seconds),
    ]
    outputs = [_output(name, plain(error[name])) for name in _OUTPUTS if error.get(name)]
    shown = [each for each in outputs if each.text.strip() != row["message"].strip()]
    return tuple((name, text) for name, text in facts if text), tuple(shown)


def _output(name: str, text: str) -> Output:
    return Output(name, text[:_LONGEST_OUTPUT], max(0, len(text) - _LONGEST_OUTPUT))
