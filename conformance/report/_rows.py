"""What every face of a report shows alike: which rows belong together, and the sentences about the whole."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from conformance.api.verdicts import Verdict, row_fails

#: A row of a report, as its JSON has it.
Row = dict[str, Any]

SHORT = {
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
#: The columns that name a row of a behaviour table. Rows that differ only in what follows the first are shown as one.
BEHAVIOUR_KEYS = {"host": ("host",), "target": ("target", "host", "runtime")}


def is_about_an_operator(row: Mapping[str, Any]) -> bool:
    """Whether a cell is one of the operator table, which is shown by the table's own rows."""
    return str(row["suite"]) == "operators"


def headline(report: Row) -> str:
    """What was tested, in a line."""
    backend, environment = report["backend"], report["environment"]
    version = f" {backend['version']}" if backend["version"] else ""
    distribution = f" ({backend['distribution']}{version})" if backend["distribution"] else ""
    target = report.get("target", {}).get("spec", "local")
    elsewhere = "" if target == "local" else f"target {target}, "
    options = f", options {json.dumps(backend['options'])}" if backend.get("options") else ""
    return (
        f"{backend['name']}{distribution}: {backend['toolchain']}{options}, {elsewhere}"
        f"torch {environment.get('torch', 'unknown')}, "
        f"{environment.get('platform', 'platform unknown')}, seed {report['run']['seed']}"
    )


def incomplete_line(report: Row) -> str:
    """That planned cells are missing, or nothing."""
    if report["run"]["complete"]:
        return ""
    lost = report["summary"]["verdicts"].get(Verdict.LOST.value, 0)
    return f"INCOMPLETE: {lost} of {report['plan']['cells']} planned cells never came back."


def level_line(report: Row) -> str:
    """Whether the level was reached, and otherwise which one was."""
    certification = report["certification"]
    if not certification["missing"]:
        return f"Level {certification['level']}: reached."
    known = " (known failures only)" if certification["excused"] else ""
    achieved = certification["achieved"] or "none"
    return f"Level {certification['level']}: NOT reached{known}. Highest level reached: {achieved}."


def selftest_line(report: Row) -> str:
    """How the harness did in its own test."""
    score = report["harness"].get("selftest")
    if score is None:
        return "Self-test of the harness: not run on this torch and platform (conformance selftest)."
    return (
        f"Self-test of the harness: {score['caught']} of {score['saboteurs']} saboteurs caught, "
        "on this torch and platform."
    )


def suite_table(report: Row) -> tuple[list[Verdict], list[tuple[str, list[int], int]]]:
    """The verdicts that occur; and for each suite, and for all, its count of each and its cells."""
    counted = report["summary"]["verdicts"]
    seen = [verdict for verdict in Verdict if counted.get(verdict.value)]
    rows = [
        (suite, [counts.get(verdict.value, 0) for verdict in seen], sum(counts.values()))
        for suite, counts in report["summary"]["suites"].items()
    ]
    return seen, [*rows, ("all", [counted[verdict.value] for verdict in seen], report["plan"]["cells"])]


def behaviour_groups(report: Row, role: str) -> list[list[Row]]:
    """The rows of the table of ``role``, host or target; those that differ only by host or runtime are one."""
    apart = ("cell", "runtime", *BEHAVIOUR_KEYS[role][1:])
    groups: dict[str, list[Row]] = {}
    for row in report["availability"][role]:
        alike = {key: value for key, value in row.items() if key not in apart}
        groups.setdefault(repr(alike), []).append(row)
    return list(groups.values())


def why_no_behaviour(report: Row, role: str) -> str:
    """Why the table of ``role`` is empty, in the words of the clauses that fill it (``availability.host``, for one)."""
    reasons = (row["message"] for row in report["cells"] if row["clause"].endswith(f".{role}") and row["message"])
    return "; ".join(dict.fromkeys(reasons)) or "no clause of this run has measured it"


def different(rows: Iterable[Row], key: str) -> list[str]:
    """The values that ``rows`` have for ``key``, each once."""
    return list(dict.fromkeys(row[key] for row in rows))


def step_groups(steps: Mapping[str, str]) -> list[tuple[str, dict[str, str]]]:
    """The steps of a behaviour, those together that have the same words before their last colon: these words, and the
    full names of the steps with what came of each."""
    groups: dict[str, dict[str, str]] = {}
    for step, result in steps.items():
        groups.setdefault(step.rpartition(": ")[0], {})[step] = result
    return list(groups.items())


def group_texts(steps: Mapping[str, str]) -> list[str]:
    """A behaviour as a line for each of its groups of steps."""
    return [
        (f"{group}: " if group else "")
        + ", ".join(f"{step.removeprefix(f'{group}: ')} {result}" for step, result in found.items())
        for group, found in step_groups(steps)
    ]


def steps_text(steps: Mapping[str, str]) -> str:
    """A behaviour as one line."""
    return "; ".join(group_texts(steps))


def not_exercised(report: Row) -> list[str]:
    """Why states were not tried, each reason once."""
    return sorted({row["message"] for row in report["cells"] if row["verdict"] == Verdict.NOT_EXERCISED.value})


def notes(report: Row) -> list[str]:
    """The remarks of all clauses, each once."""
    return list(dict.fromkeys(note for row in report["cells"] for note in row.get("notes", ())))


def failing(report: Row) -> list[Row]:
    """The cells with which a run cannot succeed."""
    return [row for row in report["cells"] if row_fails(row)]


def known(report: Row) -> list[list[Row]]:
    """The cells that an expectation spoke of and that do not fail the run, those of one entry together."""
    groups: dict[str, list[Row]] = {}
    for row in report["cells"]:
        if "expectation" in row and not row_fails(row):
            kept = {name: value for name, value in row["expectation"].items() if name not in ("found", "message")}
            groups.setdefault(repr((row["verdict"], kept)), []).append(row)
    return list(groups.values())


def attempts(row: Row) -> list[str]:
    """What each attempt of a flaky cell came to, a line each."""
    return [
        f"attempt {number}: {each['verdict']}{' in ' + each['phase'] if each['phase'] else ''}"
        f"{': ' + each['message'] if each['message'] else ''}"
        for number, each in enumerate(row.get("attempts", ()), start=1)
    ]


def failure_group(row: Row) -> tuple[str, ...]:
    """What failures have in common that are told once."""
    return row["clause"], row["verdict"], row["phase"]


def failure_groups(rows: Iterable[Row], *, every: bool = False) -> list[list[Row]]:
    """Failures of one clause with the same verdict and phase are told once; each by itself if ``every``."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        key = failure_group(row)
        groups.setdefault((*key, row["id"]) if every else key, []).append(row)
    return list(groups.values())


def where(row: Row) -> str:
    """The id of a cell without its clause: ``[add-full-yes/yes]``."""
    return str(row["id"])[len(row["clause"]) :]
