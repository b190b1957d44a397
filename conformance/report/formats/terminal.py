"""A report as text for a terminal: the tables that a person needs, at any width from 60 columns up."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

from conformance.report.formats.causes_text import causes_text
from conformance.report.generated import GeneratedView
from conformance.report.operators import OperatorSummary
from conformance.report.row_model import CellRow, Steps
from conformance.report.view import (
    SHORT,
    BehaviourTable,
    KnownGroup,
    ReportView,
    SuiteTable,
    attempt_lines,
    expectation_texts,
    failure_groups,
    place_of,
    step_lines,
    view_of,
)

_FORMAT = "simple"
#: Columns of the behaviour tables are not made narrower than this.
_NARROWEST = 14
#: Failures of one clause with the same verdict and phase are shown once, with this many of their cells by name.
_CELLS_SHOWN = 3
#: So many sentences on what is missing are shown.
_SENTENCES_SHOWN = 12
#: So many operators that are not right are shown, unless every one is asked for.
_OPERATORS_SHOWN = 10
#: So many findings of generated cells, unless every one is asked for; and so many values of an axis that were
#: never met.
_FINDINGS_SHOWN = 5
_NEVER_SHOWN = 3


def summary_text(report: dict[str, Any], width: int, *, verbosity: int = 0, folder: Path | None = None) -> str:
    """The whole summary of one backend: what is wrong, then what there was.

    ``verbosity``: below 0 only suites, failures and level, above 0 every cause and failing cell. ``folder`` is where
    the report lies, with its reproducers.
    """
    view, every = view_of(report), verbosity > 0
    parts = [textwrap.fill(view.headline, width)]
    if verbosity >= 0:
        parts.append(causes_text(view, width, folder or Path(), every=every))
    parts.append(_suites(view.suites))
    if verbosity >= 0:
        parts += [*_availability(view, width), _list("Notes", view.notes, width)]
    parts += [_operators(view.operators, width, every=every) if view.operators else ""]
    parts += [_generated(view.generated, width, verbosity) if view.generated else ""]
    parts += [_known(view.known, width, every=every), _failures(view, width, every=every, messages=verbosity != 0)]
    if verbosity >= 0:
        parts.append(textwrap.fill(view.selftest, width))
    parts.append(_level(view, width))
    return "\n\n".join(part for part in parts if part)


def _level(view: ReportView, width: int) -> str:
    """What was reached, and what is missing."""
    missing = view.report.certification.missing
    lines = [textwrap.fill(view.incomplete, width)] if view.incomplete else []
    if not missing or view.report.plan.deselected:
        return "\n".join([*lines, view.level])
    lines.append(f"{view.level} Missing:")
    shown = missing[:_SENTENCES_SHOWN]
    lines += [_bullet(sentence, width) for sentence in shown]
    if len(missing) > len(shown):
        lines.append(f"  ... and {len(missing) - len(shown)} more")
    return "\n".join(lines)


def _suites(table: SuiteTable) -> str:
    body = [[line.name, *(count or "" for count in line.counts), line.cells] for line in table.lines]
    return tabulate(body, headers=["suite", *(SHORT[verdict] for verdict in table.verdicts), "cells"], tablefmt=_FORMAT)


def _availability(view: ReportView, width: int) -> Iterator[str]:
    for each in view.behaviour:
        if not each.lines:
            continue
        table = _behaviour_table(each, column := width // 2)
        while column > _NARROWEST and max(map(len, table.splitlines())) > width:
            table = _behaviour_table(each, column := column - 1)
        yield f"Availability on the {each.role} (compile/execute)\n{table}"
    yield _list("Not exercised", view.not_exercised, width)


def _behaviour_table(table: BehaviourTable, column: int) -> str:
    body = [
        [
            *("\n".join(values) for values in line.columns),
            _steps(line.expected, column),
            _steps(line.observed, column),
            line.verdict.value,
        ]
        for line in table.lines
    ]
    return tabulate(body, headers=[*table.headers, "expected", "observed", "verdict"], tablefmt=_FORMAT)


def _steps(steps: Steps, width: int) -> str:
    return "\n".join(line for text in step_lines(steps) for line in textwrap.wrap(text, width))


def _list(heading: str, sentences: Sequence[str], width: int) -> str:
    return "\n".join([heading, *(_bullet(text, width) for text in sentences)]) if sentences else ""


def _bullet(text: str, width: int) -> str:
    return textwrap.fill(text, width, initial_indent="  - ", subsequent_indent="    ")


def _operators(summary: OperatorSummary, width: int, *, every: bool) -> str:
    table = tabulate(summary.lines, headers=summary.headers, tablefmt=_FORMAT)
    parts = [textwrap.fill(summary.headline, width), table]
    for group in summary.groups if every else summary.groups[:_OPERATORS_SHOWN]:
        errors = f" ({group.errors})" if group.errors else ""
        dtypes = ", ".join(group.dtypes)
        parts += _hanging(f"{group.outcome.value} {group.operator}: {dtypes}", width, 2)
        parts += _hanging(textwrap.shorten(group.message + errors, 3 * width), width, 6)
    if len(summary.groups) > _OPERATORS_SHOWN and not every:
        parts.append(f"  ... and {len(summary.groups) - _OPERATORS_SHOWN} more: conformance operators REPORT shows all")
    return "\n".join(parts)


def _generated(view: GeneratedView, width: int, verbosity: int) -> str:
    """What generated cells tried in a few lines, and what they found; every finding where that is asked for."""
    parts = [textwrap.fill(view.headline, width)]
    if verbosity >= 0:
        parts += _hanging(view.aside, width, 2)
        parts += _hanging(f"{view.values_line}; {view.pairs_line}", width, 2)
        shown = [
            f"{axis.name} {', '.join(axis.never if verbosity > 0 else _some(axis.never, _NEVER_SHOWN))}"
            for axis in view.axes
            if axis.never
        ]
        parts += _hanging(f"never met: {'; '.join(shown)}", width, 2) if shown else []
    for found in view.found if verbosity > 0 else view.found[:_FINDINGS_SHOWN]:
        finding = found.finding
        cause = textwrap.shorten(finding.cause, 2 * width)
        parts += _hanging(f"{finding.verdict.value} {cause} ({_counted(found.count, 'time')})", width, 2)
        parts += _hanging(textwrap.shorten(finding.message, 3 * width), width, 6)
    if view.found and verbosity <= 0:
        more = len(view.found) - _FINDINGS_SHOWN
        parts.append(f"  {f'... and {more} causes more; ' if more > 0 else ''}report.html has the program of each")
    return "\n".join(parts)


def _some(names: Sequence[str], most: int) -> list[str]:
    return [*names[:most], *([f"{len(names) - most} more"] if len(names) > most else [])]


def _hanging(text: str, width: int, indent: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=" " * indent, subsequent_indent=" " * 6)


def _known(groups: Sequence[KnownGroup], width: int, *, every: bool) -> str:
    """How many failures are known; and which and why, if ``every``."""
    if not groups:
        return ""
    cells, entries = sum(len(group.cells) for group in groups), len({group.expectation.number for group in groups})
    lines = [f"Known failures ({_counted(cells, 'cell')}, {_counted(entries, 'expectation')})"]
    for group in groups if every else ():
        more = ", ".join(map(str, expectation_texts(group.expectation, ("issue", "owner", "expires")).values()))
        lines += _hanging(_head(group.cells), width, 2)
        lines += _hanging(f"{group.expectation.reason or ''}{f' ({more})' if more else ''}", width, 6)
    return "\n".join(lines)


def _counted(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"


def _failures(view: ReportView, width: int, *, every: bool, messages: bool) -> str:
    """The cells that fail, ``every`` one or by clause; with ``messages`` where no cause has told these."""
    if not view.failing:
        return ""
    groups = failure_groups(view.report, view.failing, every=True) if every else view.failures
    lines = [f"Failures ({_counted(len(view.failing), 'cell')})"]
    for group in groups:
        first = group.cells[0]
        lines += _hanging(_head(group.cells), width, 2)
        for text in attempt_lines(first) or [first.message] if messages else ():
            lines += _hanging(textwrap.shorten(text, 3 * width), width, 6)
    return "\n".join(lines)


def _head(cells: Sequence[CellRow]) -> str:
    first = cells[0]
    phase = f" in {first.phase}" if first.phase else ""
    places = [place_of(row) for row in cells]
    more = f" and {len(places) - _CELLS_SHOWN} more" if len(places) > _CELLS_SHOWN else ""
    return f"{first.clause}: {first.verdict.value}{phase} {' '.join(places[:_CELLS_SHOWN])}{more}"
