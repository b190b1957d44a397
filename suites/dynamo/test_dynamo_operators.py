"""Operators: which of PyTorch's a torch.compile backend takes, in which dtypes, and how much of each it runs itself."""

from __future__ import annotations

from conformance.contract import Control, Level, clause


@clause(
    "compile.operators",
    source="pytorch/pytorch#89373, and op_db of torch.testing._internal.common_methods_invocations",
    level=Level.REPORTED,
    toolchain="dynamo",
    control=Control.NONE,
    speaks_of="operators",
)
def test_table(bench, operators, record):
    """In each dtype that PyTorch takes for an operator, and on PyTorch's own samples, between other operators, the
    backend is right, refuses, is wrong, fails or crashes: the operator table says which, how large the errors are, and
    how much of the work PyTorch still does."""
    record.operators.extend(operators.rows(bench.cell.operator))
