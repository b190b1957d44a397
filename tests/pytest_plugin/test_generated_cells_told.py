"""What pytest's own output says of generated cells, and what a run of a part of them is worth."""

from __future__ import annotations

import pytest
from support.generated_rows import FINDING, generated
from support.small_reports import cell, report_of

from conformance.generate.findings import finding_text
from conformance.pytest_plugin._exit_code import exit_code_of
from conformance.pytest_plugin._run import _failure_text
from conformance.report.model import Report
from conformance.report.parts import read_part


def test_a_failure_tells_each_finding() -> None:
    other = FINDING | {"cause": "sort / value=NaN / crash", "count": 1, "verdict": "CRASH", "phase": "", "inputs": []}
    error = {"text": "both once more", "stderr": "it complained"}
    row = cell("views", "FAIL", "run", "2 causes", generated=generated(findings=[FINDING, other]), error=error)
    text = _failure_text(row, "It works.")
    assert "--- finding 1 of 2\nFAIL in run: addmm / layout=transposed / values (3 times)\n\n1 of 6 elements" in text
    assert (
        "    def forward(self, x):\n        return torch.addmm(x, x, x.t())\n\nwhat is done with it:\n  float" in text
    )
    assert "--- finding 2 of 2\nCRASH: sort / value=NaN / crash (1 time)\n\n" in text
    assert "once more" not in text
    assert "it complained" in text
    assert text.count("what is done with it:") == 1
    assert "after 3 other programs in the same process" in finding_text(FINDING | {"after": 3})
    assert "finding" not in _failure_text(cell("views", "FAIL", "run", "it broke"), "It works.")


@pytest.mark.parametrize(("budget", "short"), [("30s", True), ("25", True), ("24", False), ("0", False)])
def test_a_run_that_generates_too_little_for_a_level_fails_by_its_cells_alone(budget: str, short: bool) -> None:
    """As one of a part of the contract does."""
    rows = cell("add", "UNSUPPORTED"), cell("views", "UNSUPPORTED", generated=generated())
    report = report_of(*rows, run__generated=budget)
    assert report["certification"]["missing"]
    assert exit_code_of([read_part(Report, report)], status=0, has_problems=False) == int(short)
