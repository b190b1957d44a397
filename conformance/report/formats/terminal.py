"""A report as text for a terminal: the tables that a person needs, at any width from 60 columns up."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tabulate import tabulate

from conformance.report import _rows, operators

_FORMAT = "simple"
#: Columns of the behaviour tables are not made narrower than this.
_NARROWEST = 14
#: Failures of one clause with the same verdict and phase are told once, with this many of their cells by name.
_CELLS_SHOWN = 3
#: So many operators that are not right are told, unless every one is asked for.
_OPERATORS_SHOWN = 10


def summary_text(report: dict[str, Any], width: int, *, verbosity: int = 0) -> str:
    """The whole summary of one backend. ``verbosity``: below 0 only suites and level, above 0 every failing cell."""
    parts = [textwrap.fill(_rows.headline(report), width), _suites(report)]
    if verbosity >= 0:
        parts += [*_availability(report, width), _notes(report, width)]
    parts += [_operators(report, width, every=verbosity > 0)]
    parts += [_known(report, width, every=verbosity > 0), _failures(report, width, every=verbosity > 0)]
    if verbosity >= 0:
        parts.append(textwrap.fill(_rows.selftest_line(report), width))
    parts.append(level_text(report, width))
    return "\n\n".join(part for part in parts if part)


def level_text(report: dict[str, Any], width: int) -> str:
    """What was reached, and what is missing."""
    missing = report["certification"]["missing"]
    lines = [line] if (line := _rows.incomplete_line(report)) else []
    if not missing:
        return "\n".join([*lines, _rows.level_line(report)])
    lines.append(f"{_rows.level_line(report)} Missing:")
    shown = missing[:12]
    for sentence in shown:
        lines.append(_bullet(sentence, width))
    if len(missing) > len(shown):
        lines.append(f"  ... and {len(missing) - len(shown)} more")
    return "\n".join(lines)


def _suites(report: dict[str, Any]) -> str:
    seen, rows = _rows.suite_table(report)
    body = [[suite, *(count or "" for count in counts), cells] for suite, counts, cells in rows]
    return tabulate(body, headers=["suite", *(_rows.SHORT[verdict] for verdict in seen), "cells"], tablefmt=_FORMAT)


def _availability(report: dict[str, Any], width: int) -> Iterator[str]:
    """The behaviour tables; rows that differ only by host or runtime are one."""
    for role, keys in _rows.BEHAVIOUR_KEYS.items():
        groups = _rows.behaviour_groups(report, role)
        if not groups:
            continue
        table = _behaviour_table(groups, keys, column := width // 2)
        while column > _NARROWEST and max(map(len, table.splitlines())) > width:
            table = _behaviour_table(groups, keys, column := column - 1)
        yield f"Availability on the {role} (compile/execute)\n{table}"
    if unreached := _rows.not_exercised(report):
        yield "\n".join(["Not exercised", *(_bullet(text, width) for text in unreached)])


def _behaviour_table(groups: Iterable[list[dict[str, Any]]], keys: Sequence[str], column: int) -> str:
    body = [
        [
            *("\n".join(_rows.different(rows, key)) for key in keys),
            _steps(rows[0]["expected"], column),
            _steps(rows[0]["observed"], column),
            rows[0]["verdict"],
        ]
        for rows in groups
    ]
    return tabulate(body, headers=[*keys, "expected", "observed", "verdict"], tablefmt=_FORMAT)


def _steps(steps: dict[str, str], width: int) -> str:
    return "\n".join(line for text in _rows.group_texts(steps) for line in textwrap.wrap(text, width))


def _notes(report: dict[str, Any], width: int) -> str:
    notes = _rows.notes(report)
    if not notes:
        return ""
    return "\n".join(["Notes", *(_bullet(note, width) for note in notes)])


def _bullet(text: str, width: int) -> str:
    return textwrap.fill(text, width, initial_indent="  - ", subsequent_indent="    ")


def _operators(report: dict[str, Any], width: int, *, every: bool) -> str:
    table = report.get("operators")
    if table is None:
        return ""
    headers, body = operators.counts(table)
    parts = [textwrap.fill(operators.headline(table), width), tabulate(body, headers=headers, tablefmt=_FORMAT)]
    groups = operators.groups(table["rows"])
    for outcome, operator, dtypes, row in groups if every else groups[:_OPERATORS_SHOWN]:
        errors = f" ({found})" if (found := operators.errors_text(row)) else ""
        parts += textwrap.wrap(f"{outcome} {operator}: {', '.join(dtypes)}", width, **_hanging(2))
        parts += textwrap.wrap(textwrap.shorten(row["message"] + errors, 3 * width), width, **_hanging(6))
    if len(groups) > _OPERATORS_SHOWN and not every:
        parts.append(f"  ... and {len(groups) - _OPERATORS_SHOWN} more: conformance operators REPORT shows all")
    return "\n".join(parts)


def _hanging(indent: int) -> dict[str, Any]:
    return {"initial_indent": " " * indent, "subsequent_indent": " " * 6}


def _known(report: dict[str, Any], width: int, *, every: bool) -> str:
    """How many failures are known; and which and why, if ``every``."""
    groups = _rows.known(report)
    if not groups:
        return ""
    cells, entries = sum(map(len, groups)), len({rows[0]["expectation"].get("number") for rows in groups})
    lines = [f"Known failures ({_counted(cells, 'cell')}, {_counted(entries, 'expectation')})"]
    for rows in groups if every else ():
        expectation = rows[0]["expectation"]
        more = ", ".join(str(expectation[name]) for name in ("issue", "owner", "expires") if name in expectation)
        text = f"{expectation.get('reason', '')}{f' ({more})' if more else ''}"
        lines += [
            *textwrap.wrap(_head(rows), width, initial_indent="  ", subsequent_indent="      "),
            *textwrap.wrap(text, width, initial_indent="      ", subsequent_indent="      "),
        ]
    return "\n".join(lines)


def _counted(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"


def _failures(report: dict[str, Any], width: int, *, every: bool) -> str:
    failing = _rows.failing(report)
    if not failing:
        return ""
    lines = [f"Failures ({_counted(len(failing), 'cell')})"]
    for rows in _rows.failure_groups(failing, every=every):
        lines += _failure(rows, width)
    return "\n".join(lines)


def _failure(rows: Sequence[dict[str, Any]], width: int) -> list[str]:
    told = _rows.attempts(rows[0]) or [rows[0]["message"]]
    return [
        *textwrap.wrap(_head(rows), width, initial_indent="  ", subsequent_indent="      "),
        *(
            line
            for text in told
            for line in textwrap.wrap(
                textwrap.shorten(text, 3 * width), width, initial_indent="      ", subsequent_indent="      "
            )
        ),
    ]


def _head(rows: Sequence[dict[str, Any]]) -> str:
    first = rows[0]
    phase = f" in {first['phase']}" if first["phase"] else ""
    where = [_rows.where(row) for row in rows]
    more = f" and {len(where) - _CELLS_SHOWN} more" if len(where) > _CELLS_SHOWN else ""
    return f"{first['clause']}: {first['verdict']}{phase} {' '.join(where[:_CELLS_SHOWN])}{more}"


def backends_text(rows: Sequence[tuple[str, str, str, str]], width: int) -> str:
    """What ``--list-backends`` prints for rows of name, toolchain, distribution, and why it is not usable, if so."""
    headers = ("backend", "toolchain", "usable", "distribution")
    taken = max(len(row[0]) for row in rows) + max(len(row[1]) for row in rows) + len("usable") + 8
    body = [
        (name, toolchain, "no" if problem else "yes", textwrap.fill(distribution, max(_NARROWEST, width - taken)))
        for name, toolchain, distribution, problem in rows
    ]
    problems = [_bullet(f"{name} cannot be used here: {problem}", width) for name, _, _, problem in rows if problem]
    return "\n".join([tabulate(body, headers=headers, tablefmt=_FORMAT), *(["", *problems] if problems else [])])
