"""What changed between reports: cell by cell, row by row of the behaviour tables, and in what was certified at all."""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Callable, Mapping, Sequence

from conformance.api.fingerprint import normalised
from conformance.api.verdicts import Verdict
from conformance.report.model import Report
from conformance.report.parts import as_json
from conformance.report.row_model import CellRow
from conformance.report.unfinished import unfinished
from conformance.report.view import is_about_an_operator
from conformance.run.plan import LEFT_OUT

#: Cell id → row.
Rows = Mapping[str, CellRow]

#: What counts as passed: an unexpected pass fails a run, and is the opposite of a regression.
_PASSES = (Verdict.PASS, Verdict.XPASS)
_HOLDS = (*_PASSES, Verdict.UNSUPPORTED, Verdict.NOT_APPLICABLE, Verdict.NOT_EXERCISED, Verdict.XFAIL)
#: A digest is shown by its beginning.
_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")


class Change(enum.Enum):
    """What became of a cell. The value is how it is called, and the order that of importance."""

    REGRESSED = "regressed"
    DIFFERENT_FAILURE = "different failure"
    FIXED = "fixed"
    OTHER = "other change of verdict"
    NEW = "new"
    GONE = "gone"


@dataclasses.dataclass(frozen=True)
class Ending:
    """How a cell ended in one report."""

    verdict: Verdict
    phase: str
    message: str

    @classmethod
    def of(cls, row: CellRow) -> Ending:
        """How the cell of a row ended."""
        return cls(row.verdict, row.phase, row.message)

    @property
    def is_left_out(self) -> bool:
        """Whether the time of its run was over before the cell was begun."""
        return self.verdict is Verdict.LOST and self.message == LEFT_OUT


@dataclasses.dataclass(frozen=True)
class CellChange:
    """A cell that did not stay what it was. ``before`` is None for a new one, ``after`` for one that is gone."""

    cell: str
    change: Change
    before: Ending | None
    after: Ending | None


@dataclasses.dataclass(frozen=True)
class Behaviour:
    """A row of the behaviour tables, side by side.

    ``seen`` has, for each report, the steps that were observed; else the verdict of the cell that observed none; else
    None: the report has no such cell.
    """

    clause: str
    case: str
    host: str
    target: str | None
    runtime: str
    seen: tuple[str | None, ...]


def changes(before: Rows, after: Rows) -> tuple[CellChange, ...]:
    """What changed from one report's cells, by id, to another's; the gravest kind first, in the order of the cells."""
    found = []
    for cell in dict.fromkeys((*before, *after)):
        if (cell not in before or cell not in after) and is_about_an_operator(before.get(cell) or after[cell]):
            continue  # one of the runs was not asked about the operator
        old = Ending.of(before[cell]) if cell in before else None
        new = Ending.of(after[cell]) if cell in after else None
        if old and new and old.verdict is new.verdict and before[cell].generated and after[cell].generated:
            continue  # another budget, or another seed, finds more or less of the same
        change = change_of(old, new)
        if change is not None:
            found.append(CellChange(cell, change, old, new))
    order = list(Change)
    return tuple(sorted(found, key=lambda each: order.index(each.change)))


def change_of(before: Ending | None, after: Ending | None) -> Change | None:
    """What became of one cell, None where it stayed as it was.

    REGRESSED: it was kept, unsupported, not applicable, not exercised or a known failure, and now fails or was lost.
    FIXED: it failed or was lost, and now passes; that it is excused now is another change of verdict.
    DIFFERENT_FAILURE: it fails as before, but with another verdict, phase or message. What varies in
    messages from run to run (numbers, addresses, paths) is no difference. Of a cell for which a run had no time left
    nothing is known.
    """
    if before is None or after is None:
        return Change.NEW if before is None else Change.GONE
    if before.is_left_out or after.is_left_out:
        return Change.OTHER if before.verdict is not after.verdict else None
    if before.verdict in _HOLDS and after.verdict not in _HOLDS:
        return Change.REGRESSED
    if before.verdict not in _HOLDS and after.verdict in _PASSES:
        return Change.FIXED
    broken = not {before.verdict, after.verdict} & {*_HOLDS, Verdict.LOST}
    if broken and _essence(before) != _essence(after):
        return Change.DIFFERENT_FAILURE
    return Change.OTHER if before.verdict is not after.verdict else None


