"""What the operator table of a run says."""

from __future__ import annotations

from typing import Any

from support.project import Run


def outcomes(run: Run, backend: str) -> dict[tuple[str, str], str]:
    """(operator, dtype) → outcome."""
    return {(row["operator"], row["dtype"]): row["outcome"] for row in run.report(backend)["operators"]["rows"]}


def rows(run: Run, backend: str, operator: str) -> dict[str, dict[str, Any]]:
    """Dtype → row."""
    return {row["dtype"]: row for row in run.report(backend)["operators"]["rows"] if row["operator"] == operator}
