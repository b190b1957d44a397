"""Which level a run has shown, from the raw cells alone."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.api.availability import Availability
from conformance.api.verdicts import Verdict
from conformance.contract import Level
from conformance.generate import LEAST_PROGRAMS
from conformance.generate.budget import Budget
from conformance.report.model import Certification, Shown
from conformance.report.row_model import CellRow
from conformance.run.plan import TURNED_OFF

#: A level takes a PASS in this part of its clauses: one that is reached by leaving everything aside says nothing.
_LEAST_SHOWN = 1 / 3
#: What leaves a whole suite aside by what its author says: a declared feature, or a way that was not given.
_DECLARED = {Verdict.UNSUPPORTED, Verdict.NOT_EXERCISED}
_LADDER = (Level.CORE, Level.MOBILE, Level.COMPLETE)
#: What a cell may have come to without standing in the way of a certificate.
KEPT = {Verdict.PASS, Verdict.UNSUPPORTED, Verdict.NOT_APPLICABLE, Verdict.NOT_EXERCISED}
#: What a cell may have come to that an expectation spoke of.
_EXPECTED = {Verdict.XFAIL, Verdict.XPASS, Verdict.XFAIL_MISMATCH}
#: The states that must have been exercised, on the host and on the target, for a level.
_NEEDED_STATES = {
    Level.CORE: (Availability.FULL,),
    Level.MOBILE: (Availability.FULL, Availability.NONE),
    Level.COMPLETE: (Availability.FULL, Availability.NONE),
}
#: Clauses of which a level that has any claims more than what was tried, unless one of them was exercised.
_WITHOUT_PYTHON = "native."


def certification(
    cells: Sequence[CellRow], wanted: Level | None, deselected: int, budget: Budget | None = None
) -> Certification:
    """What the cells of a run show, the generated ones of which had this budget.

    ``level`` is the one that the run was asked for (by default the highest that its clauses have), ``achieved`` the
    highest one shown, or None. ``missing`` says, a sentence each, what stands between the run and ``level``;
    ``excused`` is true when known failures, and tolerated differences from them, are all that does.
    """
    graded = [row for row in cells if row.level is not Level.REPORTED]
    present = [level for level in _LADDER if any(row.level is level for row in graded)]
    level = wanted or (present[-1] if present else Level.CORE)
    achieved = None
    for candidate in present:
        if _missing(graded, candidate, deselected, budget):
            break
        achieved = candidate
    missing = _missing(graded, level, deselected, budget)
    excused = bool(missing) and not _missing(graded, level, deselected, budget, excuse=True)
    shown = shown_of(graded, achieved or level)
    return Certification(level=level, achieved=achieved, missing=missing, excused=excused, shown=shown)


def shown_of(cells: Sequence[CellRow], level: Level) -> Shown:
    """How much of a level the cells show by PASS."""
    owed = [row for row in cells if level.includes(row.level)]
    passed = [row for row in owed if row.verdict is Verdict.PASS]
    return Shown(
        clauses=len({row.clause for row in passed}),
        of_clauses=len({row.clause for row in owed}),
        cells=len(passed),
        of_cells=len(owed),
    )


def _too_little(graded: Sequence[CellRow], level: Level) -> list[str]:
    """What was not shown enough by PASS for a level to be earned: of the whole, and of each suite."""
    shown = shown_of(graded, level)
    sentences = []
    if shown.clauses < _LEAST_SHOWN * shown.of_clauses:
        sentences.append(
            f"{shown.clauses} of {shown.of_clauses} clauses were shown by a PASS, and a level takes a third of them"
        )
    suites: dict[str, set[Verdict]] = {}
    for row in graded:
        if level.includes(row.level):
            suites.setdefault(row.suite, set()).add(row.verdict)
    for suite, verdicts in suites.items():
        if verdicts <= KEPT and Verdict.PASS not in verdicts and not verdicts <= _DECLARED:
            sentences.append(f"nothing of the suite {suite} was shown by a PASS")
    return sentences


def _missing(
    graded: Sequence[CellRow], level: Level, deselected: int, budget: Budget | None, *, excuse: bool = False
) -> list[str]:
    owed = [row for row in graded if level.includes(row.level)]
    sentences = []
    if deselected:
        sentences.append(f"{deselected} cells of the contract were not selected for this run")
    if not any(row.level is level for row in graded):
        sentences.append(f"no clause of level {level.value} took part")
    if left_out := sum(row.is_left_out for row in owed):
        sentences.append(f"{left_out} of {len(owed)} cells of the level were left out: the time of the run was over")
    rows: dict[str, list[CellRow]] = {}
    for row in owed:
        rows.setdefault(row.clause, []).append(row)
    for clause, found in rows.items():
        broken = [row.verdict.value for row in found if not row.is_left_out and not _stands(row, excuse)]
        if broken:
            kinds = ", ".join(dict.fromkeys(broken))
            sentences.append(f"{clause}: {kinds} in {len(broken)} of {len(found)} cells")
    exercised = [row for row in owed if row.verdict is not Verdict.NOT_EXERCISED]
    without_python = [row for row in owed if row.clause.startswith(_WITHOUT_PYTHON)]
    if without_python and all(row.verdict is Verdict.NOT_EXERCISED for row in without_python):
        sentences.append("nothing was exercised in a program without Python")
    if any(row.verdict is Verdict.NOT_EXERCISED and row.message == TURNED_OFF for row in owed):
        sentences.append(TURNED_OFF)
    elif budget is not None and not budget.shows_a_level and any(row.generated for row in owed):
        sentences.append(f"each generated cell tried {budget.programs} programs, and a level takes {LEAST_PROGRAMS}")
    if interrupted := sum(bool(row.generated and row.generated.interrupted is True) for row in owed):
        sentences.append(f"{interrupted} generated cells were interrupted before they had tried what they might")
    sentences += _too_little(graded, level)
    for role in ("host", "target"):
        for state in _NEEDED_STATES[level]:
            tried = any(getattr(row, role) is state for row in exercised)
            if not tried and any(getattr(row, role) is state for row in owed):
                sentences.append(f"availability {state.value} on the {role} was not exercised")
    return sentences


def _stands(row: CellRow, excuse: bool) -> bool:
    return row.verdict in KEPT or (excuse and row.verdict in _EXPECTED and not row.fails)
