"""Every id that is printed chooses: by ``--conformance-select``, ``-k``, or as an argument of pytest."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.example_reports import cell
from support.made_reports import described, planned, put
from support.project import Project, Run
from support.small_reports import report_of

from conformance.api.verdicts import Verdict
from conformance.pytest_plugin._options import parse
from conformance.pytest_plugin._selection import Selection, failed_cells, found_paths
from conformance.report.causes import causes_of
from conformance.report.model import Report
from conformance.report.parts import read_part
from conformance.run.plan import Cell

CELL = "lowering.outputs[add-full-yes/yes]"
TEST = "suites/torchscript/test_lowering.py::test_outputs[toy-add-full-yes/yes]"
#: Two clauses of which one cell runs in a moment.
CLAUSE = "lowering.unregistered"


@pytest.fixture(scope="module")
def plan() -> list[Cell]:
    """Every cell of the contract of a backend called toy."""
    return planned(described())


def chosen(term: str, plan: list[Cell]) -> list[str]:
    """The ids of the cells that an id chooses."""
    selection = Selection([term], {})
    return [each.id for each in plan if selection.terms_of(each)]


@pytest.mark.parametrize(
    "term",
    [CELL, TEST, TEST.replace("torchscript/", ""), TEST.replace("suites/torchscript", "/site/conformance/suites")],
)
def test_a_cell_is_chosen_by_each_of_its_ids(term: str, plan: list[Cell]) -> None:
    assert chosen(term, plan) == [CELL]


@pytest.mark.parametrize("term", ["lowering.outputs", TEST.partition("[")[0]])
def test_a_clause_is_chosen_by_its_id_and_by_its_function(term: str, plan: list[Cell]) -> None:
    assert chosen(term, plan) == [each.id for each in plan if each.clause.id == "lowering.outputs"] != []


@pytest.mark.parametrize("term", ["lowering", TEST.partition("::")[0]])
def test_a_suite_is_chosen_by_its_name_and_by_its_file(term: str, plan: list[Cell]) -> None:
    assert chosen(term, plan) == [each.id for each in plan if each.clause.suite == "lowering"] != []


def test_what_chooses_nothing_is_said_with_what_is_close(plan: list[Cell]) -> None:
    with pytest.raises(pytest.UsageError) as raised:
        Selection([CELL, "lowering.output"], {}).expect_all_met(plan)
    assert "--conformance-select=lowering.output chooses nothing. Close to it: lowering.outputs" in str(raised.value)
    assert CELL not in str(raised.value)
    Selection([CELL, "save_load"], {}).expect_all_met(plan)


def test_a_failure_is_chosen_in_the_backend_that_failed(tmp_path: Path, plan: list[Cell]) -> None:
    digest = "0123456789ab"
    row = cell("add", Verdict.FAIL, message="expected 1, found 2", fingerprint=digest)
    report = report_of(row, cell("conv", Verdict.PASS))
    (tmp_path / "toy/part").mkdir(parents=True)
    put(tmp_path / "toy/part/report.json", report)
    (cause,) = causes_of(read_part(Report, report))
    for term in (digest, cause.id):
        failed = failed_cells([term, "lowering"], tmp_path, ["toy", "other"])
        assert failed == {term: [("toy", CELL)]}
        selection = Selection([term], json.loads(json.dumps(failed)))
        assert [each.id for each in plan if selection.terms_of(each)] == [CELL]
        others = planned(described(source=described().source.__class__("other")))
        assert not any(selection.terms_of(each) for each in others)
    with pytest.raises(pytest.UsageError, match="no report has a failure with the fingerprint ba9876543210"):
        failed_cells(["ba9876543210"], tmp_path, ["toy"])


def test_a_list_of_ids_is_cut_at_its_commas_alone(pytestconfig: pytest.Config) -> None:
    given = ["lowering, save_load", "one.table[a,b-full]", "lowering"]
    option = {**vars(pytestconfig.option), "conformance_select": given}
    assert parse(pytest.Config.fromdictargs(option, [])).select == ("lowering", "save_load", "one.table[a,b-full]")


def test_a_printed_test_is_found_wherever_the_suites_are_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_debug.py").touch()
    for given in (TEST, TEST.replace("torchscript/", "")):
        file, _, rest = found_paths([given])[0].partition("::")
        assert Path(file).is_file()
        assert Path(file).name == "test_lowering.py"
        assert rest == "test_outputs[toy-add-full-yes/yes]"
    for left in ("-x", "suites/test_none.py", "test_debug.py", "elsewhere/test_lowering.py"):
        assert found_paths([left]) == [left]


def ran(run: Run) -> list[str]:
    """The ids of the cells that a run tried."""
    assert run.exit_code == 0, run.output
    return [row["id"] for row in run.report("reference")["cells"]]


@pytest.mark.parts
def test_ids_of_a_report_run_again(project: Project, shared_run: Callable[..., Run]) -> None:
    first: dict[str, Any] = shared_run("--backend=reference", "-k", CLAUSE).report("reference")
    ids = [row["id"] for row in first["cells"]]
    assert ids
    assert {row["clause"] for row in first["cells"]} == {CLAUSE}
    node = TEST.replace("toy", "reference")
    assert ran(project.run("--backend=reference", f"--conformance-select={CLAUSE},{node}", "-n", "1")) == [CELL, *ids]
    assert ran(project.run("--backend=reference", node)) == [CELL]
    assert ran(project.run("--backend=reference", "-k", CELL)) == [CELL]


@pytest.mark.quick
def test_an_id_of_nothing_is_refused_before_anything_runs(project: Project) -> None:
    run = project.run("--backend=reference", "--conformance-select=lowering.outptus")
    assert run.exit_code == 4
    assert "--conformance-select=lowering.outptus chooses nothing. Close to it: lowering.outputs" in run.output
