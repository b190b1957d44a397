"""What the terminal, Markdown and the page show of a report, worked out once; each of them only lays it out."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conformance.api.verdicts import Verdict
from conformance.report import operators
from conformance.report.causes import Cause, causes_of, clauses_of
from conformance.report.generated import GeneratedView, generated_view
from conformance.report.model import Certification, MutantScore, Report
from conformance.report.parts import as_json, read_part
from conformance.report.row_model import CellRow, ClauseRow, Expectation, HostBehaviour, Steps
from conformance.report.unfinished import unfinished

#: The verdicts as headers of narrow columns.
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
_BEHAVIOUR_COLUMNS = {"host": ("host",), "target": ("target", "host", "runtime")}

#: The clauses of the operator table.
_OF_THE_OPERATOR_TABLE = ("operators.table", "compile.operators", "delegate.operators")


@dataclasses.dataclass(frozen=True)
class SuiteLine:
    """A suite, or all of them: how many cells came to each verdict of the table, and how many there are."""

    name: str
    counts: tuple[int, ...]
    cells: int


@dataclasses.dataclass(frozen=True)
class SuiteTable:
    """The verdicts that occur, and a line for each suite and for all."""

    verdicts: tuple[Verdict, ...]
    lines: tuple[SuiteLine, ...]


@dataclasses.dataclass(frozen=True)
class BehaviourLine:
    """Rows of a behaviour table that are shown as one: for each column the values that they have."""

    columns: tuple[tuple[str, ...], ...]
    expected: Steps
    observed: Steps
    verdict: Verdict


@dataclasses.dataclass(frozen=True)
class BehaviourTable:
    """The behaviour of a role, host or target. ``why_empty`` is said where there is no line."""

    role: str
    headers: tuple[str, ...]
    lines: tuple[BehaviourLine, ...]
    why_empty: str

    @property
    def steps(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The steps of all lines, those together that have the same words before their last colon: these words, and
        the full names of the steps."""
        every = dict.fromkeys(step for line in self.lines for step in (*line.expected, *line.observed))
        return tuple((group, tuple(found)) for group, found in step_groups(dict.fromkeys(every, "")))


@dataclasses.dataclass(frozen=True)
class FailureGroup:
    """Failures of one clause with one verdict in one phase."""

    clause: ClauseRow
    verdict: Verdict
    phase: str
    cells: tuple[CellRow, ...]


@dataclasses.dataclass(frozen=True)
class KnownGroup:
    """Cells that one expectation spoke of, that came to one verdict, and that do not fail the run."""

    expectation: Expectation
    cells: tuple[CellRow, ...]


@dataclasses.dataclass(frozen=True)
class ReportView:
    """A report, as every format shows it. A line is empty where there is nothing to say."""

    report: Report
    headline: str
    incomplete: str
    level: str
    selftest: str
    suites: SuiteTable
    behaviour: tuple[BehaviourTable, ...]
    #: Why states were not tried, each reason once.
    not_exercised: tuple[str, ...]
    #: The remarks of all clauses, each once.
    notes: tuple[str, ...]
    failing: tuple[CellRow, ...]
    #: What is wrong, each thing once.
    causes: tuple[Cause, ...]
    failures: tuple[FailureGroup, ...]
    known: tuple[KnownGroup, ...]
    operators: operators.OperatorSummary | None
    generated: GeneratedView | None


def view_of(document: Mapping[str, Any]) -> ReportView:
    """The view of a report that ``read_report`` has validated. Raises msgspec.ValidationError for any other."""
    report = read_part(Report, document)
    failing = tuple(row for row in report.cells if row.fails)
    return ReportView(
        report,
        headline(report),
        incomplete_line(report),
        level_line(report),
        selftest_line(report),
        _suite_table(report),
        tuple(_behaviour_table(report, role) for role in _BEHAVIOUR_COLUMNS),
        tuple(sorted({row.message for row in report.cells if row.verdict is Verdict.NOT_EXERCISED})),
        tuple(dict.fromkeys(note for row in report.cells for note in row.notes or ())),
        failing,
        causes_of(report),
        failure_groups(report, failing),
        _known_groups(report),
        operators.summary_of(report.operators) if report.operators else None,
        generated_view(report),
    )


