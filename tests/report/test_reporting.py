"""The report: kept while the run goes on, whole at the end, the same however the run was spread, and readable."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from support.project import Project, Run, wait_until

from conformance._util.privacy import without_paths
from conformance.cli import main
from conformance.report import ReportError, read_report
from conformance.report.formats import formats
from conformance.report.reproducer_folder import MARK

PART = "test_composition or test_availability"


def test_two_workers_come_to_the_same_verdicts(shared_run: Callable[..., Run]) -> None:
    alone = shared_run("--backend=reference", "-k", PART)
    spread = shared_run("--backend=reference", "-k", PART, "-n", "2")
    assert alone.exit_code == spread.exit_code == 0, spread.output
    assert alone.verdicts("reference") == spread.verdicts("reference")
    assert alone.report("reference")["plan"] == spread.report("reference")["plan"]
    lines = (spread.report_folder("reference") / "cells.jsonl").read_text().splitlines()
    assert len(lines) == spread.report("reference")["plan"]["cells"]


@pytest.mark.quick
def test_the_tables_fit_eighty_columns_in_a_pipe(shared_run: Callable[..., Run]) -> None:
    run = shared_run("--backend=reference", "-k", PART)
    assert "\x1b[" not in run.output
    ours = run.output[run.output.index("conformance of reference") :].splitlines()
    too_wide = [line for line in ours if len(line) > 80]
    assert not too_wide
    for part in ("suite ", "Availability on the host", "Availability on the target", "expected", "observed"):
        assert part in run.output


def test_quiet_says_less_and_verbose_says_each_cell(project: Project) -> None:
    quiet = project.run("--backend=reference", "-k", "test_stable", "-q")
    assert "Availability on the host" not in quiet.output
    assert "suite" in quiet.output
    verbose = project.run("--backend=reference", "-k", "test_stable", "-v")
    assert "test_stable[reference-add-full-yes/yes] PASS" in verbose.output


@pytest.mark.quick
def test_a_part_of_the_contract_reaches_no_level(shared_run: Callable[..., Run]) -> None:
    run = shared_run("--backend=reference", "-k", PART)
    certification = run.report("reference")["certification"]
    assert certification["achieved"] is None
    assert "were not selected for this run" in certification["missing"][0]


@pytest.mark.parametrize("backend", ["reference", "test_backend"])
def test_no_path_of_the_machine_is_in_a_report(shared_run: Callable[..., Run], backend: str) -> None:
    run = shared_run(f"--backend={backend}", "-k", PART)
    folder = run.report_folder(backend)
    for name in ("report.json", "cells.jsonl", "report.md", "report.html"):
        text = (folder / name).read_text(encoding="utf-8")
        for path in (
            str(run.folder),
            str(Path.home()) + "/",
            os.path.dirname(json.__file__),
            tempfile.gettempdir() + "/",
        ):
            assert path not in text, name


def test_paths_are_cut_to_names() -> None:
    text = 'File "/home/me/venv/x.py", line 3; /opt/a/b.so+0x1 (yes/yes) https://example.org/a/b ./rel/x'
    assert without_paths({"a": [text, 3]}) == {
        "a": ['File ".../x.py", line 3; .../b.so+0x1 (yes/yes) https://example.org/a/b ./rel/x', 3]
    }


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("/home/alice", "..."),
        ("in /home/alice: no", "in ...: no"),
        ("/Users/alice, /mnt/home/alice", "..., ..."),
        ("/home/alice/", ".../"),
        ("file:///home/alice/x.py", "file://.../x.py"),
        ("gcc -I/home/alice/inc -L/home/alice/lib -lfoo", "gcc -I.../inc -L.../lib -lfoo"),
        ("a:/home/alice/lib:/home/alice/lib64", "a:.../lib:.../lib64"),
        ("PATH=/home/alice/bin", "PATH=.../bin"),
        ("https://example.org/home/alice/x yes/yes/yes ../home/alice/x", None),
        ("http://localhost:8000/a/b x-I/a/b .../x .../a/b", None),
    ],
)
def test_no_name_of_a_person_gets_through(text: str, cut: str | None) -> None:
    assert without_paths(text) == (text if cut is None else cut)
    assert without_paths(without_paths(text)) == without_paths(text)


def test_a_step_summary_is_written_where_github_wants_it(project: Project) -> None:
    project.write("summary.md", "before\n")
    path = str(project.folder / "summary.md")
    run = project.run("--backend=reference", "-k", "test_stable", GITHUB_STEP_SUMMARY=path)
    assert run.exit_code == 0, run.output
    assert (project.folder / "summary.md").read_text().startswith("before\n## Conformance of reference")


@pytest.mark.parts
def test_an_interrupted_run_keeps_what_it_had(project: Project) -> None:
    process = subprocess.Popen(
        project.command("--backend=reference"),
        cwd=project.folder,
        env=project.environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # Python minds Ctrl-C only where it is not ignored, as it is below a shell's background job.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    kept = project.folder / "conformance-report/reference/cells.jsonl"
    wait_until(lambda: kept.exists() and len(kept.read_text().splitlines()) >= 5)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    report = Run(process.returncode, output, project.folder).report("reference")
    assert process.returncode == 10, output
    assert "INCOMPLETE" in output
    assert not report["run"]["complete"]
    assert report["summary"]["verdicts"]["PASS"] >= 5
    assert sum(report["summary"]["verdicts"].values()) == report["plan"]["cells"]


@pytest.mark.parametrize(
    ("arguments", "exit_code"),
    [
        (["--collect-only", "-q"], 0),
        (["--collect-only", "-q", "-n", "2"], 0),
        (["no_such_file.py"], 4),
        (["-k", "no_such_clause"], 5),
        (["-k", "no_such_clause", "-n", "2"], 5),
    ],
    ids=["collect-only", "collect-only-xdist", "mistyped-path", "mistyped-name", "mistyped-name-xdist"],
)
def test_a_run_without_a_cell_leaves_an_earlier_report(project: Project, arguments: list[str], exit_code: int) -> None:
    before = fill(project.folder / "conformance-report/reference")
    summary = project.folder / "summary.md"
    run = project.run("--backend=reference", *arguments, GITHUB_STEP_SUMMARY=str(summary))
    assert run.exit_code == exit_code, run.output
    assert {path: path.read_text() for path in before} == before
    assert not summary.exists()


def test_a_killed_run_leaves_no_report_of_an_earlier_one(project: Project) -> None:
    folder = project.folder / "conformance-report/reference/part"
    fill(folder)
    project.write("conftest.py", "import os\ndef pytest_runtest_makereport(item):\n    os._exit(9)\n")
    run = project.run("--backend=reference", "-k", "test_stable", "--rootdir=.", "-c", os.devnull, "-p", "conftest")
    assert run.exit_code == 9, run.output
    assert {path.name for path in folder.iterdir()} == {"cells.jsonl", "run.json", "mine.txt"}
    assert (folder / "cells.jsonl").read_text() == ""


def test_a_run_of_a_part_leaves_the_report_of_the_whole(project: Project) -> None:
    before = fill(project.folder / "conformance-report/reference")
    run = project.run("--backend=reference", "-k", "lowering.unregistered")
    assert run.exit_code == 0, run.output
    assert {path: path.read_text() for path in before} == before
    part = project.folder / "conformance-report/reference/part"
    assert "report: conformance-report/reference/part/report.json" in run.output
    report = json.loads((part / "report.json").read_text())
    cells, others = report["plan"]["cells"], report["plan"]["deselected"]
    assert f"A part of the contract ({cells} of {cells + others} cells): no level is judged." in run.output
    assert "NOT reached" not in run.output


def fill(folder: Path) -> dict[Path, str]:
    """The files of an earlier run, and one that is somebody else's: path → content."""
    names = ["report.json", "cells.jsonl", "mine.txt", "reproducers/one/reproduce.py"]
    found = {}
    for path in [folder / name for name in (*names, *(each.file for each in formats().values()))]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{MARK}\nof an earlier run\n")
        found[path] = path.read_text()
    return found


