"""Operators that are drawn: what a delegate takes of PyTorch's operators is right."""

from __future__ import annotations

from conformance.contract import Control, Level, SpeaksOf, clause
from conformance.operators.themes import THEMES
from conformance.run.cell_context import CellContext
from conformance.run.operators import try_operators

#: What lowering promises, and whose samples are tried.
SOURCE = (
    "https://docs.pytorch.org/executorch/stable/compiler-delegate-and-partitioner.html, "
    "op_db of torch.testing._internal.common_methods_invocations"
)


@clause(
    "delegate.operators.correct",
    source=SOURCE,
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
