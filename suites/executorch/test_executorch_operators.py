"""Operators: which of PyTorch's a delegate takes, in which dtypes, and which it leaves to ExecuTorch's kernels."""

from __future__ import annotations

from conformance.contract import Control, Level, SpeaksOf, clause
from conformance.operators.trial import OperatorTrial
from conformance.run.cell_context import CellContext
from conformance.run.result import Record
from conformance.toolchains.executorch.promises import OPERATOR_SAMPLES, SAME_PROGRAM


@clause(
    "delegate.operators",
    source=(SAME_PROGRAM, OPERATOR_SAMPLES),
    level=Level.REPORTED,
    control=Control.NONE,
    speaks_of=SpeaksOf.OPERATORS,
)
def test_table(context: CellContext, operators: OperatorTrial, record: Record) -> None:
    """In each dtype that PyTorch takes for an operator, and on PyTorch's own samples, the delegate is right, leaves all
    of it to ExecuTorch's kernels, is wrong, fails or crashes: the operator table says which, and how large the errors
    are. What these kernels get wrong by themselves is not applicable."""
    record.operators.extend(operators.rows(context.cell.operator))
