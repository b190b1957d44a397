"""A report as text for a terminal: the tables that a person needs, at any width from 60 columns up."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
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
#: Failures of one clause with the same phase and message are one row, with this many case names.
_CASES_SHOWN = 3


def summary_text(report: dict[str, Any], width: int, *, verbosity: int = 0) -> str:
    """The whole summary of one backend. ``verbosity``: below 0 only suites and level, above 0 every failing cell."""
    parts = [_headline(report), _suites(report)]
    if verbosity >= 0:
        parts += [*_availability(report, width), _notes(report, width)]
    parts += [_failures(report, width, every=verbosity > 0), level_text(report, width)]
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
        names = [[_list_of(rows, key) for key in keys] for rows in groups.values()]
        taken = sum(max(_longest_line(row[index]) for row in [*names, list(keys)]) + 2 for index in range(len(keys))) + 11
        column = max(14, (width - taken) // 2)
        body = [
            [*name, _steps(rows[0]["expected"], column), _steps(rows[0]["observed"], column), rows[0]["verdict"]]
            for name, rows in zip(names, groups.values(), strict=True)
        ]
        heading = f"Availability on the {role} (compile/execute)"
        yield heading + "\n" + tabulate(body, headers=[*keys, "expected", "observed", "verdict"], tablefmt=_FORMAT)
    unreached = sorted({row["message"] for row in report["cells"] if row["verdict"] == "NOT_EXERCISED"})
    if unreached:
        yield "\n".join(["Not exercised", *(_bullet(text, width) for text in unreached)])


def _longest_line(text: str) -> int:
    return max(map(len, text.splitlines()))


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
        key = (row["clause"], row["verdict"], row["phase"], "" if every else row["message"])
        groups.setdefault((*key, row["id"]) if every else key, []).append(row)
    lines = [f"Failures ({len(failing)} cells)"]
    for rows in groups.values():
        lines += _failure(rows, width)
    return "\n".join(lines)


def _failure(rows: Sequence[dict[str, Any]], width: int) -> list[str]:
    first = rows[0]
    phase = f" in {first['phase']}" if first["phase"] else ""
    where = [row["id"][len(row["clause"]) :] for row in rows]
    more = f" and {len(where) - _CASES_SHOWN} more" if len(where) > _CASES_SHOWN else ""
    head = f"{first['clause']}: {first['verdict']}{phase} {' '.join(where[:_CASES_SHOWN])}{more}"
    message = textwrap.shorten(first["message"], 4 * width)
    return [
        *textwrap.wrap(head, width, initial_indent="  ", subsequent_indent="      "),
        *textwrap.wrap(message, width, initial_indent="      ", subsequent_indent="      "),
    ]


def backends_table(rows: Sequence[Sequence[str]], width: int) -> str:
    """The table of ``--list-backends``: name, toolchain, distribution, usable or why not."""
    headers = ["backend", "toolchain", "distribution", "usable here"]
    widths = [max(len(str(row[index])) for row in [*rows, headers]) for index in range(3)]
    last = max(20, width - sum(widths) - 6)
    body = [[*row[:3], "\n".join(textwrap.wrap(row[3], last))] for row in rows]
    return tabulate(body, headers=headers, tablefmt=_FORMAT)
