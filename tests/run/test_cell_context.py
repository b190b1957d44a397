"""What a clause can ask of the cell that it is tried in."""

from __future__ import annotations

import dataclasses

import pytest
from support.descriptions import ANY_BACKEND

from conformance.contract import shipped_clauses
from conformance.devices import Limits, ZygotePool
from conformance.run.cell_context import CellContext
from conformance.run.plan import cells_of
from conformance.run.run_context import RunContext


@pytest.mark.parametrize(
    ("missing", "taken"),
    [
        ({}, ["add", "frozen", "behind_lists"]),
        ({"views": "no strides"}, ["add", "frozen"]),
        ({"submodules": "one module only"}, ["add", "frozen"]),
        ({"constants": "no constants", "views": "no strides"}, ["add"]),
    ],
)
def test_other_cases_are_those_that_the_backend_takes(missing: dict[str, str], taken: list[str]) -> None:
    backend = dataclasses.replace(ANY_BACKEND, missing_features=missing)
    clause = next(each for each in shipped_clauses() if each.id == "lowering.outputs")
    context = CellContext(
        RunContext(ZygotePool(Limits()), 0, {backend.source.name: backend}), cells_of(clause, backend)[0], None
    )
    assert [each.name for each in context.other_cases("add", "frozen", "behind_lists")] == taken
