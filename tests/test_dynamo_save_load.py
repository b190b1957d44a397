"""Save and load for torch.compile: the clauses leave out what PyTorch cannot do, and nothing else."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator

import pytest
from test_control import ANY_BACKENDS

from conformance.bench import Bench
from conformance.contract import shipped_clauses, suite_function
from conformance.devices import Limits, ZygotePool
from conformance.plan import cells_of
from conformance.verdict import Verdict
from conformance.workshop import Workshop

(EXPORTED,) = (each for each in shipped_clauses() if each.id == "export.same-outputs")
SUITE = sys.modules["conformance._suites.test_dynamo_save_load"]


@pytest.fixture(scope="module")
def workshop() -> Iterator[Workshop]:
    pool = ZygotePool(Limits())
    yield Workshop(pool, 0, {"none": ANY_BACKENDS[-1]})
    pool.close()


@pytest.mark.parametrize("name", SUITE.NOT_EXPORTED)
def test_what_is_left_out_cannot_be_exported(workshop: Workshop, name: str) -> None:
    (cell,) = cells_of(dataclasses.replace(EXPORTED, cases=(name,)), ANY_BACKENDS[-1])
    function, names = suite_function(EXPORTED)
    bench = Bench(workshop, cell, None)
    outcome = bench.attempt(function, {each: bench.part(each) for each in names})
    assert outcome.verdict is Verdict.FAIL, "PyTorch has learned this: take it off the list"
