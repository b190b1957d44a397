"""The plainest cell of a contract: one addition, compiled and run. What fails in it fails everywhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from conformance.api.clause import SpeaksOf
from conformance.contract import Clause, Level, shipped_clauses, suite_function
from conformance.contract.evidence import shipped_evidence
from conformance.devices import ZygotePool
from conformance.discovery.describing import Candidate, Description
from conformance.run.cell_context import CellContext
from conformance.run.plan import Cell, cells_of
from conformance.run.run_context import RunContext
from conformance.run.running import run_cell


def first_addition(description: Description) -> Cell | None:
    """The cell of the corpus's first case, one addition, in the clause that catches most: of the clauses about every
    case on the host alone, the one that caught most saboteurs of the self-test.

    None for a toolchain without such a clause, and where the cell is decided without a run.
    """
    evidence = shipped_evidence()
    plain = [each for each in shipped_clauses() if each.toolchain == description.toolchain and _is_plain(each)]
    if not plain:
        return None
    cells = cells_of(max(plain, key=lambda clause: len(evidence.of(clause.id))), description)
    return cells[0] if cells and cells[0].decided is None else None


def tried(candidates: Iterable[Candidate], pool: ZygotePool) -> Iterator[Candidate]:
    """The candidates, each of which was made to add two tensors if it can be loaded, with the problem if it failed."""
    for each in candidates:
        yield dataclasses.replace(each, problem=each.problem or _problem(each, pool))


def _problem(candidate: Candidate, pool: ZygotePool) -> str:
    description = candidate.description
    cell = first_addition(description) if description is not None else None
    if description is None or cell is None:
        return ""
    function, names = suite_function(cell.clause)
    run = RunContext(pool, 0, {cell.backend: description})
    context = CellContext(run, cell, description)
    outcome = run_cell(run, context, function, lambda each: each.parts(names)).outcome
    return f"one addition: {outcome}: {outcome.message}" if outcome.verdict.fails else ""


def _is_plain(clause: Clause) -> bool:
    """Whether it is about what every model computes, on the host alone."""
    everywhere = clause.speaks_of is SpeaksOf.SUPPORTED and not clause.cases
    return everywhere and clause.level is Level.CORE and not clause.targets
