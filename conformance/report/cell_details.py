"""What the page shows of single cells beyond their verdicts: what a failure left behind, known failures, margins."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import shlex
from typing import Any

from conformance.api.verdicts import Verdict
from conformance.report.anchors import cell_anchor
from conformance.report.model import Report
from conformance.report.parts import as_json
from conformance.report.row_model import Attempt, CellRow, ClauseRow
from conformance.report.view import ReportView, expectation_texts, place_of, steps_text

#: A relative path whose parts begin with a letter, a digit or _: none is "..", a scheme, an option or the root.
_RELATIVE_PATH = re.compile(r"[A-Za-z0-9_][\w.\[\]+=,@-]*(?:/[A-Za-z0-9_][\w.\[\]+=,@-]*)*", re.ASCII)
_LONGEST_PATH = 300
_TIGHTEST = 8
_RECORDED = ("reason", "issue", "owner", "since", "expires")
#: What a process printed is cut there, in a page that a browser must open.
_LONGEST_OUTPUT = 20_000
_OUTPUTS = ("text", "stack", "stdout", "stderr")


@dataclasses.dataclass(frozen=True)
class Script:
    """A reproducer beside the report: the command that runs it, its path below the report's folder, and its text."""

    command: str
    path: str
    text: str = ""


@dataclasses.dataclass(frozen=True)
class Output:
    """Something that a failure left behind, and how many characters of it are not shown."""

    name: str
    text: str
    left_out: int


@dataclasses.dataclass(frozen=True)
class FailureDetails:
    """A cell that failed. ``anchor`` is its place in the page."""

    id: str
    anchor: str
    place: str
    message: str
    facts: tuple[tuple[str, str], ...]
    outputs: tuple[Output, ...]
    attempts: tuple[Attempt, ...]
    script: Script | None
    #: The ids of what is wrong there.
    causes: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class FailureSection:
    """Failures of one clause with one verdict in one phase."""

    clause: ClauseRow
    verdict: Verdict
    phase: str
    failures: tuple[FailureDetails, ...]


@dataclasses.dataclass(frozen=True)
class KnownFailure:
    """A cell with a recorded expectation; what was not recorded is empty."""

    cell: str
    verdict: Verdict
    recorded: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class TightMargin:
    """A cell that used much of its tolerance. ``used`` is a share of it: 1 is all."""

    cell: str
    used: float
    absolute: str
    dtype: str
    comparisons: str


def plain(value: Any) -> str:
    """A value of a report in a line."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {plain(each)}" for name, each in value.items() if each != "")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def number(value: Any) -> float | None:
    """The value if it is a finite number, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def script_of(row: CellRow) -> Script | None:
    """The script that reproduces a failure, if the row names one by a relative path that stays below the report."""
    script = row.reproducer.script if row.reproducer else ""
    if len(script) > _LONGEST_PATH or not _RELATIVE_PATH.fullmatch(script):
        return None
    return Script(f"python {shlex.quote(script)}", script)


def failure_sections(view: ReportView) -> list[FailureSection]:
    """The failures of a report, together where clause, verdict and phase are the same."""
    causes: dict[str, list[str]] = {}
    for cause in view.causes:
        for row in cause.cells:
            causes.setdefault(row.id, []).append(cause.id)
    return [
        FailureSection(
            group.clause,
            group.verdict,
            group.phase,
            tuple(_failure_details(row, tuple(causes.get(row.id, ()))) for row in group.cells),
        )
        for group in view.failures
    ]


def _failure_details(row: CellRow, causes: tuple[str, ...]) -> FailureDetails:
    error = row.error or {}
    loose = as_json(row)
    facts = [
        ("cell", row.id),
        ("runtime", row.runtime),
        ("host", row.host.value),
        ("target", row.target.value if row.target else ""),
        *((name, steps_text(steps)) for name, steps in loose.get("behaviour", {}).items()),
        *((name, plain(value)) for name, value in error.items() if name not in _OUTPUTS and value is not None),
        *((name, plain(loose[name])) for name in ("expectation", "margin") if name in loose),
        ("seconds", ", ".join(f"{verb} {spent:.3f}" for verb, spent in row.seconds.items())),
    ]
    outputs = [_output(name, plain(error[name])) for name in _OUTPUTS if error.get(name)]
    return FailureDetails(
        row.id,
        cell_anchor(row.id),
        place_of(row) or row.id,
        row.message,
        tuple((name, text) for name, text in facts if text),
        tuple(each for each in outputs if each.text.strip() != row.message.strip()),
        tuple(row.attempts or ()),
        script_of(row),
        causes,
    )


def _output(name: str, text: str) -> Output:
    return Output(name, text[:_LONGEST_OUTPUT], max(0, len(text) - _LONGEST_OUTPUT))


def known_failures(report: Report) -> list[KnownFailure]:
    """The cells for which a failure was expected, whether it held or not."""
    return [
        KnownFailure(row.id, row.verdict, tuple(plain(recorded.get(name) or "") for name in _RECORDED))
        for row in report.cells
        if row.expectation and as_json(row.expectation)
        for recorded in [expectation_texts(row.expectation, _RECORDED)]
    ]


def tightest(report: Report) -> list[TightMargin]:
    """The cells that passed with the least of their tolerance to spare; those that needed none are left out."""
    found = []
    for row in report.cells:
        margin = row.margin or {}
        used = number(margin.get("used"))
        if row.verdict is Verdict.PASS and used is not None and used > 0:
            dtype, comparisons = (plain(margin.get(name, "")) for name in ("dtype", "comparisons"))
            absolute = number(margin.get("absolute"))
            found.append(TightMargin(row.id, used, "" if absolute is None else f"{absolute:.2g}", dtype, comparisons))
    return sorted(found, key=lambda each: -each.used)[:_TIGHTEST]
