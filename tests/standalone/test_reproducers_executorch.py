"""Scripts for delegates of ExecuTorch: they show a failure as they were written, and see when it is gone."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from standalone.findings import files_of, written
from support.project import Project, Run
from support.scaffolded import change, install_new
from support.scripts import Told, run_script, scripts_of

from conformance.generate.program import Line, Program, TensorSpec
from conformance.generate.steps import Call, Step, Trial
from conformance.standalone.reproducers._scenario import ReproducedBackend
from conformance.toolchains import Reproduction, toolchain_named

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
SABOTEURS = "torch_conformance_saboteurs_executorch"
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


def test_the_script_of_a_generated_finding_lowers_saves_and_copies(tmp_path: Path) -> None:
    """A model of a saboteur that is wrong about large numbers, and of the control that it breaks."""
    large = Call((TensorSpec("float32", (2, 3), values="large"),))
    model = Program((("x", "Tensor"),), (Line("mul", "y = x * x"),), "{'all': y}")
    others = (Step("copy"), Step("call", 1, call=large), Step("save_load"), Step("call", 2, call=large))
    trial = Trial((model,), (Step("model"), Step("lower"), Step("call", call=large), *others))
    scripts = {}
    for name, author in (
        ("saturates_quietly", "generated:SaturatesQuietly"),
        ("bridge_control", "control:BridgeControl"),
    ):
        backend = ReproducedBackend(name, f"{SABOTEURS}.{author}", Reproduction(loads=True, lowers=True))
        scripts[name] = written(tmp_path / name, files_of(trial, "values", "executorch", backend))
    told = _told(scripts, tmp_path)
    outputs = "\n".join(f"--- {name}\n{each.output}" for name, each in told.items())
    assert {name: each.exit_code for name, each in told.items()} == {"saturates_quietly": 1, "bridge_control": 0}, (
        outputs
    )
    for step in ("step 3 (call): result 0", "step 5 (call)", "step 7 (call)"):
        assert step in told["saturates_quietly"].output


def _told(scripts: dict[str, Path], site: Path) -> dict[str, Told]:
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(scripts, pool.map(lambda each: run_script(each, site=site), scripts.values()), strict=True))
