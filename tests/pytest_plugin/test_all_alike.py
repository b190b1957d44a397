"""A backend with which nothing works costs a few cells, and one with which something works costs none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from support.example_reports import cell
from support.made_reports import described
from support.project import Project

from conformance.api.verdicts import Verdict
from conformance.pytest_plugin._all_alike import ENOUGH, AllAlike
from conformance.run.first_addition import first_addition

FIRST = "lowering.outputs[add-full-yes/yes]"
BROKEN = "ImportError: install the vendor's package"


def failing(case: str, message: str = BROKEN) -> dict[str, Any]:
    """A cell that failed."""
    return cell(case, Verdict.FAIL, message=message)


def stopped_after(rows: Iterable[dict[str, Any]]) -> int | None:
    """After how many rows a run is stopped."""
    alike = AllAlike(FIRST)
    said = [place for place, row in enumerate(rows, start=1) if alike.verdict_on(row)]
    assert len(said) <= 1, "it is said once"
    return said[0] if said else None


OTHERS = [failing(f"case_{number}") for number in range(100)]
PASSED = [cell(f"fine_{number}", Verdict.PASS) for number in range(100)]


def test_a_backend_that_fails_alike_is_stopped_after_a_few_cells() -> None:
    assert stopped_after([failing("add"), *OTHERS]) == ENOUGH
    untried = [cell(f"none_{number}", Verdict.NOT_EXERCISED) for number in range(9)]
    assert stopped_after([*untried, failing("add"), *OTHERS]) == ENOUGH + len(untried)


def test_a_clause_that_holds_whatever_a_backend_does_does_not_hide_it() -> None:
    assert stopped_after([failing("add"), *PASSED[:2], *OTHERS]) == ENOUGH + 2


@pytest.mark.parametrize(
    "rows",
    [
        [cell("add", Verdict.PASS), *OTHERS],
        OTHERS,
        [cell("add", Verdict.XFAIL), *OTHERS],
        [failing("add", "another"), *OTHERS],
        [failing("add"), *PASSED[:20], *OTHERS],
        [failing("add"), *PASSED],
    ],
    ids=["addition-works", "addition-not-tried", "known", "addition-fails-otherwise", "much-works", "all-else-works"],
)
def test_where_something_else_works_the_run_goes_on(rows: list[dict[str, Any]]) -> None:
    assert stopped_after(rows) is None


def test_the_first_addition_is_one() -> None:
    first = first_addition(described())
    assert first is not None
    assert first.id == FIRST


def test_a_run_in_which_nothing_works_says_so_once(project: Project) -> None:
    run = project.run("--backend=tvm", "--conformance-generated=0")
    assert run.exit_code == 10, run.output
    assert run.output.count("The run was stopped there; --conformance-go-on tries the rest") == 1
    rows = run.report("tvm")["cells"]
    tried = [row for row in rows if row["verdict"] in ("PASS", "FAIL")]
    assert ENOUGH <= len(tried) < 20 < len(rows)
    lines = [line for line in run.output.splitlines() if line.startswith("FAILED ")]
    assert (
        sum(line.startswith("FAILED suites/dynamo/test_dynamo_lowering.py::test_outputs[tvm-") for line in lines) == 1
    )
    assert "Please install apache-tvm" in run.output
