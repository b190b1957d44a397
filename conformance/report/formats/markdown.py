"""A report as Markdown, for a pull request or ``$GITHUB_STEP_SUMMARY``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tabulate import tabulate

from conformance._util.escaping import escape_markdown as escape
from conformance.report.generated import GeneratedView
from conformance.report.model import Report
from conformance.report.operators import OperatorSummary
from conformance.report.row_model import CellRow
from conformance.report.view import (
    SHORT,
    ReportView,
    SuiteTable,
    attempt_lines,
    expectation_texts,
    place_of,
    steps_text,
    view_of,
)

#: A pull request takes 65,536 characters: what is more than these is counted, not shown.
_MOST_FAILURES = 50
_MOST_SENTENCES = 50
_MOST_OPERATORS = 30
_MOST_FINDINGS = 30
_COLUMNS = ("clause", "verdict", "phase", "cells", "first cell")
_RECORDED = ("reason", "issue", "owner", "expires")


def markdown(report: dict[str, Any]) -> str:
    """The Markdown of a report that ``read_report`` has validated. Its strings are shown as text, never as markup."""
    view = view_of(report)
    parts = [
        f"## Conformance of {escape(view.report.backend.name)}",
        escape(view.headline),
        *(f"**{escape(line)}**" for line in (view.incomplete, view.level) if line),
        _suites(view.suites),
        *_behaviour(view),
        *_list("Not exercised", view.not_exercised),
        *_failures(view),
        *(_operators(view.operators) if view.operators else ()),
        *(_generated(view.generated) if view.generated else ()),
        *_flaky(view.report.cells),
        *_known(view),
        *_list("Missing for this level", view.report.certification.missing),
        *_list("Missing features, as declared", _missing_features(view.report)),
        *_list("Notes", view.notes),
        escape(view.selftest),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _suites(table: SuiteTable) -> str:
    body = [[line.name, *(str(count or "") for count in line.counts), str(line.cells)] for line in table.lines]
    headers = ["suite", *(SHORT[verdict] for verdict in table.verdicts), "cells"]
    return markdown_table(headers, body, numbers=len(headers) - 1)


def _behaviour(view: ReportView) -> Iterable[str]:
    for table in view.behaviour:
        if not table.lines:
            continue
        body = [
            [
                *(", ".join(values) for values in line.columns),
                steps_text(line.expected),
                steps_text(line.observed),
                line.verdict.value,
            ]
            for line in table.lines
        ]
        yield f"### Availability on the {table.role} (compile/execute)"
        yield markdown_table([*table.headers, "expected", "observed", "verdict"], body)


def _failures(view: ReportView) -> Iterable[str]:
    if not view.failing:
        return
    body = [[*_columns(group.cells), group.cells[0].message] for group in view.failures[:_MOST_FAILURES]]
    yield f"### Failures ({len(view.failing)} of {view.report.plan.cells} cells)"
    yield markdown_table([*_COLUMNS, "first message"], body)
    if len(view.failures) > _MOST_FAILURES:
        yield f"... and {len(view.failures) - _MOST_FAILURES} more such rows: report.json has them all."


def _columns(cells: Sequence[CellRow]) -> list[str]:
    """The columns that cells share which are shown as one row."""
    first = cells[0]
    return [first.clause, first.verdict.value, first.phase, str(len(cells)), place_of(first)]


def _operators(summary: OperatorSummary) -> Iterable[str]:
    yield "### Operators"
    yield escape(summary.headline)
    yield markdown_table(summary.headers, summary.lines, numbers=len(summary.headers) - 1)
    if summary.groups:
        body = [
            [each.outcome.value, each.operator, ", ".join(each.dtypes), each.errors, each.message]
            for each in summary.groups[:_MOST_OPERATORS]
        ]
        yield markdown_table(["outcome", "operator", "dtypes", "errors in the first", "message of the first"], body)
    if len(summary.groups) > _MOST_OPERATORS:
        yield f"... and {len(summary.groups) - _MOST_OPERATORS} more operators: report.json has them all."


def _generated(view: GeneratedView) -> Iterable[str]:
    yield "### Generated cells"
    yield escape(view.headline)
    numbers = ("cells", "tried", "discarded", "refused", "causes found")
    body = [
        [
            each.clause,
            str(each.cells),
            str(each.tried),
            *(str(sum(counts.values())) for counts in (each.discarded, each.refused)),
            str(each.findings),
        ]
        for each in view.clauses
    ]
    yield markdown_table(["clause", *numbers], body, numbers=len(numbers))
    axes = [[each.name, f"{len(each.met)} of {len(each.values)}", ", ".join(each.never)] for each in view.axes]
    yield markdown_table(["axis", "values met", "never met"], axes)
    yield escape(f"{view.values_line}; {view.pairs_line}.")
    if view.found:
        rows = [
            [each.finding.verdict.value, each.finding.cause, str(each.count), each.cells[0], each.finding.message]
            for each in view.found[:_MOST_FINDINGS]
        ]
        yield markdown_table(["verdict", "cause", "times", "first cell", "message"], rows)
        yield "The page report.html has the program of each, and what is done with it."
    if len(view.found) > _MOST_FINDINGS:
        yield f"... and {len(view.found) - _MOST_FINDINGS} more causes: report.json has them all."


def _flaky(cells: Iterable[CellRow]) -> Iterable[str]:
    return _list("Flaky", [f"{row.id}: {text}" for row in cells for text in attempt_lines(row)])


def _known(view: ReportView) -> Iterable[str]:
    if not view.known:
        return
    body = []
    for group in view.known[:_MOST_FAILURES]:
        recorded = expectation_texts(group.expectation, _RECORDED)
        body.append([*_columns(group.cells), *(str(recorded.get(name, "")) for name in _RECORDED)])
    yield f"### Known failures ({sum(len(group.cells) for group in view.known)} of {view.report.plan.cells} cells)"
    yield markdown_table([*_COLUMNS, *_RECORDED], body)
    if len(view.known) > _MOST_FAILURES:
        yield f"... and {len(view.known) - _MOST_FAILURES} more such rows: report.json has them all."


def _missing_features(report: Report) -> list[str]:
    return [f"{name}: {reason}" for name, reason in report.backend.features.missing.items()]


def _list(heading: str, sentences: Sequence[str]) -> Iterable[str]:
    if not sentences:
        return
    yield f"### {heading}"
    lines = [f"- {escape(sentence)}" for sentence in sentences[:_MOST_SENTENCES]]
    if len(sentences) > _MOST_SENTENCES:
        lines.append(f"- ... and {len(sentences) - _MOST_SENTENCES} more")
    yield "\n".join(lines)


def markdown_table(headers: Sequence[str], body: Sequence[Sequence[str]], numbers: int = 0) -> str:
    """A table whose last ``numbers`` columns are right-aligned. Its strings are escaped here, and nowhere before."""
    return tabulate(
        [[escape(text) for text in row] for row in body],
        headers=[escape(header) for header in headers],
        tablefmt="github",
        disable_numparse=True,
        colalign=["left"] * (len(headers) - numbers) + ["right"] * numbers,
    )
