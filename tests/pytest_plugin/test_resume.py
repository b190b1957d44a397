"""A run that was killed, interrupted or out of time is gone on with, and the report is that of one run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from support.project import Project, Run

RESUME = "--conformance-resume"
#: The process ends, as by SIGKILL, when four cells have been kept.
KILLED = """
    import os

    ended = []

    def pytest_runtest_logfinish():
        ended.append(1)
        if len(ended) == 4:
            os._exit(9)
"""


def kept_in(project: Project, backend: str) -> dict[str, dict[str, Any]]:
    """The cells that a run of a part had finished."""
    text = (project.folder / "conformance-report" / backend / "part/cells.jsonl").read_text()
    return {row["id"]: row for row in map(json.loads, text.splitlines())}


@pytest.mark.parts
def test_a_killed_run_is_gone_on_with(project: Project, shared_run: Callable[..., Run]) -> None:
    selected = ("--backend=reference", "--conformance-select=composition")
    project.write("killed.py", KILLED)
    path = f"{project.site}:{project.folder}"
    assert project.run(*selected, "-p", "killed", PYTHONPATH=path).exit_code == 9
    kept = kept_in(project, "reference")
    assert len(kept) == 4

    other = project.run(*selected, RESUME, "--conformance-seed=3", "--conformance-reruns=2")
    assert other.exit_code == 4
    said = " ".join(other.output.split())
    assert "cannot be gone on with: it differs in the seed: 0, and now 3; in the number of reruns: 1, and now 2" in said

    beside = project.run(*selected, "--backend=python_control", RESUME)
    assert beside.exit_code == 4
    said = " ".join(beside.output.split())
    assert "what was interrupted of reference can be gone on with: name no other backend" in said

    run = project.run(*selected, RESUME)
    assert run.exit_code == 0, run.output
    report = run.report("reference")
    whole = shared_run(*selected).report("reference")
    rows = {row["id"]: row for row in report["cells"]}
    assert {id: rows[id] for id in kept} == kept
    assert {id: row["verdict"] for id, row in rows.items()} == {row["id"]: row["verdict"] for row in whole["cells"]}
    assert report["plan"] == whole["plan"]
    assert report["run"]["complete"]
    assert report["run"]["resumed"]["cells"] == 4
    assert len(report["run"]["resumed"]["runs"]) == 1
    assert kept_in(project, "reference") == rows
    since = f"resumed: 4 of {len(rows)} cells are of runs that were interrupted, since 20"
    assert since in " ".join(run.output.split())
    assert since in (run.report_folder("reference") / "report.md").read_text()

    again = project.run(*selected, RESUME)
    assert again.exit_code == 4
    assert "there is nothing to go on with" in again.output


def test_workers_go_on_with_what_failed_and_with_its_reproducer(project: Project) -> None:
    selected = ("--backend=backend_with_compiler_demo", "-k", "lowering.outputs", "--conformance-reruns=0")
    first = project.run(*selected, "-x")
    assert first.exit_code == 10, first.output
    (failed,) = (row for row in first.report("backend_with_compiler_demo")["cells"] if row["verdict"] == "FAIL")
    run = project.run(*selected, RESUME, "-n", "2")
    assert run.exit_code == 1, run.output
    report = run.report("backend_with_compiler_demo")
    assert failed in report["cells"]
    assert report["run"]["complete"]
    assert (run.report_folder("backend_with_compiler_demo") / failed["reproducer"]["script"]).is_file()
    assert "FAILED suites/torchscript/test_lowering.py::test_outputs[backend_with_compiler_demo-" in run.output


def test_what_a_run_had_no_time_for_is_tried_by_the_next(project: Project) -> None:
    selected = ("--backend=reference", "--conformance-select=lowering.unregistered,lowering.repeatable")
    assert project.run(*selected, "--conformance-budget=0.01s").exit_code == 10
    run = project.run(*selected, "--conformance-budget=1h", RESUME)
    assert run.exit_code == 0, run.output
    assert {row["verdict"] for row in run.report("reference")["cells"]} <= {"PASS", "UNSUPPORTED"}
