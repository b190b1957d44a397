"""Operators: which of PyTorch's the backend takes, in which dtypes. Reported where a run asks for it, never graded."""

from __future__ import annotations

from conformance.contract import Control, Level, SpeaksOf, clause
from conformance.operators.trial import OperatorTrial
from conformance.run.cell_context import CellContext
from conformance.run.result import Record


@clause(
    "operators.table",
    source="pytorch/pytorch#52603, and op_db of torch.testing._internal.common_methods_invocations",
    level=Level.REPORTED,
    control=Control.NONE,
    speaks_of=SpeaksOf.OPERATORS,
)
def test_table(context: CellContext, operators: OperatorTrial, record: Record) -> None:
    """In each dtype that PyTorch takes for an operator, and on PyTorch's own samples, the backend is right, refuses, is
    wrong, fails or crashes: the operator table says which, and how large the errors are."""
    record.operators.extend(operators.rows(context.cell.operator))
