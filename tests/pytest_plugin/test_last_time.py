"""What the last run took is said of the same cells alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.project import Project
from support.small_reports import cell, report_of

from conformance.pytest_plugin._last_time import last_time

CELLS = ["toy.works[add-full-yes/yes]", "toy.works[sub-full-yes/yes]"]
RESUMED = {"cells": 1, "runs": []}


def kept(folder: Path, **changed: Any) -> Path:
    """A folder with the report of an earlier run."""
    rows = [cell("add") | {"id": CELLS[0]}, cell("sub", changed.pop("verdict", "PASS")) | {"id": CELLS[1]}]
    (folder / "report.json").write_text(json.dumps(report_of(*rows, **changed)))
    return folder


@pytest.mark.parametrize(("seconds", "shown"), [(61.6, "1 min 2 s"), (59.4, "59 s"), (7200, "120 min 0 s")])
def test_it_is_that_of_the_report(tmp_path: Path, seconds: float, shown: str) -> None:
    folder = kept(tmp_path, run__seconds=seconds, run__argv=["-n", "2"])
    assert last_time(folder, reversed(CELLS)) == f"the last run of these 2 cells took {shown} (-n 2)"


def test_other_cells_and_runs_that_were_not_whole_say_nothing(tmp_path: Path) -> None:
    assert last_time(tmp_path, CELLS) == ""
    assert last_time(kept(tmp_path), CELLS[:1]) == ""
    assert last_time(kept(tmp_path, verdict="LOST"), CELLS) == ""
    assert last_time(kept(tmp_path, run__resumed=RESUMED), CELLS) == ""
    assert last_time(kept(tmp_path), CELLS)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"run": 1, "plan": {"sha256": 2}}'])
def test_a_damaged_report_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "report.json").write_text(text)
    assert last_time(tmp_path, CELLS) == ""


def test_a_run_tells_it_before_its_first_cell(project: Project) -> None:
    selected = ("--backend=reference", "--conformance-select=lowering.unregistered")
    first = project.run(*selected)
    assert first.exit_code == 0, first.output
    assert "the last run" not in first.output
    for more in ((), ("-n", "2")):
        said = project.run(*selected, *more).output
        told = said.index("conformance: the last run of these ")
        assert told < said.index("lowering  "), said
        assert "--conformance-select=lowering.unregistered" in said[told:]
