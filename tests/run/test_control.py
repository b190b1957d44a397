"""The control: every clause that plain PyTorch can be asked about holds there, or no failure could be charged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.descriptions import ANY_BACKEND, ANY_BACKENDS

from conformance.api.verdicts import Verdict
from conformance.contract import Control, shipped_clauses, suite_function
from conformance.devices import Limits, ZygotePool
from conformance.run.cell_context import CellContext
from conformance.run.plan import Cell, cells_of
from conformance.run.run_context import RunContext
from conformance.toolchains import toolchain_named

#: Every case of every clause: what goes wrong without a backend is asked of nobody who does it with one.
pytestmark = pytest.mark.parts

#: Cells in which plain PyTorch itself cannot do what the clause asks, and why.
PYTORCHS_OWN = {
    "lite.same-outputs[fork": (Verdict.FAIL, "the mobile bytecode has no fork"),
    "lite.same-outputs[pieces_written": (Verdict.FAIL, "reports/findings/jit_lite_debug_information_of_chunk.py"),
    "lite.same-outputs[view_outlives": (Verdict.FAIL, "the same"),
    "inference.thread-local[linear": (Verdict.FAIL, "weights that are loaded in inference mode cannot be trained"),
    "export.same-outputs[unused_results": (Verdict.FAIL, "torch.export.load cannot read a program that returns a text"),
    "delegate.memory-formats[pooled_channels_last": (Verdict.FAIL, "ExecuTorch's pooling gives contiguous results"),
    "memory.lasting[linear": (Verdict.CRASH, "ExecuTorch's loader releases values that it had no memory for"),
    "memory.lasting[conv_net": (Verdict.CRASH, "the same"),
}

#: Clauses that come to their end only with something that an author has said; all that goes before it must hold.
NEEDS_AN_AUTHOR = {"modes.options-apart": "options to tell from those of others"}


def controlled_cells() -> list[object]:
    """The cells that a control is asked about; one state of availability stands for all."""
    return [
        pytest.param(cell, id=cell.id)
        for clause in shipped_clauses()
        if clause.control is not Control.NONE
        for backend in ANY_BACKENDS
        for cell in cells_of(clause, backend)
    ]


@pytest.fixture(scope="module")
def run_context() -> Iterator[RunContext]:
    pool = ZygotePool(Limits())
    yield RunContext(pool, 0, {"none": ANY_BACKEND})
    pool.close()


@pytest.mark.parametrize("cell", controlled_cells())
def test_plain_pytorch_keeps_the_clause(run_context: RunContext, cell: Cell) -> None:
    lacking = toolchain_named(cell.clause.toolchain).lacking()
    if lacking:
        pytest.skip(lacking)
    function, names = suite_function(cell.clause)
    context = CellContext(run_context, cell, None)
    outcome = context.attempt(function, {name: context.part(name) for name in names})
    if cell.clause.id in NEEDS_AN_AUTHOR:
        assert outcome.verdict is Verdict.NOT_EXERCISED, outcome.message
    elif known := [verdict for start, (verdict, _) in PYTORCHS_OWN.items() if cell.id.startswith(start)]:
        assert [outcome.verdict] == known, "PyTorch has learned this, or fails in another way: see the list"
    else:
        assert outcome.verdict is Verdict.PASS, outcome.message
