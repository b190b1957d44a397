"""Save and load for torch.compile: the clauses leave out what PyTorch cannot do, and nothing else."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from support.descriptions import ANY_BACKENDS

from conformance.api.verdicts import Verdict
from conformance.contract import shipped_clauses, suite_function
from conformance.devices import Limits, ZygotePool
from conformance.run.cell_context import CellContext
from conformance.run.plan import cells_of
from conformance.run.run_context import RunContext

(EXPORTED,) = (each for each in shipped_clauses() if each.id == "export.same-outputs")
SUITE: Any = inspect.getmodule(suite_function(EXPORTED)[0])


@pytest.fixture(scope="module")
def run_context() -> Iterator[RunContext]:
    pool = ZygotePool(Limits())
    yield RunContext(pool, 0, {"none": ANY_BACKENDS[-1]})
    pool.close()


@pytest.mark.parametrize("name", SUITE.NOT_EXPORTED)
def test_what_is_left_out_cannot_be_exported(run_context: RunContext, name: str) -> None:
    (cell,) = cells_of(dataclasses.replace(EXPORTED, cases=(name,)), ANY_BACKENDS[-1])
    function, names = suite_function(EXPORTED)
    context = CellContext(run_context, cell, None)
    outcome = context.attempt(function, {each: context.part(each) for each in names})
    assert outcome.verdict is Verdict.FAIL, "PyTorch has learned this: take it off the list"
