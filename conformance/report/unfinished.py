"""Which planned cells a run did not come to, and why."""

from __future__ import annotations

from collections import Counter

from conformance.api.verdicts import Verdict
from conformance.contract import Level
from conformance.report.model import Report


def unfinished(report: Report) -> list[str]:
    """A sentence for those that never came back, and one for those that were left out; none where every cell did."""
    planned = len(report.cells)
    levels = Counter(row.level for row in report.cells if row.is_left_out)
    left_out = levels.total()
    lost = sum(row.verdict is Verdict.LOST for row in report.cells) - left_out
    sentences = []
    if lost or not (left_out or report.run.complete):
        sentences.append(f"{lost} of {planned} planned cells never came back")
    if left_out:
        budget = f"the budget of {report.run.budget}" if report.run.budget else "the time of the run"
        which = ", ".join(f"{levels[level]} {level.value}" for level in Level if levels[level])
        sentences.append(f"{left_out} of {planned} cells left out: {budget} was over ({which})")
    return sentences
