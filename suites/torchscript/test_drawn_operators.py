"""Operators that are drawn: what a backend takes of PyTorch's operators is right."""

from __future__ import annotations

from conformance.contract import Control, Level, SpeaksOf, clause
from conformance.operators.themes import THEMES
from conformance.run.cell_context import CellContext
from conformance.run.operators import try_operators
from conformance.toolchains.torchscript.promises import OPINFO, REFUSED, SAME_MODULE


@clause(
    "operators.correct",
    source=(REFUSED, SAME_MODULE, OPINFO),
    level=Level.CORE,
    cases=THEMES,
    control=Control.NONE,
    speaks_of=SpeaksOf.GENERATED,
)
def test_drawn(context: CellContext) -> None:
    """Whatever operator of PyTorch is drawn, in whatever dtype, on PyTorch's own samples and on these with other
    layouts, sizes and values, under inference mode too: the lowered program gives what eager PyTorch does, or lowering
    is refused by the operator's name; nothing else is raised, and nothing crashes or hangs."""
    try_operators(context)
