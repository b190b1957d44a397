"""Which level a run has shown, from the raw cells alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.api.availability import Availability
from conformance.api.verdicts import Verdict, row_fails
from conformance.contract import Level

_LADDER = (Level.CORE, Level.MOBILE, Level.COMPLETE)
#: What a cell may have come to without standing in the way of a certificate.
KEPT = {
    Verdict.PASS.value,
    Verdict.UNSUPPORTED.value,
    Verdict.NOT_APPLICABLE.value,
    Verdict.NOT_EXERCISED.value,
}
#: What a cell may have come to that an expectation spoke of.
_EXPECTED = {Verdict.XFAIL.value, Verdict.XPASS.value, Verdict.XFAIL_MISMATCH.value}
#: The states that must have been exercised, on the host and on the target, for a level.
_NEEDED_STATES = {
    Level.CORE: (Availability.FULL,),
    Level.MOBILE: (Availability.FULL, Availability.NONE),
    Level.COMPLETE: (Availability.FULL, Availability.NONE),
}
#: Clauses of which a level that has any claims more than what was tried, unless one of them was exercised.
_WITHOUT_PYTHON = "native."


def certification(cells: Sequence[dict[str, Any]], wanted: Level | None, deselected: int) -> dict[str, Any]:
    """``{level, achieved, missing, excused}`` for the cells of a run.

    ``level`` is the one that the run was asked for (by default the highest that its clauses have), ``achieved`` the
    highest one shown, or None. ``missing`` says, a sentence each, what stands between the run and ``level``;
    ``excused`` is true when known failures, and tolerated differences from them, are all that does.
    """
    graded = [row for row in cells if row["level"] != Level.REPORTED.value]
    present = [level for level in _LADDER if any(row["level"] == level.value for row in graded)]
    level = wanted or (present[-1] if present else Level.CORE)
    achieved = None
    for candidate in present:
        if _missing(graded, candidate, deselected):
            break
        achieved = candidate
    missing = _missing(graded, level, deselected)
    excused = bool(missing) and not _missing(graded, level, deselected, excuse=True)
    return {
        "level": level.value,
        "achieved": achieved.value if achieved else None,
        "missing": missing,
        "excused": excused,
    }


def _missing(graded: Sequence[dict[str, Any]], level: Level, deselected: int, *, excuse: bool = False) -> list[str]:
    owed = [row for row in graded if level.includes(Level(row["level"]))]
    sentences = []
    if deselected:
        sentences.append(f"{deselected} cells of the contract were not selected for this run")
    if not any(row["level"] == level.value for row in graded):
        sentences.append(f"no clause of level {level.value} took part")
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in owed:
        rows.setdefault(row["clause"], []).append(row)
    for clause, found in rows.items():
        broken = [row["verdict"] for row in found if not _stands(row, excuse)]
        if broken:
            kinds = ", ".join(dict.fromkeys(broken))
            sentences.append(f"{clause}: {kinds} in {len(broken)} of {len(found)} cells")
    exercised = [row for row in owed if row["verdict"] != Verdict.NOT_EXERCISED.value]
    without_python = [row for row in owed if row["clause"].startswith(_WITHOUT_PYTHON)]
    if without_python and not any(row in exercised for row in without_python):
        sentences.append("nothing was exercised in a program without Python")
    for role in ("host", "target"):
        for state in _NEEDED_STATES[level]:
            tried = any(row[role] == state.value for row in exercised)
            if not tried and any(row[role] == state.value for row in owed):
                sentences.append(f"availability {state.value} on the {role} was not exercised")
    return sentences


def _stands(row: dict[str, Any], excuse: bool) -> bool:
    return row["verdict"] in KEPT or (excuse and row["verdict"] in _EXPECTED and not row_fails(row))
