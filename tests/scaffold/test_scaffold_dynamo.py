"""``conformance new --toolchain dynamo``: the backend is certified, computes by its table, and can be broken."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from support.places import REPOSITORY
from support.project import Project
from support.reader import Reader
from support.scaffolded import change, install_new, rows_of

TUTORIAL = REPOSITORY / "docs" / "tutorial-dynamo.md"


@pytest.fixture(scope="module")
def reader(new_project: Callable[[str], Project]) -> Reader:
    """Somebody who has followed the tutorial to its end: a new backend is written, installed, certified and broken."""
    reader = Reader(new_project("tutorial"))
    reader.follow(TUTORIAL.read_text(encoding="utf-8"))
    return reader


@pytest.fixture
def written(project: Project) -> Project:
    """A project in which a new backend is installed."""
    return install_new(project, "dynamo")


@pytest.mark.parts
def test_it_lowers_refuses_and_tells_of_its_runtime(written: Project) -> None:
    rows = rows_of(written, "test_refusal and custom_operator or chain and (test_once or test_dynamo_availability)")
    assert {clause: row["verdict"] for clause, row in rows.items()} == {
        "compile.once": "PASS",
        "compile.refusal": "PASS",
        "runtime.absent": "PASS",
        "runtime.entry-point": "PASS",
        "runtime.fallback": "UNSUPPORTED",
        "runtime.host": "PASS",
        "runtime.target": "PASS",
    }
    (note,) = rows["runtime.absent"]["notes"]
    assert "which says what to do" in note
    assert "mine cannot compile without its runtime, mine_conformance.kernels" in note


def test_it_has_a_kernel_for_all_that_it_does_not_declare_missing(written: Project) -> None:
    """A model that comes to the corpus must not take the level from whoever has just begun."""
    run = written.run(
        "--backend=mine", "-n", "2", "-k", "test_dynamo_lowering and test_outputs or export and same_outputs"
    )
    assert set(run.report("mine")["summary"]["verdicts"]) <= {"PASS", "UNSUPPORTED"}, run.output


@pytest.mark.slow
def test_a_kernel_that_is_wrong_or_gone_is_found(written: Project) -> None:
    change(written, "kernels.py", "torch.where(x <= 0,", "torch.where(x >= 0,")
    row = rows_of(written, "chain and test_outputs and test_dynamo_lowering")["compile.outputs"]
    assert (row["verdict"], row["phase"]) == ("FAIL", "run")
    change(written, "kernels.py", "    aten.relu.default: _relu,\n", "")
    row = rows_of(written, "chain and test_outputs and test_dynamo_lowering")["compile.outputs"]
    assert (row["verdict"], row["phase"]) == ("FAIL", "lower")
    assert "mine has no kernel for aten.relu.default (from: return torch.relu(x - y) * 2 - y" in row["error"]["text"]


@pytest.mark.slow
def test_that_pytorch_computes_is_measured_and_not_believed(written: Project) -> None:
    change(written, "backend.py", '        .without(features.delegation, "The kernels are PyTorch\'s own.")\n', "")
    rows = rows_of(written, "chain and (test_delegated or test_target or test_dynamo_availability and test_fallback)")
    assert {row["verdict"] for row in rows.values()} == {"FAIL"}
    assert set(rows) == {"compile.delegated", "runtime.fallback", "runtime.target"}
    assert rows["runtime.target"]["behaviour"]["observed"]["present: program: run"] == "by PyTorch"


@pytest.mark.runs
def test_the_tutorial_does_what_it_says(reader: Reader) -> None:
    assert len(reader.steps) >= 5
    reader.check()


@pytest.mark.runs
def test_a_new_backend_reaches_complete_as_it_was_written(reader: Reader) -> None:
    report = json.loads((reader.project.folder / "conformance-report/mybackend/report.json").read_text())
    said = {name: report["certification"][name] for name in ("level", "achieved", "missing", "excused")}
    assert said == {"level": "complete", "achieved": "complete", "missing": [], "excused": False}
    assert report["backend"]["distribution"] == "mybackend-conformance"
    assert report["summary"]["verdicts"]["PASS"] > 200  # it does the work, it does not only refuse
    assert sorted(report["backend"]["features"]["missing"]) == [
        "convolution",
        "custom_operators",
        "delegation",
        "packages",
        "random_numbers",
    ]
    refusals = [row["verdict"] for row in report["cells"] if row["clause"] == "compile.refusal"]
    assert refusals
    assert set(refusals) == {"PASS"}


@pytest.mark.parts
def test_its_own_tests_pass(written: Project) -> None:
    run = written.run("new/tests", "-q")
    assert run.exit_code == 0, run.output
