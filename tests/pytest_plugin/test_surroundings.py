"""What a run is started in: a right run, or one clear error."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.project import Project, is_there, wait_until

from conformance._util.processes import limit_process

ONE_CELL = ("--backend=eager", "-k", "test_exit and dynamo_lowering and chain")
SLOW = """
    import time

    def compiler(graph, example_inputs):
        with open("at-work", "w"):
            time.sleep(600)
"""


def in_shell(project: Project, before: str, after: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """The run of one cell by a shell, which sets something up before."""
    command = " ".join(f"'{each}'" for each in project.command(*ONE_CELL))
    return subprocess.run(
        ["bash", "-c", f"{before}\n{command} {after}"],
        cwd=project.folder,
        env=project.environment | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    ("before", "after", "environment"),
    [
        ("ulimit -v 8000000", "", {}),
        ("ulimit -f 100000", "", {}),
        ("", "", {"PYTHONWARNINGS": "error"}),
        ("printf '[pytest]\\nfilterwarnings = error\\n' > pytest.ini", "-W error", {}),
        ("", "0<&- 2>&-", {}),
    ],
    ids=["less memory", "smaller files", "PYTHONWARNINGS", "filterwarnings", "closed streams"],
)
def test_a_run_is_right(project: Project, before: str, after: str, environment: dict[str, str]) -> None:
    done = in_shell(project, before, after, **environment)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_a_run_under_a_limit_of_few_open_files_is_refused_before_any_cell(project: Project) -> None:
    done = in_shell(project, "ulimit -n 20")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    said = "ERROR: expected at least 64 open files for a process, found a limit of 20: raise it (`ulimit -n 64` or more"
    assert said in " ".join(done.stdout.split())
    assert "HARNESS_ERROR" not in done.stdout
    assert not (project.folder / "conformance-report").exists()


def test_a_limit_of_open_files_that_may_be_raised_is_raised(project: Project) -> None:
    done = in_shell(project, "ulimit -S -n 20")
    assert done.returncode == 0, done.stdout


#: Each look at the clock is an hour later than the one before, and each second one is a day earlier.
JUMPS = """
import itertools, time
_real, _turns = time.time, itertools.count(1)
def _jumping():
    turn = next(_turns)
    return _real() + turn * 3600 - (turn % 2) * 86400
time.time = _jumping
"""
#: As where NumPy is not installed.
NO_NUMPY = """
import sys
sys.modules["numpy"] = None
"""


@pytest.mark.parametrize("start", [JUMPS, NO_NUMPY], ids=["a clock that jumps", "no NumPy"])
def test_a_run_is_right_where_python_starts_with(project: Project, start: str) -> None:
    (project.site / "sitecustomize.py").write_text(start, encoding="utf-8")
    run = project.run(
        "--backend=eager", "-k", "dynamo_lowering and chain and (test_exit or test_first_call or test_once)"
    )
    assert run.exit_code == 0, run.output
    assert "3 passed" in run.output
    assert all(0 <= seconds < 300 for row in run.report("eager")["cells"] for seconds in row["seconds"].values())


@pytest.mark.parametrize("level", ["1", "2"])
def test_a_python_that_leaves_out_assertions_is_refused(project: Project, level: str) -> None:
    done = in_shell(project, "", PYTHONOPTIMIZE=level)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "Python runs optimized" in done.stdout


def test_a_command_by_such_a_python_is_refused(project: Project) -> None:
    command = [sys.executable, "-O", "-m", "conformance.cli", "list"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("conformance: Python runs optimized")


def test_a_lower_limit_stays() -> None:
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        limit_process(file_bytes=10**6)
        os._exit(0 if resource.getrlimit(resource.RLIMIT_FSIZE) == (1000, 1000) else 1)
    assert os.waitpid(pid, 0)[1] == 0


def descendants(pid: int) -> list[int]:
    """What a process has started, and what that has."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *descendants(child)]
    return found


@pytest.mark.parametrize(
    ("sent", "workers"),
    [(signal.SIGTERM, ()), (signal.SIGTERM, ("-n", "2")), (signal.SIGKILL, ("-n", "2"))],
    ids=["SIGTERM", "SIGTERM with workers", "SIGKILL with workers"],
)
def test_a_run_that_is_ended_leaves_nobody(project: Project, sent: signal.Signals, workers: tuple[str, ...]) -> None:
    project.install("slow", SLOW, "compiler", "torch_dynamo_backends")
    temporary = project.folder / "temporary"
    temporary.mkdir()
    run = subprocess.Popen(
        project.command("--backend=slow", "-k", "test_outputs and not kept and dynamo_lowering and chain", *workers),
        cwd=project.folder,
        env=project.environment | {"TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until((project.folder / "at-work").exists)
    started = descendants(run.pid)
    run.send_signal(sent)
    status = run.wait(60)
    time.sleep(1)
    wait_until(lambda: not any(map(is_there, started)))
    if sent is signal.SIGTERM:
        assert status == 10
        assert set(project_verdicts(project)) == {"LOST"}
        assert not list(temporary.glob("conformance-*"))


def project_verdicts(project: Project) -> list[str]:
    """The verdicts of the report that the run has written."""

    report = json.loads((project.folder / "conformance-report/slow/part/report.json").read_text(encoding="utf-8"))
    return [row["verdict"] for row in report["cells"]]
