"""``conformance new``: what it writes installs, runs, and reaches the level that it says; bad input is explained."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from conftest import Project, Run

from conformance.cli import main
from conformance.scaffold import Plan, ScaffoldError, check_name, rendered, toolchains, write


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project in which the distribution of a new backend is installed as pip installs it."""
    project = Project(tmp_path_factory.mktemp("generated"))
    folder = project.folder / "mybackend-conformance"
    assert main(["new", "mybackend", str(folder)]) == 0
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--no-index", "--target", str(project.site), str(folder)], check=True)
    return project


@pytest.fixture(scope="session")
def certified(generated: Project) -> tuple[Run, float]:
    """The whole contract on the new backend, and how many seconds it took."""
    started = time.monotonic()
    run = generated.run("--backend=mybackend", "-n", "2", seconds=900)
    return run, time.monotonic() - started


def test_a_new_backend_reaches_mobile_as_it_was_written(certified: tuple[Run, float]) -> None:
    run, _ = certified
    assert run.exit_code == 0, run.output
    assert "Level mobile: reached." in run.output
    report = run.report("mybackend")
    assert report["certification"]["achieved"] == "mobile"
    assert report["backend"]["distribution"] == "mybackend-conformance"
    assert report["summary"]["verdicts"]["PASS"] > 200  # it does the work, it does not only refuse


def test_a_new_backend_refuses_what_it_declares_missing(certified: tuple[Run, float]) -> None:
    run, _ = certified
    refusals = {cell: verdict for cell, verdict in run.verdicts("mybackend").items() if "lowering.refusal" in cell}
    assert len(refusals) > 10
    assert {verdict for verdict, _ in refusals.values()} == {"PASS"}


def test_its_own_test_passes(generated: Project) -> None:
    run = generated.run("mybackend-conformance/tests", "-q")
    assert run.exit_code == 0, run.output


@pytest.mark.parametrize("with_library", [False, True])
def test_what_is_written_is_formatted_and_free_of_faults(tmp_path: Path, with_library: bool) -> None:
    plan = Plan("my_npu", "torchscript", Path("/opt/npu/libnpu.so") if with_library else None, "npu")
    folder = tmp_path / "new"
    written = write(plan, folder)
    assert (folder / "src/my_npu_conformance/csrc/delegate.cpp" in written) is not with_library
    for command in (["format", "--check"], ["check", "--extend-select=D1", "--ignore=D103"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--isolated", "--line-length=120", str(folder)]
        done = subprocess.run(ruff, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    for path in written:
        assert "{{" not in path.name
        assert "{%" not in path.read_text()
    workflow = yaml.safe_load((folder / ".github/workflows/conformance.yml").read_text())
    assert workflow["env"]["BACKEND"] == "my_npu"
    steps = workflow["jobs"]["certify"]["steps"]
    assert any("pytest --backend" in step.get("run", "") for step in steps)
    assert any("upload-artifact" in step.get("uses", "") for step in steps)


def test_a_library_that_is_there_is_pointed_at(
    generated: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(generated.site))
    from mybackend_conformance.build import library_path

    assert main(["new", "other", str(tmp_path / "other"), "--library", str(library_path())]) == 0
    backend = (tmp_path / "other/src/other_conformance/backend.py").read_text()
    assert 'name = "mybackend"' in backend  # as the library registers it
    assert str(library_path()) in backend
    capsys.readouterr()
    project = Project(tmp_path)
    project.install("other", backend, "OtherBackend")
    run = project.run("--backend=other", "-k", "test_outputs and lowering and add_sub")
    assert run.exit_code == 0, run.output


def test_no_existing_file_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("mine")
    assert main(["new", "mybackend", str(tmp_path)]) == 2
    assert "README.md exists already" in capsys.readouterr().err
    assert readme.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [readme]  # nothing was begun


@pytest.mark.parametrize(
    "name", ["", "Backend", "my-backend", "2d", "_x", "a__b", "x_", "a b", "../x", "ünits", "x" * 41, "class'; drop"]
)
def test_a_bad_name_is_explained(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["new", f"--toolchain={toolchains()[0]}", "--", name, str(tmp_path / "new")]) == 2
    said = capsys.readouterr().err
    assert "such as mybackend or my_npu" in said
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "new").exists()


def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(ScaffoldError, match="installed already, by torch-conformance-reference"):
        check_name("reference")


def _refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["new", *arguments]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    return said


def test_other_bad_input_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "for: torchscript" in _refused(["mine", "--toolchain=nothing"], capsys)
    missing, text = tmp_path / "no.so", tmp_path / "text.so"
    text.write_text("no library")
    folder = str(tmp_path / "new")
    assert "--library: there is no file" in _refused(["mine", folder, "--library", str(missing)], capsys)
    assert "--library: text.so does not load" in _refused(["mine", folder, "--library", str(text)], capsys)
    assert "cannot be written" in _refused(["mine", str(text / "below")], capsys)
    assert not Path(folder).exists()


def test_every_toolchain_has_a_class_a_workflow_and_a_readme(tmp_path: Path) -> None:
    assert toolchains()
    for toolchain in toolchains():
        files = rendered(Plan("mine", toolchain))
        assert {"pyproject.toml", "README.md", ".github/workflows/conformance.yml"} <= set(files)
        assert 'mine = "mine_conformance.backend:MineBackend"' in files["pyproject.toml"]
