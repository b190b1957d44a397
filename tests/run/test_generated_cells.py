"""Cells of generated programs: how they are planned, how they share what they may try, and what a run keeps of them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from support.descriptions import ANY_BACKEND
from support.generated_rows import declared, generated_clause
from support.project import Project

from conformance.api.availability import Availability
from conformance.api.errors import HarnessError
from conformance.api.features import views
from conformance.api.verdicts import Verdict
from conformance.devices import Limits, ZygotePool
from conformance.generate.budget import Budget
from conformance.run.cell_context import CellContext
from conformance.run.plan import cells_of
from conformance.run.run_context import RunContext

#: A clause whose cells note what a generated cell notes, and of which one finds something.
SUITE = '''
from conformance.contract import Level, clause


@clause(
    "scratch.programs", source="none", level=Level.REPORTED, toolchain="torchscript", cases=("elementwise", "views"),
    speaks_of="generated",
)
def test_of_scratch(context, case, record):
    """Programs that nobody wrote give what eager PyTorch gives."""
    assert case is None
    share = context.budget.for_programs(context.cells_that_share)
    record.generated = {
        "seed": context.seed, "tried": share.most or round(share.seconds), "discarded": {}, "refused": {},
        "seconds": 0.5, "values": ["dtype=float32"], "counts": [1], "pairs": [[]], "findings": [],
    }
'''


def test_a_clause_has_a_cell_for_each_theme() -> None:
    cells = cells_of(generated_clause(), ANY_BACKEND)
    assert [(cell.theme, cell.case, cell.host, cell.target) for cell in cells] == [
        ("views", "", Availability.FULL, None),
        ("calls", "", Availability.FULL, None),
    ]
    assert [cell.id for cell in cells] == ["some.programs[views-full-yes/yes]", "some.programs[calls-full-yes/yes]"]
    assert [cell.as_row()["case"] for cell in cells] == ["views", "calls"]
    assert {cell.decided for cell in cells} == {None}


def test_what_is_declared_missing_is_not_tried() -> None:
    needing = generated_clause(needs=(views,))
    lacking = dataclasses.replace(ANY_BACKEND, missing_features={"views": "no strides"})
    assert {cell.decided for cell in cells_of(needing, ANY_BACKEND)} == {None}
    for generated in (True, False):
        assert {cell.decided for cell in cells_of(needing, lacking, generated=generated)} == {Verdict.UNSUPPORTED}


def test_cells_that_are_turned_off_are_planned_all_the_same() -> None:
    cells = cells_of(generated_clause(), ANY_BACKEND, generated=False)
    assert [cell.id for cell in cells] == [cell.id for cell in cells_of(generated_clause(), ANY_BACKEND)]
    assert {(cell.decided, cell.why) for cell in cells} == {
        (Verdict.NOT_EXERCISED, "generated cells were turned off by --conformance-generated=0")
    }


def takes_target(host: object, target: object) -> None:
    """It has a target."""


def takes_none(host: object) -> None:
    """It has none."""


@pytest.mark.parametrize(
    ("function", "particulars", "complaint"),
    [
        (takes_target, {}, "a generated cell has no target"),
        (takes_none, {"targets": (Availability.FULL,)}, "a generated cell has no target"),
        (takes_none, {"hosts": (Availability.FULL, Availability.NONE)}, "in state yes/yes alone, found yes/yes, no/no"),
        (takes_none, {"cases": ()}, "names the themes"),
    ],
)
def test_what_generated_cells_do_not_have_is_refused(function: Any, particulars: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        declared(function, **particulars)


def test_cells_share_what_their_run_may_try() -> None:
    cells = cells_of(generated_clause(), ANY_BACKEND)
    run = RunContext(ZygotePool(Limits()), 7, {"none": ANY_BACKEND}, generated=Budget(50))
    try:
        run.share_budget([*cells, dataclasses.replace(cells[0], decided=Verdict.UNSUPPORTED)])
        context = CellContext(run, cells[0], ANY_BACKEND)
        assert (context.seed, context.budget, context.cells_that_share) == (7, Budget(50), 2)
        assert context.case is None
        run.generated = None
        with pytest.raises(HarnessError, match="none"):
            _ = context.budget
    finally:
        run.close()


#: What makes the clause above known to every process of a run.
EXTENSION = """
from pathlib import Path

from conformance import hookimpl
from conformance.extensions import SuiteFolder


@hookimpl
def conformance_suites():
    return [SuiteFolder("torchscript", Path(__file__).with_name("scratch_suites"))]
"""


@pytest.fixture
def scratch(project: Project) -> Project:
    """A project with the clause above."""
    (project.site / "scratch_suites").mkdir()
    (project.site / "scratch_suites" / "test_scratch.py").write_text(SUITE)
    (project.site / "scratch_extension.py").write_text(EXTENSION)
    metadata = project.site / "scratch-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: scratch\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[conformance]\nscratch = scratch_extension\n")
    return project


@pytest.mark.parametrize(
    ("options", "tried"),
    [
        (("--conformance-generated=40", "-n2"), [40, 40]),
        (("--conformance-generated=40s",), [20, 20]),
        (("--conformance-generated=40s", "views"), [40]),
        (("--conformance-generated=0", "-n1"), [None, None]),
    ],
    ids=["number", "time", "selected", "none"],
)
def test_a_run_says_what_was_tried(scratch: Project, options: tuple[str, ...], tried: list[int | None]) -> None:
    budget, *others = options
    chosen = f"test_of_scratch and {others.pop()}" if "views" in others else "test_of_scratch"
    run = scratch.run("--backend=reference", "-q", "--conformance-seed=9", "-k", chosen, budget, *others)
    assert run.exit_code == 0, run.output
    report = run.report("reference")
    assert report["run"]["generated"] == budget.partition("=")[2]
    assert [row.get("generated", {}).get("tried") for row in report["cells"]] == tried
    assert {row["verdict"] for row in report["cells"]} == {"PASS" if tried[0] else "NOT_EXERCISED"}
    if tried[0]:
        assert report["cells"][0]["generated"]["seed"] == 9


@pytest.mark.quick
def test_a_budget_that_makes_no_sense_is_a_usage_error(project: Project) -> None:
    run = project.run("--backend=reference", "--conformance-generated=many")
    assert run.exit_code == 4, run.output
    assert "--conformance-generated: a number of programs" in run.output
