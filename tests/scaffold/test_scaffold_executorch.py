"""``conformance new --toolchain executorch``: both halves are certified, and what is wrong in either is found."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from support.places import REPOSITORY
from support.project import Project
from support.reader import Reader
from support.scaffolded import change, install_new, rows_of

from conformance.scaffold.distribution import ScaffoldError, check_name
from conformance.toolchains import toolchain_named

LACKING = toolchain_named("executorch").lacking()
pytestmark = pytest.mark.skipif(bool(LACKING), reason=LACKING)

TUTORIAL = REPOSITORY / "docs" / "tutorial-executorch.md"


@pytest.fixture(scope="module")
def reader(new_project: Callable[[str], Project]) -> Reader:
    """Somebody who has followed the tutorial to its end: a new delegate is written, installed, certified and broken."""
    reader = Reader(new_project("tutorial"))
    reader.follow(TUTORIAL.read_text(encoding="utf-8"))
    return reader


@pytest.fixture
def written(project: Project) -> Project:
    """A project in which a new delegate is installed."""
    return install_new(project, "executorch")


@pytest.mark.quick
def test_it_delegates_computes_refuses_and_can_be_taken_away(written: Project) -> None:
    rows = rows_of(
        written, "(test_delegated or test_blob_garbled) and add- or test_outputs and sandwich or test_lost and add_sub"
    )
    assert {clause: row["verdict"] for clause, row in rows.items()} == {
        "delegate.delegated": "PASS",
        "delegate.outputs": "PASS",
        "program.blob-garbled": "PASS",
        "registry.lost": "PASS",
    }
    assert rows["delegate.delegated"]["notes"] == ["add.forward: 100% of the nodes are delegated"]


@pytest.mark.parametrize(
    ("file", "before", "after", "selection", "phase", "message"),
    [
        ("csrc/delegate.cpp", "return x - y;", "return y - x;", "test_outputs and add_sub", "run", "elements differ"),
        ("partition.py", "    _aten.sub.Tensor,\n", "", "test_delegated and add_sub", "inspect", "kernels: aten.sub"),
        (
            "csrc/delegate.cpp",
            '("MINE_DISABLE") == nullptr',
            '("") == nullptr',
            "test_target",
            "init",
            "expected an error",
        ),
    ],
    ids=["computes another", "takes less", "is always there"],
)
def test_what_is_wrong_in_either_half_is_found(
    written: Project, file: str, before: str, after: str, selection: str, phase: str, message: str
) -> None:
    change(written, file, before, after)
    (row,) = rows_of(written, selection).values()
    assert (row["verdict"], row["phase"]) == ("FAIL", phase)
    assert message in row["message"]


@pytest.mark.slow
def test_the_tutorial_does_what_it_says(reader: Reader) -> None:
    assert len(reader.steps) >= 5
    reader.check()


@pytest.mark.slow
def test_a_new_delegate_keeps_every_written_clause(reader: Reader) -> None:
    report = json.loads((reader.project.folder / "conformance-report/mybackend/report.json").read_text())
    turned_off = "generated cells were turned off by --conformance-generated=0"
    assert report["certification"]["missing"] == [turned_off]
    assert report["backend"]["distribution"] == "mybackend-conformance"
    assert set(report["summary"]["verdicts"]) <= {"PASS", "NOT_EXERCISED", "NOT_APPLICABLE"}
    notes = [note for row in report["cells"] if row["clause"] == "delegate.delegated" for note in row["notes"]]
    taken = [note for note in notes if ": 0% of" not in note]
    assert len(taken) > 20  # it does the work, it does not only leave it to ExecuTorch


@pytest.mark.slow
def test_its_own_test_passes(reader: Reader) -> None:
    run = reader.project.run("mybackend-conformance/tests", "-q")
    assert run.exit_code == 0, run.output


def test_a_name_of_those_that_executorch_brings_is_taken() -> None:
    with pytest.raises(ScaffoldError, match="installed already, by executorch"):
        check_name("xnnpack", "executorch")
