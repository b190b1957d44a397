"""A report as text for a terminal: the tables that a person needs, at any width from 60 columns up."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tabulate import tabulate

from conformance.verdict import Verdict

_SHORT = {
    Verdict.PASS: "pass",
    Verdict.FAIL: "fail",
    Verdict.CRASH: "crash",
    Verdict.TIMEOUT: "timeout",
    Verdict.UNSUPPORTED: "unsup.",
    Verdict.NOT_APPLICABLE: "n/a",
    Verdict.NOT_EXERCISED: "not ex.",
    Verdict.XFAIL: "xfail",
    Verdict.XPASS: "xpass",
    Verdict.XFAIL_MISMATCH: "mismatch",
    Verdict.FLAKY: "flaky",
    Verdict.HARNESS_ERROR: "harness",
    Verdict.LOST: "lost",
}
_FORMAT = "simple"
#: Columns of the behaviour tables are not made narrower than this.
_NARROWEST = 14
#: Failures of one clause with the same verdict and phase are told once, with this many of their cells by name.
_CELLS_SHOWN = 3


def summary_text(report: dict[str, Any], width: int, *, verbosity: int = 0) -> str:
    """The whole summary of one backend. ``verbosity``: below 0 only suites and level, above 0 every failing cell."""
    parts = [textwrap.fill(_headline(report), width), _suites(report)]
    if verbosity >= 0:
        parts += [*_availability(report, width), _notes(report, width)]
    parts += [_failures(report, width, every=verbosity > 0)]
    if verbosity >= 0:
        parts.append(textwrap.fill(_selftest(report), width))
    parts.append(level_text(report, width))
    return "\n\n".join(part for part in parts if part)


def level_text(report: dict[str, Any], width: int) -> str:
    """What was reached, and what is missing."""
    certification, run = report["certification"], report["run"]
    lines = []
    if not run["complete"]:
        lost = report["summary"]["verdicts"].get(Verdict.LOST.value, 0)
        lines.append(f"INCOMPLETE: {lost} of {report['plan']['cells']} planned cells never came back.")
    achieved = certification["achieved"] or "none"
    if not certification["missing"]:
        lines.append(f"Level {certification['level']}: reached.")
        return "\n".join(lines)
    known = " (known failures only)" if certification["excused"] else ""
    lines.append(f"Level {certification['level']}: NOT reached{known}. Highest level reached: {achieved}. Missing:")
    shown = certification["missing"][:12]
    for sentence in shown:
        lines.append(_bullet(sentence, width))
    if len(certification["missing"]) > len(shown):
        lines.append(f"  ... and {len(certification['missing']) - len(shown)} more")
    return "\n".join(lines)


def _headline(report: dict[str, Any]) -> str:
    backend, environment = report["backend"], report["environment"]
    version = f" {backend['version']}" if backend["version"] else ""
    distribution = f" ({backend['distribution']}{version})" if backend["distribution"] else ""
    return (
        f"{backend['name']}{distribution}: {backend['toolchain']}, torch {environment['torch']}, "
        f"{environment['platform']}, seed {report['run']['seed']}"
    )


def _selftest(report: dict[str, Any]) -> str:
    score = report["harness"].get("selftest")
    if score is None:
        return "Self-test of the harness: not run on this torch and platform (conformance selftest)."
    return (
        f"Self-test of the harness: {score['caught']} of {score['saboteurs']} saboteurs caught, "
        "on this torch and platform."
    )


def _suites(report: dict[str, Any]) -> str:
    seen = [verdict for verdict in Verdict if report["summary"]["verdicts"].get(verdict.value)]
    rows = [
        [suite, *(counts.get(verdict.value, "") for verdict in seen), sum(counts.values())]
        for suite, counts in report["summary"]["suites"].items()
    ]
    rows.append(["all", *(report["summary"]["verdicts"][verdict.value] for verdict in seen), report["plan"]["cells"]])
    return tabulate(rows, headers=["suite", *(_SHORT[verdict] for verdict in seen), "cells"], tablefmt=_FORMAT)


def _availability(report: dict[str, Any], width: int) -> Iterator[str]:
    """The behaviour tables; rows that differ only by host or runtime are one."""
    tables = {"host": ("host",), "target": ("target", "host", "runtime")}
    for role, keys in tables.items():
        groups: dict[str, list[dict[str, Any]]] = {}
        for row in report["availability"][role]:
            alike = {key: value for key, value in row.items() if key not in ("cell", "runtime", *keys[1:])}
            groups.setdefault(repr(alike), []).append(row)
        if not groups:
            continue
        table = _behaviour_table(groups.values(), keys, column := width // 2)
        while column > _NARROWEST and max(map(len, table.splitlines())) > width:
            table = _behaviour_table(groups.values(), keys, column := column - 1)
        yield f"Availability on the {role} (compile/execute)\n{table}"
    unreached = sorted({row["message"] for row in report["cells"] if row["verdict"] == "NOT_EXERCISED"})
    if unreached:
        yield "\n".join(["Not exercised", *(_bullet(text, width) for text in unreached)])


def _behaviour_table(groups: Iterable[list[dict[str, Any]]], keys: Sequence[str], column: int) -> str:
    body = [
        [
            *(_list_of(rows, key) for key in keys),
            _steps(rows[0]["expected"], column),
            _steps(rows[0]["observed"], column),
            rows[0]["verdict"],
        ]
        for rows in groups
    ]
    return tabulate(body, headers=[*keys, "expected", "observed", "verdict"], tablefmt=_FORMAT)


def _list_of(rows: Sequence[dict[str, Any]], key: str) -> str:
    return "\n".join(dict.fromkeys(row[key] for row in rows))


def _steps(steps: dict[str, str], width: int) -> str:
    return "\n".join(textwrap.wrap(", ".join(f"{step} {result}" for step, result in steps.items()), width))


def _notes(report: dict[str, Any], width: int) -> str:
    notes = dict.fromkeys(note for row in report["cells"] for note in row.get("notes", ()))
    if not notes:
        return ""
    return "\n".join(["Notes", *(_bullet(note, width) for note in notes)])


def _bullet(text: str, width: int) -> str:
    return textwrap.fill(text, width, initial_indent="  - ", subsequent_indent="    ")


def _failures(report: dict[str, Any], width: int, *, every: bool) -> str:
    failing = [row for row in report["cells"] if Verdict(row["verdict"]).fails]
    if not failing:
        return ""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in failing:
        key = (row["clause"], row["verdict"], row["phase"])
        groups.setdefault((*key, row["id"]) if every else key, []).append(row)
    lines = [f"Failures ({len(failing)} cell{'s' if len(failing) > 1 else ''})"]
    for rows in groups.values():
        lines += _failure(rows, width)
    return "\n".join(lines)


def _failure(rows: Sequence[dict[str, Any]], width: int) -> list[str]:
    first = rows[0]
    phase = f" in {first['phase']}" if first["phase"] else ""
    where = [row["id"][len(row["clause"]) :] for row in rows]
    more = f" and {len(where) - _CELLS_SHOWN} more" if len(where) > _CELLS_SHOWN else ""
    head = f"{first['clause']}: {first['verdict']}{phase} {' '.join(where[:_CELLS_SHOWN])}{more}"
    message = textwrap.shorten(first["message"], 3 * width)
    return [
        *textwrap.wrap(head, width, initial_indent="  ", subsequent_indent="      "),
        *textwrap.wrap(message, width, initial_indent="      ", subsequent_indent="      "),
    ]


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
