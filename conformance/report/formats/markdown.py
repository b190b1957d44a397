"""A report as Markdown, for a pull request or ``$GITHUB_STEP_SUMMARY``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tabulate import tabulate

from conformance.report import _rows, operators
from conformance.report._escape import escape_markdown as escape

#: A pull request takes 65,536 characters: what is more than these is counted, not shown.
_MOST_FAILURES = 50
_MOST_SENTENCES = 50
_MOST_OPERATORS = 30


def markdown(report: dict[str, Any]) -> str:
    """The Markdown of a report that ``read_report`` has validated. Its strings are shown as text, never as markup."""
    parts = [
        f"## Conformance of {escape(report['backend']['name'])}",
        escape(_rows.headline(report)),
        *_level(report),
        _suites(report),
        *_behaviour(report),
        *_list("Not exercised", _rows.not_exercised(report)),
        *_failures(report),
        *_operators(report),
        *_flaky(report),
        *_known(report),
        *_list("Missing for this level", report["certification"]["missing"]),
        *_list("Missing features, as declared", _missing_features(report)),
        *_list("Notes", _rows.notes(report)),
        escape(_rows.selftest_line(report)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _level(report: dict[str, Any]) -> Iterable[str]:
    for line in (_rows.incomplete_line(report), _rows.level_line(report)):
        yield f"**{escape(line)}**" if line else ""


def _suites(report: dict[str, Any]) -> str:
    seen, rows = _rows.suite_table(report)
    body = [[suite, *(str(count or "") for count in counts), str(cells)] for suite, counts, cells in rows]
    return markdown_table(["suite", *(_rows.SHORT[verdict] for verdict in seen), "cells"], body, numbers=len(seen) + 1)


def _behaviour(report: dict[str, Any]) -> Iterable[str]:
    for role, keys in _rows.BEHAVIOUR_KEYS.items():
        groups = _rows.behaviour_groups(report, role)
        if not groups:
            continue
        body = [
            [
                *(", ".join(_rows.different(rows, key)) for key in keys),
                _rows.steps_text(rows[0]["expected"]),
                _rows.steps_text(rows[0]["observed"]),
                rows[0]["verdict"],
            ]
            for rows in groups
        ]
        yield f"### Availability on the {role} (compile/execute)"
        yield markdown_table([*keys, "expected", "observed", "verdict"], body)


def _failures(report: dict[str, Any]) -> Iterable[str]:
    failing = _rows.failing(report)
    if not failing:
        return
    groups = _rows.failure_groups(failing)
    body = [
        [
            rows[0]["clause"],
            rows[0]["verdict"],
            rows[0]["phase"],
            str(len(rows)),
            _rows.where(rows[0]),
            rows[0]["message"],
        ]
        for rows in groups[:_MOST_FAILURES]
    ]
    yield f"### Failures ({len(failing)} of {report['plan']['cells']} cells)"
    yield markdown_table(["clause", "verdict", "phase", "cells", "first cell", "first message"], body)
    if len(groups) > _MOST_FAILURES:
        yield f"... and {len(groups) - _MOST_FAILURES} more such rows: report.json has them all."


def _operators(report: dict[str, Any]) -> Iterable[str]:
    table = report.get("operators")
    if table is None:
        return
    headers, body = operators.counts(table)
    yield "### Operators"
    yield escape(operators.headline(table))
    yield markdown_table(headers, body, numbers=len(headers) - 1)
    groups = operators.groups(table["rows"])
    if groups:
        told = [
            [outcome, operator, ", ".join(dtypes), operators.errors_text(row), row["message"]]
            for outcome, operator, dtypes, row in groups[:_MOST_OPERATORS]
        ]
        yield markdown_table(["outcome", "operator", "dtypes", "errors in the first", "message of the first"], told)
    if len(groups) > _MOST_OPERATORS:
        yield f"... and {len(groups) - _MOST_OPERATORS} more operators: report.json has them all."


def _flaky(report: dict[str, Any]) -> Iterable[str]:
    flaky = [row for row in report["cells"] if row.get("attempts")]
    return _list("Flaky", [f"{row['id']}: {text}" for row in flaky for text in _rows.attempts(row)])


def _known(report: dict[str, Any]) -> Iterable[str]:
    groups = _rows.known(report)
    if not groups:
        return
    body = [
        [
            rows[0]["clause"],
            rows[0]["verdict"],
            rows[0]["phase"],
            str(len(rows)),
            _rows.where(rows[0]),
            *(str(rows[0]["expectation"].get(name, "")) for name in ("reason", "issue", "owner", "expires")),
        ]
        for rows in groups[:_MOST_FAILURES]
    ]
    yield f"### Known failures ({sum(map(len, groups))} of {report['plan']['cells']} cells)"
    yield markdown_table(
        ["clause", "verdict", "phase", "cells", "first cell", "reason", "issue", "owner", "expires"], body
    )
    if len(groups) > _MOST_FAILURES:
        yield f"... and {len(groups) - _MOST_FAILURES} more such rows: report.json has them all."


def _missing_features(report: dict[str, Any]) -> list[str]:
    return [f"{name}: {reason}" for name, reason in report["backend"]["features"]["missing"].items()]


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
