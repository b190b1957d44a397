"""``conformance new``: what it writes installs, runs, and reaches the level that it says; bad input is explained."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]
from support.places import REPOSITORY
from support.project import Project
from support.reader import Reader, is_said

import conformance
from conformance.cli import main
from conformance.contract import Level, levels_of
from conformance.scaffold.distribution import NewPlugin, ScaffoldError, check_name, rendered, toolchains, write

TUTORIAL = REPOSITORY / "docs" / "tutorial.md"


@pytest.fixture(scope="session")
def reader(new_project: Callable[[str], Project]) -> Reader:
    """Somebody who has followed the tutorial to its end: a new backend is written, installed, certified and broken."""
    reader = Reader(new_project("tutorial"))
    reader.follow(TUTORIAL.read_text(encoding="utf-8"))
    return reader


@pytest.fixture(scope="session")
def beginner(new_project: Callable[[str], Project]) -> Reader:
    """Somebody who has just written a new backend, and installed it."""
    beginner = Reader(new_project("new"))
    for command in ("conformance new mybackend", "pip install -e mybackend-conformance"):
        done = beginner.execute(command)
        assert done.exit_code == 0, done.output
    return beginner


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1 failed", True),
        ("Level complete: reached (... of ... shown by PASS).", True),
        ("Level complete: reached (... of ... shown by FAIL).", False),
        ("reached (...2 failed", False),  # on two lines of the output
        ("Level mobile: reached", False),
    ],
)
def test_three_dots_in_a_tutorial_stand_for_any_text_of_a_line(line: str, said: bool) -> None:
    assert is_said(line, "Level complete: reached (48% of 700 cells shown by PASS).\n2 failed, 1 failed") is said


@pytest.mark.runs
def test_the_tutorial_does_what_it_says(reader: Reader) -> None:
    assert len(reader.steps) >= 7
    reader.check()


@pytest.mark.runs
def test_a_new_backend_reaches_complete_as_it_was_written(reader: Reader) -> None:
    report = json.loads((reader.project.folder / "conformance-report/mybackend/report.json").read_text())
    said = {name: report["certification"][name] for name in ("level", "achieved", "missing", "excused")}
    assert said == {"level": "complete", "achieved": "complete", "missing": [], "excused": False}
    assert report["backend"]["distribution"] == "mybackend-conformance"
    assert report["summary"]["verdicts"]["PASS"] > 200  # it does the work, it does not only refuse
    refusals = [row["verdict"] for row in report["cells"] if row["clause"] == "lowering.refusal"]
    assert len(refusals) > 10
    assert set(refusals) == {"PASS"}


def test_its_own_test_passes(beginner: Reader) -> None:
    run = beginner.project.run("mybackend-conformance/tests", "-q")
    assert run.exit_code == 0, run.output


def test_it_computes_refuses_and_can_be_taken_away(beginner: Reader) -> None:
    chosen = "test_outputs and add-full or test_refusal and conv_net or test_lost"
    run = beginner.project.run("--backend=mybackend", "-k", chosen)
    assert run.exit_code == 0, run.output
    passed = {row["clause"] for row in run.report("mybackend")["cells"] if row["verdict"] == "PASS"}
    assert passed >= {"lowering.outputs", "lowering.refusal", "availability.lost"}


@pytest.mark.parametrize(
    ("toolchain", "library", "sources"),
    [
        ("torchscript", None, {"backend.py", "build.py", "csrc/delegate.cpp"}),
        ("torchscript", Path("/opt/npu/libnpu.so"), {"backend.py"}),
        ("dynamo", None, {"backend.py", "compiler.py", "kernels.py"}),
        ("executorch", None, {"backend.py", "build.py", "csrc/delegate.cpp", "partition.py"}),
    ],
)
def test_what_is_written_is_formatted_and_free_of_faults(
    tmp_path: Path, toolchain: str, library: Path | None, sources: set[str]
) -> None:
    plan = NewPlugin("my_npu", toolchain, library, "npu")
    folder = tmp_path / "new"
    written = write(plan, folder)
    package = folder / "src/my_npu_conformance"
    assert {str(path.relative_to(package)) for path in written if package in path.parents} == {"__init__.py", *sources}
    for command in (["format", "--check"], ["check", "--extend-select=D1", "--ignore=D103"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--isolated", "--line-length=120", str(folder)]
        done = subprocess.run(ruff, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    for path in written:
        assert "{{" not in path.name
        assert "{%" not in path.read_text()
    workflow = yaml.safe_load((folder / ".github/workflows/conformance.yml").read_text())
    assert workflow["env"]["BACKEND"] == "my_npu"
    assert Level(workflow["env"]["LEVEL"]) in levels_of(toolchain)
    job = workflow["jobs"]["cells"]
    matrix = job["strategy"]["matrix"]
    assert {each["release"]: each["torch"] for each in matrix["include"]} == {
        "oldest": "torch==2.13.*",
        "newest": "torch",
    }
    assert matrix["shard"] == list(range(1, workflow["env"]["SHARDS"] + 1))
    assert set(matrix["release"]) == set(workflow["jobs"]["certify"]["strategy"]["matrix"]["release"])
    assert any("pytest --backend" in step.get("run", "") for step in job["steps"])
    assert any("upload-artifact" in step.get("uses", "") for step in job["steps"])
    (cached,) = (step["with"] for step in job["steps"] if step.get("uses", "").startswith("actions/cache@"))
    assert cached["path"].split() == ["~/.cache/my-npu-conformance", "~/.cache/torch-conformance"]
    assert "env.TORCH" in cached["key"]
    assert "hashFiles('src/**')" in cached["key"]


#: What stands for programs of the workflow's machine: `gh` gives a report of the default branch, if there is one.
_PROGRAMS = {
    "gh": 'if [ "$2" = list ]; then echo "$RUN"; fi',
    "conformance": 'echo "compared: $*"; exit 1',
}


@pytest.mark.parametrize(
    ("run", "code", "said"),
    [
        ("17", 1, "compared: compare baseline/mine/report.json conformance-report/mine/report.json --format markdown"),
        ("", 0, "trunk has no report yet: nothing to compare with"),
    ],
)
def test_the_workflow_compares_with_the_default_branch(tmp_path: Path, run: str, code: int, said: str) -> None:
    workflow = yaml.safe_load(rendered(NewPlugin("mine", "torchscript"))[".github/workflows/conformance.yml"])
    (step,) = (each for each in workflow["jobs"]["certify"]["steps"] if "Compare" in each.get("name", ""))
    for name, text in _PROGRAMS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    summary = tmp_path / "summary"
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "RUN": run,
        "BRANCH": "trunk",
        "BACKEND": "mine",
        "REPORT": "conformance-report-0",
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    done = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=environment, check=False)
    assert done.returncode == code
    assert summary.read_text().strip() == said


@pytest.mark.slow
def test_the_shards_of_the_workflow_come_to_one_certificate(project: Project) -> None:
    """Its own commands, one machine after another, and the reports carried between them as its artifacts are."""
    workflow = yaml.safe_load(rendered(NewPlugin("mine", "torchscript"))[".github/workflows/conformance.yml"])
    summary = project.folder / "summary"
    summary.touch()
    settings = {"BACKEND": "reference", "LEVEL": "core", "PYTEST_ADDOPTS": "-k composition"}
    settings |= {"SHARDS": str(workflow["env"]["SHARDS"]), "GITHUB_STEP_SUMMARY": str(summary)}

    def run(job: str, named: str, **more: str) -> subprocess.CompletedProcess[str]:
        (step,) = (each for each in workflow["jobs"][job]["steps"] if each.get("name") == named)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = os.environ | settings | {"PATH": path} | more
        folder = project.folder / more.get("WHERE", ".")
        folder.mkdir(exist_ok=True, parents=True)
        command = ["bash", "-e", "-c", step["run"]]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    for shard in workflow["jobs"]["cells"]["strategy"]["matrix"]["shard"]:
        machine = f"machine-{shard}"
        done = run("cells", "Try the cells of this shard", SHARD=str(shard), WHERE=machine)
        assert done.returncode == 0, done.stdout + done.stderr
        artifact = project.folder / "shards" / f"shard-oldest-{shard}"
        artifact.parent.mkdir(exist_ok=True)
        (project.folder / machine / "conformance-report").rename(artifact)
    done = run("certify", "Join the reports of the shards")
    assert "2 shards" in done.stdout, done.stdout + done.stderr
    done = run("certify", "Show the report")
    assert done.returncode == 0, done.stdout + done.stderr
    assert summary.read_text().count("## Conformance of reference") == 3
    assert (project.folder / "conformance-report/reference/report.html").is_file()
    done = run("certify", "Certify it")
    assert done.returncode == 1
    assert "core" in done.stdout + done.stderr


def test_the_workflow_installs_the_harness_that_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    read_text = metadata.PathDistribution.read_text

    def harness(origin: object, toolchain: str = "torchscript") -> str:
        def read(self: metadata.PathDistribution, name: str) -> str | None:
            return json.dumps(origin) if name == "direct_url.json" else read_text(self, name)

        monkeypatch.setattr(metadata.PathDistribution, "read_text", read)
        return str(NewPlugin("mine", toolchain).values()["harness"])

    commit = {"url": "https://example.com/harness.git", "vcs_info": {"vcs": "git", "commit_id": "abc123"}}
    assert harness(commit) == "torch-conformance @ git+https://example.com/harness.git@abc123"
    somewhere = {"url": "file:///somewhere", "dir_info": {}}
    assert harness(somewhere) == f"torch-conformance=={conformance.__version__}"
    assert harness(somewhere, "executorch") == f"torch-conformance[executorch]=={conformance.__version__}"


def test_a_library_that_is_there_is_pointed_at(
    beginner: Reader, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(beginner.project.site))
    library_path = importlib.import_module("mybackend_conformance.build").library_path
    assert main(["new", "other", str(tmp_path / "other"), "--library", str(library_path())]) == 0
    backend = (tmp_path / "other/src/other_conformance/backend.py").read_text()
    assert 'name = "mybackend"' in backend  # as the library registers it
    assert str(library_path()) in backend
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
        check_name("reference", "torchscript")
    for known in ("inductor", "eager"):  # an entry point, and what torch registers by itself
        check_name(known, "torchscript")
        with pytest.raises(ScaffoldError, match="installed already, by torch"):
            check_name(known, "dynamo")


def _refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["new", *arguments]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    return said


def test_other_bad_input_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "for: dynamo, executorch, torchscript" in _refused(["mine", "--toolchain=nothing"], capsys)
    missing, text = tmp_path / "no.so", tmp_path / "text.so"
    text.write_text("no library")
    folder = str(tmp_path / "new")
    assert "--library: there is no file" in _refused(["mine", folder, "--library", str(missing)], capsys)
    assert "--library: text.so does not load" in _refused(["mine", folder, "--library", str(text)], capsys)
    of_functions = ["mine", folder, "--toolchain=dynamo", "--library", str(missing)]
    assert "--library: backends of torch.compile are functions" in _refused(of_functions, capsys)
    of_halves = ["mine", folder, "--toolchain=executorch", "--library", str(missing)]
    assert "--library: a delegate of ExecuTorch is a library and a partitioner" in _refused(of_halves, capsys)
    assert "cannot be written" in _refused(["mine", str(text / "below")], capsys)
    assert not Path(folder).exists()


@pytest.mark.parametrize("toolchain", toolchains())
def test_no_backend_takes_the_name_of_the_harness(
    toolchain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = _refused(["torch", str(tmp_path / "new"), f"--toolchain={toolchain}"], capsys)
    assert "named 'torch' would be called torch-conformance, as the harness is" in said
    assert not (tmp_path / "new").exists()


def test_a_path_that_no_file_can_have_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    too_long = str(tmp_path / ("x" * 300))
    assert "cannot be written: File name too long" in _refused(["mine", too_long], capsys)
    assert "is no name of a folder: embedded null byte" in _refused(["mine", str(tmp_path / "a\0b")], capsys)
    assert "cannot be read: File name too long" in _refused(["mine", str(tmp_path), "--library", too_long], capsys)
    library = str(tmp_path / os.fsdecode(b"caf\xe9.so"))
    Path(library).touch()
    assert "--library: '" in _refused(["mine", str(tmp_path), "--library", library], capsys)
    assert list(tmp_path.iterdir()) == [Path(library)]


def test_a_folder_need_not_be_utf_8(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    folder = str(tmp_path / os.fsdecode(b"caf\xe9"))
    assert main(["new", "mine", folder]) == 0
    assert b"caf\\udce9/pyproject.toml\n" in capsysbinary.readouterr().out


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_nothing_is_left_of_what_could_not_be_written(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_some(path: Path, text: str) -> None:
        if path.name == "backend.py":
            raise error
        path.write_text(text)

    monkeypatch.setattr("conformance.scaffold.distribution.write_atomically", write_some)
    (tmp_path / "src").mkdir()
    plan = NewPlugin("mine", "torchscript")
    expected = ScaffoldError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        write(plan, tmp_path / "some/new")
    with pytest.raises(expected):
        write(plan, tmp_path)
    assert [*tmp_path.rglob("*")] == [tmp_path / "src"]
    monkeypatch.undo()
    assert all(path.is_file() for path in write(plan, tmp_path))


def test_every_toolchain_has_a_class_a_workflow_and_a_readme(tmp_path: Path) -> None:
    assert toolchains()
    for toolchain in toolchains():
        files = rendered(NewPlugin("mine", toolchain))
        assert {"pyproject.toml", "README.md", ".github/workflows/conformance.yml"} <= set(files)
        assert 'mine = "mine_conformance.backend:MineBackend"' in files["pyproject.toml"]
