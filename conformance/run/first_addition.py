"""The plainest cell of a contract: one addition, compiled and run. What fails in it fails everywhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

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
    """The first case of the corpus, one addition, in the clause about every case that sees most: the one that the
    self-test has proven most often. None for a toolchain without one, or where that cell is decided."""
    evidence = shipped_evidence()
    plain = [each for each in shipped_clauses() if each.toolchain == description.toolchain and _is_plain(each)]
    if not plain:
        return None
    cells = cells_of(max(plain, key=lambda clause: len(evidence.of(clause.id))), description)
    return cells[0] if cells and cells[0].decided is None else None


def tried(candidates: Iterable[Candidate], pool: ZygotePool) -> Iterator[Candidate]:
    """The candidates, with what went wrong when each that can be loaded was to add two tensors."""
    for each in candidates:
        yield dataclasses.replace(each, problem=each.problem or _problem(each, pool))


def _problem(candidate: Candidate, pool: ZygotePool) -> str:
    description = candidate.description
    cell = first_addition(description) if description is not None else None
    if description is None or cell is None:
        return ""
    function, names = suite_function(cell.clause)

    def arguments(context: CellContext) -> dict[str, Any]:
        return {name: context.part(name) for name in names}

    run = RunContext(pool, 0, {cell.backend: description})
    outcome = run_cell(run, CellContext(run, cell, description), function, arguments).outcome
    return f"one addition: {outcome}: {outcome.message}" if outcome.verdict.fails else ""


def _is_plain(clause: Clause) -> bool:
    """Whether it is about what every model computes, on the host alone."""
    everywhere = clause.speaks_of is SpeaksOf.SUPPORTED and not clause.cases
    return everywhere and clause.level is Level.CORE and not clause.targets