def headline(report: Report) -> str:
    """What was tested, in a line."""
    backend, environment = report.backend, report.environment
    version = f" {backend.version}" if backend.version else ""
    distribution = f" ({backend.distribution}{version})" if backend.distribution else ""
    target = report.target.spec if report.target else "local"
    elsewhere = "" if target == "local" else f"target {target}, "
    options = f", options {json.dumps(backend.options)}" if backend.options else ""
    return (
        f"{backend.name}{distribution}: {backend.toolchain}{options}, {elsewhere}"
        f"torch {environment.get('torch', 'unknown')}, "
        f"{environment.get('platform', 'platform unknown')}, seed {report.run.seed}{_resumed(report)}"
    )


def _resumed(report: Report) -> str:
    found = [run.resumed for run in (report.run, *(report.run.shards or ())) if run.resumed]
    if not found:
        return ""
    since = min((run.started for each in found for run in each.runs), default="unknown")
    cells = sum(each.cells for each in found)
    return f"; resumed: {cells} of {report.plan.cells} cells are of runs that were interrupted, since {since}"


def incomplete_line(report: Report) -> str:
    """That planned cells are missing, and why; or nothing."""
    return f"INCOMPLETE: {'; '.join(found)}." if (found := unfinished(report)) else ""


def level_line(report: Report) -> str:
    """Whether the level was reached, and otherwise which one was; of a part of the contract, that none is judged."""
    certification = report.certification
    if report.plan.deselected:
        of = report.plan.cells + report.plan.deselected
        return f"A part of the contract ({report.plan.cells} of {of} cells): no level is judged."
    level, achieved = certification.level.value, certification.achieved
    if not certification.missing:
        return f"Level {level}: reached{shown_words(certification)}."
    known = " (known failures only)" if certification.excused else ""
    return f"Level {level}: NOT reached{known}. Highest level reached: {achieved.value if achieved else 'none'}."


def shown_words(certification: Certification) -> str:
    """How much of a level was shown, to stand behind its name; nothing where a former report does not say."""
    shown = certification.shown
    if not shown:
        return ""
    cells = f"{share_shown(certification)} of {shown.of_cells} cells"
    return f" ({cells}, {shown.clauses} of {shown.of_clauses} clauses shown by PASS)"


def share_shown(certification: Certification) -> str:
    """The share of a level's cells that came to PASS, in whole per cent and never rounded up."""
    shown = certification.shown
    return f"{100 * shown.cells // shown.of_cells}%" if shown and shown.of_cells else ""


def selftest_line(report: Report) -> str:
    """How the harness did in its own test."""
    score = report.harness.selftest
    if not score:
        line = "Self-test of the harness: not run on this torch and platform (conformance selftest)."
    else:
        line = (
            f"Self-test of the harness: {score.caught} of {score.saboteurs} saboteurs caught, "
            "on this torch and platform."
        )
    return f"{line} {_mutants_line(mutants)}" if (mutants := report.harness.mutants) else line


def _mutants_line(score: MutantScore) -> str:
    """How many of the broken backends that nobody wrote the release caught."""
    share = f"{100 * score.killed / score.active:.1f}%" if score.active else "none"
    by = "by this contract" if score.current else "by a former contract"
    return f"Mutants: {share} of {score.active} active killed [{score.low}, {score.high}], {by}."


def _suite_table(report: Report) -> SuiteTable:
    counted = report.summary.verdicts
    seen = tuple(verdict for verdict in Verdict if counted.get(verdict))
    lines = [
        SuiteLine(suite, tuple(counts.get(verdict, 0) for verdict in seen), sum(counts.values()))
        for suite, counts in report.summary.suites.items()
    ]
    every = SuiteLine("all", tuple(counted[verdict] for verdict in seen), report.plan.cells)
    return SuiteTable(seen, (*lines, every))


