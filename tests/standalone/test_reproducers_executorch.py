"""Scripts for delegates of ExecuTorch: they show a failure as they were written, and see when it is gone."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.project import Project, Run
from support.scripts import Told, run_script, scripts_of

from conformance.scaffold.distribution import NewPlugin, write
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
WRONG, RIGHT = "return x + y + 1;", "return x + y;"


@pytest.fixture(scope="module")
def broken(new_project: Callable[[str], Project]) -> Project:
    """A project with a new delegate that adds one too many, and is always available."""
    project = new_project("broken")
    write(NewPlugin("mine", "executorch"), project.folder / "new")
    (project.folder / "new/src/mine_conformance").rename(project.site / "mine_conformance")
    metadata = project.site / "mine-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[conformance_backends]\nmine = mine_conformance.backend:MineBackend\n")
    source = delegate_of(project)
    source.write_text(source.read_text().replace(RIGHT, WRONG).replace('("MINE_DISABLE")', '("NO_VARIABLE")'))
    return project


def delegate_of(project: Project) -> Path:
    """The source of the run-time half."""
    return project.site / "mine_conformance/csrc/delegate.cpp"


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
    source = delegate_of(broken)
    source.write_text(source.read_text().replace(WRONG, RIGHT).replace('("NO_VARIABLE")', '("MINE_DISABLE")'))
    assert {clause: told.exit_code for clause, told in _told(scripts, broken.site).items()} == dict.fromkeys(CELLS, 0)


def _told(scripts: dict[str, Path], site: Path) -> dict[str, Told]:
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(scripts, pool.map(lambda each: run_script(each, site=site), scripts.values()), strict=True))
