"""Failures by what is wrong: the causes of a report, which every face of it shows before single cells.

A bug fails many cells of many clauses. What these have in common is verdict, phase and message, without what varies
from cell to cell (see :mod:`conformance.api.fingerprint`); and where programs were generated, the smallest that shows
it. A cause is that, and has the same id in every run.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from conformance.api.clause import Control
from conformance.api.fingerprint import fingerprint
from conformance.api.verdicts import Verdict
from conformance.contract import Level, shipped_clauses
from conformance.contract.evidence import shipped_evidence
from conformance.report.model import Report
from conformance.report.rerun import Rerun, rerun_of
from conformance.report.row_model import CellRow, ClauseRow, Finding

#: Sizes that Dynamo does not know, which have another number in each program: s96, u0.
_SYMBOL = re.compile(r"\b[su]\d+\b")
_LEVELS = tuple(Level)
#: Breaches first, then what says nothing about the backend for sure.
_GRAVITY = (Verdict.CRASH, Verdict.TIMEOUT, Verdict.FAIL)


@dataclasses.dataclass(frozen=True)
class Cause:
    """One thing that is wrong, the cells in which it shows, and the smallest example of it."""

    #: Twelve hexadecimal digits, which ``--conformance-select`` takes too.
    id: str
    verdict: Verdict
    phase: str
    #: What differed in the example: expected and found.
    message: str
    #: The clause of the example, and the ids of all clauses that fail by it.
    clause: ClauseRow
    clauses: tuple[str, ...]
    cells: tuple[CellRow, ...]
    example: CellRow
    #: Of a generated cell: the smallest program that shows it, and how many programs do.
    finding: Finding | None
    programs: int
    #: The script that shows the example without the harness, relative to report.json; empty if there is none.
    reproducer: str
    #: Why to believe it, a sentence each.
    grounds: tuple[str, ...]
    #: How any of its cells is run again.
    rerun: Rerun

    @property
    def anchor(self) -> str:
        """Its place in a page."""
        return f"cause-{self.id}"

    @property
    def title(self) -> str:
        """What it is about, in a few words."""
        return self.finding.cause if self.finding else " ".join(self.cases)

    @property
    def cases(self) -> tuple[str, ...]:
        """The models, operators or themes in which it shows, each once."""
        return tuple(dict.fromkeys(row.case for row in self.cells if row.case))

    @property
    def inputs(self) -> tuple[str, ...]:
        """What the example's program is given; empty for a model of the corpus, which has inputs of its own."""
        return tuple(self.finding.inputs) if self.finding else ()

    @property
    def fingerprints(self) -> tuple[str, ...]:
        """Those that its cells have, one for each clause."""
        return tuple(dict.fromkeys(row.fingerprint for row in self.cells if row.fingerprint))

    @property
    def rerun_command(self) -> str:
        """The command line that tries the example again."""
        return self.rerun.command(self.example)


@dataclasses.dataclass(frozen=True)
class _Sighting:
    """A cell that fails, with one of its findings if it generated programs."""

    row: CellRow
    finding: Finding | None

    @property
    def reproducer(self) -> str:
        """Its script. That of a row with several findings shows the first that repeats."""
        if not self.row.reproducer:
            return ""
        findings = self.row.generated.findings if self.row.generated else ()
        repeating = [each for each in findings if each.verdict is not Verdict.FLAKY]
        shown = self.finding is None or self.finding in repeating[:1]
        return self.row.reproducer.script if shown else ""


def causes_of(report: Report) -> tuple[Cause, ...]:
    """The causes of the cells that fail: crashes, timeouts and failures before the rest, what fails most first."""
    found: dict[str, list[_Sighting]] = {}
    for row in report.cells:
        for each in _sightings(row):
            found.setdefault(cause_id(each.row, each.finding), []).append(each)
    clauses = clauses_of(report)
    rerun = rerun_of(report)
    simplest = {case: place for place, case in enumerate(dict.fromkeys(row.case for row in report.cells))}
    causes = [_cause(rerun, id, sightings, clauses, simplest) for id, sightings in found.items()]
    return tuple(sorted(causes, key=lambda cause: (_gravity(cause.verdict), -len(cause.cells))))


