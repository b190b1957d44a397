"""The last lines of a run, as pytest's users know them."""

from __future__ import annotations

import shlex

import pytest
from support.example_reports import cell
from support.project import Project
from support.small_reports import report_of

from conformance.api.verdicts import Verdict
from conformance.pytest_plugin._short_summary import failed_lines

CASES = ["x" * size for size in range(1, 12)] + ["y"]
ROWS = [cell(case, Verdict.FAIL, message=f"expected {case[0].upper()}, found nothing") for case in CASES]
NAMES = {row["id"]: f"suites/test_lowering.py::test_outputs[toy-{row['case']}-full-yes/yes]" for row in ROWS}


def test_each_cause_comes_before_more_cells_of_one() -> None:
    lines = list(failed_lines(report_of(*ROWS), NAMES, 100))
    assert lines[0].startswith("FAILED suites/test_lowering.py::test_outputs[toy-x-full-yes/yes] - FAIL in run: exp")
    assert lines[1].startswith("FAILED suites/test_lowering.py::test_outputs[toy-y-full-yes/yes] - FAIL in run: exp")
    assert lines[-1] == "... and 2 more: -rf lists them all"
    assert max(map(len, lines)) <= 100


def test_the_id_is_never_cut() -> None:
    lines = list(failed_lines(report_of(*ROWS[:2]), NAMES, 30))
    assert lines == [f"FAILED {NAMES[row['id']]}" for row in ROWS[:2]]
    assert [shlex.split(line)[1] for line in lines] == [NAMES[row["id"]] for row in ROWS[:2]]


@pytest.mark.parametrize("options", [(), ("-rf",), ("-v",), ("--tb=short", "-rA")], ids=" ".join)
def test_a_run_lists_what_failed_as_it_was_asked_to(project: Project, options: tuple[str, ...]) -> None:
    run = project.run("--backend=test_backend", "--conformance-select=lowering.exit", *options, COLUMNS="200")
    assert run.exit_code == 1, run.output
    name = "suites/torchscript/test_lowering.py::test_exit[test_backend-add-full-yes/yes]"
    lines = [line for line in run.output.splitlines() if line.startswith("FAILED ")]
    assert len(lines) == 1
    assert lines[0].startswith(f"FAILED {name} - FAIL in run: RuntimeError: ")
    assert ("= FAILURES =" in run.output) == bool({"-v", "--tb=short"} & set(options))
    assert "1 failed" in run.output.splitlines()[-1]
    assert "\x1b[" not in run.output
