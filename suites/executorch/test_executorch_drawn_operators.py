"""Operators that are drawn: what a delegate takes of PyTorch's operators is right."""

from __future__ import annotations

from conformance.contract import Control, Level, SpeaksOf, clause
from conformance.operators.themes import THEMES
from conformance.run.cell_context import CellContext
from conformance.run.operators import try_operators
from conformance.toolchains.executorch.promises import OPERATOR_SAMPLES, SAME_PROGRAM


@clause(
    "delegate.operators.correct",
    source=(SAME_PROGRAM, OPERATOR_SAMPLES),
    level=Level.CORE,
    cases=THEMES,
    control=Control.NONE,
    speaks_of=SpeaksOf.GENERATED,
)
def test_drawn(context: CellContext) -> None:
    """Whatever operator of PyTorch is drawn, in whatever dtype, on PyTorch's own samples and on these with other sizes
    and values: where the partitioner takes any of it the program gives what eager PyTorch does; nothing is raised, and
    nothing crashes or hangs. What is left to ExecuTorch's kernels is counted, and judges nobody."""
    try_operators(context)
