"""Scripts for delegates of ExecuTorch: they show a failure as they were written, and see when it is gone."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.project import Project, Run
from support.scaffolded import change, install_new
from support.scripts import Told, run_script, scripts_of

from conformance.toolchains import toolchain_named

LACKING = toolchain_named("executorch").lacking()
pytestmark = [pytest.mark.runs, pytest.mark.skipif(bool(LACKING), reason=LACKING)]

#: What is told by a value, by an error, by the clause itself, of bytes that a clause has damaged, and by several
#: threads, each with what the script says.
CELLS = {
    "delegate.outputs": "elements",
    "bundle.verifies": "Result verification failed",
    "registry.target": "expected an error, but it was accepted",
    "memory.error-codes": "after blobs were refused",
    "execute.threads": "by one of 4 threads",
}
#: Of the run-time half: what is right, and what breaks it.
SOURCE = "csrc/delegate.cpp"
BREAKS = {"return x + y;": "return x + y + 1;", '"MINE_DISABLE"': '"NO_VARIABLE"'}


@pytest.fixture(scope="module")
def broken(new_project: Callable[[str], Project]) -> Project:
    """A project with a new delegate that adds one too many, and is always available."""
    project = install_new(new_project("broken"), "executorch")
    for right, wrong in BREAKS.items():
        change(project, SOURCE, right, wrong)
    return project


@pytest.fixture(scope="module")
def run(broken: Project) -> Run:
    chosen = "add_sub and (test_outputs or test_verifies or test_threads) or test_target or test_error_codes"
    return broken.run("--backend=mine", "--conformance-reproducers=1", "-k", chosen)


def test_every_script_shows_its_failure_and_sees_when_it_is_gone(broken: Project, run: Run) -> None:
    scripts = {cell.partition("[")[0]: script for cell, script in scripts_of(run, "mine").items()}
    assert set(scripts) == set(CELLS), run.output
    for clause, told in _told(scripts, broken.site).items():
        assert told.exit_code == 1, told.output
        assert "REPRODUCED: " in told.output
        assert CELLS[clause] in told.output
    for right, wrong in BREAKS.items():
        change(broken, SOURCE, wrong, right)
    assert {clause: told.exit_code for clause, told in _told(scripts, broken.site).items()} == dict.fromkeys(CELLS, 0)


def _told(scripts: dict[str, Path], site: Path) -> dict[str, Told]:
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(scripts, pool.map(lambda each: run_script(each, site=site), scripts.values()), strict=True))
