"""What a report says, held against its own cells, and its cells against the contract that is installed here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from conformance.api.availability import Availability
from conformance.api.clause import SpeaksOf
from conformance.api.verdicts import Verdict
from conformance.contract import CONTRACT_VERSION, Clause, Level, contract_digest, shipped_clauses
from conformance.discovery.describing import Description
from conformance.report._build import assemble
from conformance.report._certification import certification
from conformance.report._json import ReportError
from conformance.report._store import rows_by_id
from conformance.report.generated import budget_of
from conformance.report.model import Backend, Report
from conformance.report.row_model import CellRow, ClauseRow
from conformance.report.unfinished import unfinished
from conformance.run.plan import Cell, cells_of
from conformance.toolchains import Source

#: The fields that the cells decide.
_DERIVED = ("run", "plan", "availability", "summary", "generated", "certification")
#: Those of these that reports of former releases lack.
_ADDED = ("shown",)
_SHOWN = 3
_NOTHING_TRIED = "passed, and do not say what they tried"


def expect_consistent(report: Mapping[str, Any], where: str) -> None:
    """Raise ReportError, with the field, where a report says what its own cells do not."""
    clauses: dict[str, Mapping[str, Any]] = {}
    for clause in report["clauses"]:
        if clauses.setdefault(clause["id"], clause) is not clause:
            raise ReportError(f"{where} contradicts itself: the clause {clause['id']} stands there twice")
    for name, row in rows_by_id(dict(report), where).items():
        of = clauses.get(row["clause"])
        if of is None:
            raise ReportError(f"{where} contradicts itself: the clause of the cell {name} is not among clauses")
        for field in ("suite", "level"):
            if row[field] != of[field]:
                said = f"{field} of the cell {name} is {row[field]}, that of its clause {of[field]}"
                raise ReportError(f"{where} contradicts itself: {said}")
        if name != _id_of(row):
            raise ReportError(f"{where} contradicts itself: the cell {name} is {_id_of(row)} by its own columns")
    level = Level(report["certification"]["level"])
    again = assemble(dict(report), report["clauses"], report["cells"], report["plan"]["deselected"], level)
    for part in _DERIVED:
        if part in report and part not in again:
            raise ReportError(f"{where} contradicts itself: it has {part}, of which its cells say nothing")
        for field, value in again.get(part, {}).items():
            found = report.get(part, {}).get(field)
            if found is None and field in _ADDED:
                continue
            if found != value:
                said = f"{part}.{field} is {found!r:.200}, and its cells say {value!r:.200}"
                raise ReportError(f"{where} contradicts itself: {said}")


def shortfall(report: Report, level: Level) -> tuple[str, ...]:
    """What keeps a consistent report from a level, worked out from its cells and the contract, a sentence each."""
    cells = report.cells
    reasons = unfinished(report)
    shown = certification(cells, level, report.plan.deselected, budget_of(report.run))
    reasons += shown.missing
    if shown.excused:
        reasons.append("known failures (XFAIL) excuse a run, and never certify a backend")
    if report.backend.replaces_functions is True:
        reasons.append("it is listed as a saboteur that may replace functions of what runs it, and shows nothing")
    contract = report.harness.contract
    here = contract_digest(report.backend.toolchain)
    if (contract.version, contract.sha256) != (CONTRACT_VERSION, here):
        reasons.append(
            f"its plan cannot be checked: the report is of contract {contract.version} ({contract.sha256:.12}), and "
            f"here is {CONTRACT_VERSION} ({here:.12}); the release of torch-conformance that made it can"
        )
        return tuple(reasons)
    return (*reasons, *faults_of_the_plan(report))


def faults_of_the_plan(report: Report) -> list[str]:
    """Where the clauses and cells of a report are not what the installed contract owes, a sentence each."""
    description = _description(report.backend)
    # Which operators are tried is for the run to say: what they came to is reported, and never graded.
    about = {each.id for each in shipped_clauses() if each.speaks_of is SpeaksOf.OPERATORS}
    operators = list(dict.fromkeys(row.case for row in report.cells if row.clause in about))
    budget = budget_of(report.run)
    generated = budget is None or not budget.is_nothing
    cells = {each.id: cells_of(each, description, operators, generated=generated) for each in shipped_clauses()}
    owed = {each.id: each for each in shipped_clauses() if cells[each.id]}
    if not owed:
        return [f"the contract has no clause for the toolchain {description.toolchain!r:.100}"]
    found = {each.id: each for each in report.clauses}
    # Clauses of somebody's own, which are reported and never graded, take nothing away and add nothing.
    added = {name for name, each in found.items() if name not in owed and each.level is Level.REPORTED}
    planned = {cell.id: cell for found_cells in cells.values() for cell in found_cells}
    rows = {row.id: row for row in report.cells}
    strange = [name for name in found if name not in owed and name not in added]
    selected = not report.plan.deselected  # else the cells that lack are counted already
    return [
        *_sentence("clauses", strange, "are not of the contract"),
        *_sentence("clauses", (name for name in owed if name not in found and selected), "are not in the report"),
        *_sentence(
            "clauses",
            (name for name, clause in found.items() if name in owed and not _states(owed[name], clause)),
            "are stated otherwise in the contract",
        ),
        *_sentence(
            "cells",
            (name for name, row in rows.items() if name not in planned and row.clause not in added),
            "are not of the contract's plan",
        ),
        *_sentence("cells", (name for name in planned if name not in rows and selected), "are not in the report"),
        *_sentence(
            "cells",
            (name for name, row in rows.items() if name in planned and not _may_be(planned[name], row.verdict)),
            "have a verdict that what the backend declares rules out",
        ),
        *_sentence("cells", (name for name, row in rows.items() if _is_empty(planned.get(name), row)), _NOTHING_TRIED),
    ]


def _is_empty(cell: Cell | None, row: CellRow) -> bool:
    """Whether a generated cell passed, and does not say that it tried anything, or that it was refused."""
    tried = row.generated.tried + sum(row.generated.refused.values()) if row.generated else 0
    return cell is not None and bool(cell.theme) and row.verdict is Verdict.PASS and not tried


def _states(clause: Clause, row: ClauseRow) -> bool:
    return all(getattr(clause, name) == getattr(row, name) for name in ("suite", "level", "statement", "source"))


def _may_be(cell: Cell, verdict: Verdict) -> bool:
    """Whether a cell that the plan decides has its verdict. No other is UNSUPPORTED: nothing but the plan says that."""
    if cell.decided is not None:
        return verdict in (cell.decided, Verdict.LOST)
    return verdict is not Verdict.UNSUPPORTED


def _sentence(kind: str, names: Iterable[str], problem: str) -> list[str]:
    """A sentence about the names, if there are any."""
    listed = list(names)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return [f"{kind} {', '.join(listed[:_SHOWN])}{more} {problem}"] if listed else []


def _description(backend: Backend) -> Description:
    """As much of a backend's description as planning takes."""
    return Description(
        source=Source(backend.name),
        prepared={},
        name=backend.name,
        toolchain=backend.toolchain,
        missing_features=dict(backend.features.missing),
        tolerances={},
        states={each.value: {} if backend.states.get(each.value) else None for each in Availability},
        lost=None,
        files=(),
    )


def _id_of(row: Mapping[str, Any]) -> str:
    parts = (row["case"], row["runtime"], row["host"], row["target"])
    return f"{row['clause']}[{'-'.join(part for part in parts if part)}]"