def test_stopping_at_the_first_failure_is_incomplete(project: Project) -> None:
    run = project.run("--backend=backend_with_compiler_demo", "-k", "lowering", "-x")
    assert run.exit_code == 10, run.output
    assert "INCOMPLETE" in run.output


def test_a_folder_that_cannot_be_written_is_refused_at_once(project: Project) -> None:
    project.write("taken", "a file")
    run = project.run("--backend=reference", "--conformance-report=taken")
    assert run.exit_code == 4
    assert "the report cannot be written to taken" in run.output


@pytest.mark.quick
@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda text: text[: len(text) // 2], "is not JSON (is it whole?)"),
        (lambda text: "[]", "is not a torch-conformance report: at the top level"),
        (
            lambda text: text.replace("report/1", "report/9"),
            "is of the format torch-conformance-report/9, and this version of the harness reads",
        ),
        (lambda text: text.replace('"PASS"', '"FINE"'), "FINE"),
        (lambda text: "[" * 100_000, "is not JSON"),
        (lambda text: json.dumps({**json.loads(text), "cells": []}), "contradicts itself"),
    ],
    ids=["truncated", "another-type", "another-format", "unknown-verdict", "deep", "contradiction"],
)
def test_a_corrupt_report_gets_one_clear_error(
    shared_run: Callable[..., Run],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[str], str],
    complaint: str,
) -> None:
    run = shared_run("--backend=reference", "-k", PART)
    path = tmp_path / "report.json"
    path.write_text(damage((run.report_folder("reference") / "report.json").read_text()))
    with pytest.raises(ReportError) as error:
        read_report(path)
    assert complaint in str(error.value)
    assert main(["show", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1


def test_a_report_can_be_shown_again(shared_run: Callable[..., Run], capsys: pytest.CaptureFixture[str]) -> None:
    run = shared_run("--backend=reference", "-k", PART)
    assert main(["show", str(run.report_folder("reference") / "report.json")]) == 0
    assert "Availability on the host" in capsys.readouterr().out