def cause_id(row: CellRow, finding: Finding | None = None) -> str:
    """The cause that a failing cell, or one of its findings, has: its fingerprint without the clause."""
    if finding is not None:
        return finding.fingerprint or fingerprint("", finding.verdict.value, finding.phase, finding.cause)
    first = row.attempts[0] if row.attempts else row
    message = _SYMBOL.sub("SYMBOL", first.message)
    return fingerprint("", row.verdict.value, first.phase, message, row.error or {}, row.case)


def clauses_of(report: Report) -> dict[str, ClauseRow]:
    """The clauses by id; one that only cells name has no statement."""
    known = {clause.id: clause for clause in report.clauses}
    for row in report.cells:
        if row.clause not in known:
            known[row.clause] = ClauseRow(id=row.clause, suite=row.suite, level=row.level, statement="", source="")
    return known


def _sightings(row: CellRow) -> Iterator[_Sighting]:
    if not row.fails:
        return
    findings = row.generated.findings if row.generated else ()
    if findings and row.verdict is not Verdict.HARNESS_ERROR:
        yield from (_Sighting(row, finding) for finding in findings)
    else:
        yield _Sighting(row, None)


def _cause(
    rerun: Rerun,
    id: str,
    sightings: list[_Sighting],
    clauses: Mapping[str, ClauseRow],
    simplest: Mapping[str, int],
) -> Cause:
    example = min(sightings, key=lambda each: _size(each, simplest))
    row, finding = example.row, example.finding
    shown: CellRow | Finding = finding or row
    return Cause(
        id=id,
        verdict=shown.verdict,
        phase=shown.phase,
        message=shown.message,
        clause=clauses[row.clause],
        clauses=tuple(dict.fromkeys(each.row.clause for each in sightings)),
        cells=tuple({each.row.id: each.row for each in sightings}.values()),
        example=row,
        finding=finding,
        programs=sum(each.finding.count for each in sightings if each.finding),
        reproducer=example.reproducer,
        grounds=tuple(_grounds(row, finding)),
        rerun=rerun,
    )


def _size(sighting: _Sighting, simplest: Mapping[str, int]) -> tuple[Any, ...]:
    """What the smallest example has least of: a script to run comes first, then a short program, then an early case,
    then the clause that the self-test has proven most often, which says the plainest things."""
    proofs = len(shipped_evidence().of(sighting.row.clause))
    finding, row = sighting.finding, sighting.row
    program = (len(finding.source.splitlines()), len(finding.inputs)) if finding else (0, 0)
    return (not sighting.reproducer, *program, simplest[row.case], _LEVELS.index(row.level), -proofs)


def _grounds(row: CellRow, finding: Finding | None) -> Iterator[str]:
    """Why a failure is the backend's: how often it was seen, what PyTorch does, and whether the clause sees bugs."""
    if row.verdict is Verdict.FLAKY:
        yield "it did not fail in the same way each time"
    elif row.repeated:
        yield f"it failed {row.repeated + 1} times in the same way, in fresh processes"
    if finding is not None:
        yield "eager PyTorch ran the same program as it should"
    elif _has_control(row):
        yield "PyTorch without the backend does not fail so in the same cell"
    if kills := len(shipped_evidence().of(row.clause)):
        yield f"the clause caught {kills} of the self-test's saboteurs"


def _has_control(row: CellRow) -> bool:
    """Whether plain PyTorch was asked about the failure: breaches of a clause that is about PyTorch's behaviour."""
    return row.verdict.is_breach and _controls().get(row.clause, Control.NONE) is not Control.NONE


@functools.cache
def _controls() -> dict[str, Control]:
    return {clause.id: clause.control for clause in shipped_clauses()}


def _gravity(verdict: Verdict) -> int:
    return _GRAVITY.index(verdict) if verdict in _GRAVITY else len(_GRAVITY)


def cells_with(report: Report, wanted: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """For each of these fingerprints or ids of causes that the report has: the ids of the cells that failed so."""
    found: dict[str, dict[str, None]] = {}
    asked = set(wanted)
    for row in report.cells:
        names = {cause_id(each.row, each.finding) for each in _sightings(row)} | {row.fingerprint or ""}
        for name in names & asked:
            found.setdefault(name, {})[row.id] = None
    return {name: tuple(cells) for name, cells in found.items()}