def _essence(ending: Ending) -> tuple[Verdict, str, str]:
    return ending.verdict, ending.phase, normalised(ending.message)


def behaviours(reports: Sequence[Rows], *, every: bool = False) -> tuple[Behaviour, ...]:
    """The behaviour tables of all reports side by side: the rows that differ, or ``every`` one."""
    found = []
    for cell in dict.fromkeys(cell for rows in reports for cell in rows):
        present = [rows[cell] for rows in reports if cell in rows]
        seen = tuple(_seen(rows.get(cell)) for rows in reports)
        if any(row.behaviour for row in present) and (every or len(set(seen)) > 1):
            row = present[0]
            target = row.target.value if row.target else None
            found.append(Behaviour(row.clause, row.case, row.host.value, target, row.runtime, seen))
    return tuple(found)


def _seen(row: CellRow | None) -> str | None:
    if row is None:
        return None
    if not row.behaviour:
        return row.verdict.value
    return ", ".join(f"{step} {result}" for step, result in sorted(row.behaviour.observed.items()))


def _target(report: Report) -> dict[str, str]:
    """What a report says of the target, which may be the installation that the host is in."""
    return as_json(report.target) if report.target else {}


#: What two reports must share for a change of verdict to say something of the backend alone.
_CIRCUMSTANCES: dict[str, Callable[[Report], object]] = {
    "backend": lambda report: report.backend.name,
    "distribution of the backend": lambda report: " ".join(
        filter(None, (report.backend.distribution, report.backend.version))
    ),
    "files of its distribution": lambda report: report.backend.distribution_hash or None,
    "options of the backend": lambda report: report.backend.options or None,
    "files of the backend": lambda report: sorted(f"{file.name} {file.sha256}" for file in report.backend.files),
    "toolchain": lambda report: report.backend.toolchain,
    "features declared missing": lambda report: sorted(report.backend.features.missing),
    "tolerances": lambda report: report.backend.tolerances,
    "states of availability that can be reached": lambda report: sorted(
        name for name, reached in report.backend.states.items() if reached
    ),
    "seed": lambda report: report.run.seed,
    "budget of generated cells": lambda report: report.run.generated or None,
    "version of the contract": lambda report: report.harness.contract.version,
    "digest of the contract": lambda report: report.harness.contract.sha256,
    "version of the harness": lambda report: report.harness.version,
    "version of torch": lambda report: report.environment.get("torch"),
    "target": lambda report: _target(report).get("spec", "local"),
    "torch of the target": lambda report: _target(report).get("torch", report.environment.get("torch")),
    "platform": lambda report: report.environment.get("platform"),
    "python": lambda report: report.environment.get("python"),
}


def circumstances_of(report: Report) -> dict[str, object]:
    """What a run as a whole stood under, by what it is."""
    return {name: read(report) for name, read in _CIRCUMSTANCES.items()}


def circumstances(first: Report, other: Report) -> tuple[tuple[str, str, str], ...]:
    """What differs about two runs as a whole: its name, and what it was in each."""
    others = circumstances_of(other)
    pairs = ((name, one, others[name]) for name, one in circumstances_of(first).items())
    return tuple((name, _text_of(one), _text_of(two)) for name, one, two in pairs if one != two)


def _text_of(value: object) -> str:
    text = ", ".join(value) if isinstance(value, list) else str(value)
    return _DIGEST.sub(r"\1", text) if value not in (None, "", [], {}) else "none"


def shortfalls(report: Report) -> tuple[str, ...]:
    """In a few words each, what keeps a report from speaking for the whole contract."""
    found = [f"incomplete: {sentence}" for sentence in unfinished(report)]
    if report.plan.deselected:
        found.append(f"{report.plan.deselected} cells of the contract were not selected")
    return tuple(found)
