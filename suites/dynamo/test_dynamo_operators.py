"""Operators: which of PyTorch's a torch.compile backend takes, in which dtypes, and how much of each it runs itself."""

from __future__ import annotations

from conformance.contract import Control, Level, SpeaksOf, clause
from conformance.operators.themes import THEMES
from conformance.operators.trial import OperatorTrial
from conformance.run.cell_context import CellContext
from conformance.run.operators import try_operators
from conformance.run.result import Record


@clause(
    "compile.operators",
    source="pytorch/pytorch#89373, and op_db of torch.testing._internal.common_methods_invocations",
    level=Level.REPORTED,
    control=Control.NONE,
    speaks_of=SpeaksOf.OPERATORS,
)
def test_table(context: CellContext, operators: OperatorTrial, record: Record) -> None:
    """In each dtype that PyTorch takes for an operator, and on PyTorch's own samples, between other operators, the
    backend is right, refuses, is wrong, fails or crashes: the operator table says which, how large the errors are, and
    how much of the work PyTorch still does."""
    record.operators.extend(operators.rows(context.cell.operator))


@clause(
    "compile.operators.correct",
    source="op_db of torch.testing._internal.common_methods_invocations, and pytorch/pytorch#89373",
    level=Level.CORE,
    cases=THEMES,
    control=Control.NONE,
    speaks_of=SpeaksOf.GENERATED,
)
def test_operators(context: CellContext) -> None:
    """Whatever operator of PyTorch is drawn, in whatever dtype, on PyTorch's own samples and on these with other
    layouts, sizes and values, under inference mode too, and with gradients: the compiled graph gives what eager PyTorch
    does, or lowering is refused by the operator's name; nothing else is raised, and nothing crashes or hangs."""
    try_operators(context)