def _behaviour_table(report: Report, role: str) -> BehaviourTable:
    """The table of a role. Rows that differ only by cell, host or runtime are one line."""
    headers = _BEHAVIOUR_COLUMNS[role]
    apart = ("cell", "runtime", *headers[1:])
    groups: dict[str, list[HostBehaviour]] = {}
    for row in getattr(report.availability, role):
        alike = {name: value for name, value in as_json(row).items() if name not in apart}
        groups.setdefault(repr(alike), []).append(row)
    lines = (
        BehaviourLine(
            tuple(tuple(dict.fromkeys(str(as_json(row)[name]) for row in rows)) for name in headers),
            rows[0].expected,
            rows[0].observed,
            rows[0].verdict,
        )
        for rows in groups.values()
    )
    return BehaviourTable(role, headers, tuple(lines), _why_no_behaviour(report, role))


def _why_no_behaviour(report: Report, role: str) -> str:
    """Why the table of ``role`` is empty, in the words of the clauses that fill it (``availability.host``, for one)."""
    reasons = (row.message for row in report.cells if row.clause.endswith(f".{role}") and row.message)
    return "; ".join(dict.fromkeys(reasons)) or "no clause of this run has measured it"


def failure_groups(report: Report, rows: Iterable[CellRow], *, every: bool = False) -> tuple[FailureGroup, ...]:
    """Failures of one clause with the same verdict and phase are one group; each is its own if ``every``."""
    clauses = clauses_of(report)
    groups: dict[tuple[object, ...], list[CellRow]] = {}
    for row in rows:
        key = (row.clause, row.verdict, row.phase)
        groups.setdefault((*key, row.id) if every else key, []).append(row)
    return tuple(
        FailureGroup(clauses[found[0].clause], found[0].verdict, found[0].phase, tuple(found))
        for found in groups.values()
    )


def _known_groups(report: Report) -> tuple[KnownGroup, ...]:
    groups: dict[str, list[CellRow]] = {}
    for row in report.cells:
        if row.expectation and not row.fails:
            entry = {name: each for name, each in as_json(row.expectation).items() if name not in ("found", "message")}
            groups.setdefault(repr((row.verdict, entry)), []).append(row)
    return tuple(KnownGroup(rows[0].expectation, tuple(rows)) for rows in groups.values() if rows[0].expectation)


def attempt_lines(row: CellRow) -> list[str]:
    """What each attempt of a flaky cell came to, a line each."""
    return [
        f"attempt {number}: {each.verdict.value}{f' in {each.phase}' if each.phase else ''}"
        f"{f': {each.message}' if each.message else ''}"
        for number, each in enumerate(row.attempts or (), start=1)
    ]


def place_of(row: CellRow) -> str:
    """The id of a cell without its clause: ``[add-full-yes/yes]``."""
    return row.id[len(row.clause) :]


def is_about_an_operator(row: CellRow) -> bool:
    """Whether a cell is one of the operator table, which is shown by the table's own rows."""
    return row.clause in _OF_THE_OPERATOR_TABLE


def step_groups(steps: Mapping[str, str]) -> list[tuple[str, dict[str, str]]]:
    """The steps of a behaviour, those together that have the same words before their last colon: these words, and the
    full names of the steps with what came of each."""
    groups: dict[str, dict[str, str]] = {}
    for step, result in steps.items():
        groups.setdefault(step.rpartition(": ")[0], {})[step] = result
    return list(groups.items())


def step_lines(steps: Mapping[str, str]) -> list[str]:
    """A behaviour as a line for each of its groups of steps."""
    return [
        (f"{group}: " if group else "")
        + ", ".join(f"{step.removeprefix(f'{group}: ')} {result}" for step, result in found.items())
        for group, found in step_groups(steps)
    ]


def steps_text(steps: Mapping[str, str]) -> str:
    """A behaviour as one line."""
    return "; ".join(step_lines(steps))


def expectation_texts(expectation: Expectation, names: Sequence[str]) -> dict[str, Any]:
    """Those of the fields of an expectation that were recorded."""
    fields = as_json(expectation)
    return {name: fields[name] for name in names if name in fields}
