"""The exit code of a run: what its reports say, and what pytest does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from conformance.api.verdicts import Verdict
from conformance.pytest_plugin import EXIT_HARNESS_ERROR, EXIT_INCOMPLETE
from conformance.report.generated import budget_of
from conformance.report.model import Report


def exit_code_of(reports: Sequence[Report], status: int, *, has_problems: bool) -> int:
    """The exit code of a run with these reports, of which pytest says ``status``."""
    rows = [row for report in reports for row in report.cells]
    if any(row.verdict is Verdict.HARNESS_ERROR for row in rows):
        return EXIT_HARNESS_ERROR
    if any(row.verdict is Verdict.LOST and not row.is_left_out for row in rows):
        return EXIT_INCOMPLETE
    if status != pytest.ExitCode.OK:
        return status
    if has_problems or any(row.fails for row in rows):
        return int(pytest.ExitCode.TESTS_FAILED)
    if any(map(_lacks_what_was_left_out, reports)):
        return EXIT_INCOMPLETE
    return int(pytest.ExitCode.TESTS_FAILED) if any(map(_falls_short, reports)) else status


def _falls_short(report: Report) -> bool:
    """Whether it is of a whole run that does not reach its level. A part can only fail by its cells."""
    return bool(report.certification.missing) and not report.certification.excused and not _is_a_part(report)


def _lacks_what_was_left_out(report: Report) -> bool:
    """Whether cells were left out without which nothing can be said: of a part, or of the level that was wanted."""
    needed = [row for row in report.cells if _is_a_part(report) or report.certification.level.includes(row.level)]
    return any(row.is_left_out for row in needed)


def _is_a_part(report: Report) -> bool:
    """Whether no level is judged: by -k, -m, or a budget for generated cells that shows none."""
    budget = budget_of(report.run)
    return bool(report.plan.deselected) or (budget is not None and not budget.shows_a_level)
