"""Whatever a backend does to its process costs one cell: the verdict says what it was, and the others are there."""

from __future__ import annotations

import os
import subprocess

import pytest
from support.project import Project, is_there, wait_until

SABOTEURS = "torch_conformance_saboteurs"


def plugin(implementation: str) -> str:
    """A backend over the Python bridge with some methods of its own."""
    return f"""
import ctypes, os, re, signal, subprocess, sys, time
from {SABOTEURS}.backends import PythonControl
from {SABOTEURS}.control import PythonBackend

class Implementation(PythonBackend):
{implementation}

class Plugin(PythonControl):
    name = "broken"
    implementation = Implementation
"""


def spin(method: str) -> str:
    """A method that holds the GIL in native code and never comes back: no signal handler of Python's can run."""
    return f"    def {method}(self, *arguments):\n        re.match('(?:a|aa)+$', 'a' * 200 + 'b')\n"


@pytest.mark.parametrize(
    ("body", "verdict", "phase", "message"),
    [
        pytest.param(
            "    def execute(self, *a):\n        os.kill(os.getpid(), signal.SIGSEGV)\n",
            *("CRASH", "run", "SIGSEGV"),
            marks=pytest.mark.quick,
        ),
        ("    def execute(self, *a):\n        os.abort()\n", "CRASH", "run", "SIGABRT"),
        ("    def preprocess(self, *a):\n        os._exit(0)\n", "CRASH", "lower", "exited with code 0"),
        (spin("compile"), "TIMEOUT", "lower", "did not come back within 2 s"),
        (
            "    def execute(self, *a):\n        while True:\n            os.write(1, b'x' * 65536)\n",
            "FAIL",
            "run",
            "more than 16 MiB of output",
        ),
        (
            "    def execute(self, *a):\n        import torch\n        torch.empty(100 * 2**30, dtype=torch.uint8)\n",
            "FAIL",
            "run",
            "allocate",
        ),
    ],
    ids=["segfault-in-execute", "abort-in-execute", "exit-in-preprocess", "gil-in-compile", "flood", "allocation"],
)
def test_the_run_ends_by_itself(project: Project, body: str, verdict: str, phase: str, message: str) -> None:
    project.install("broken", plugin(body))
    selection = "test_several or test_repeatable or test_bad_spec or test_ways"
    once = ("--conformance-timeout=2", "--conformance-reruns=0", "--conformance-reproducers=0")
    run = project.run("--backend=broken", "-k", selection, *once)
    report = run.report("broken")
    rows = {row["id"]: row for row in report["cells"]}
    assert run.exit_code == 1, run.output
    assert report["run"]["complete"]
    assert len(rows) == report["plan"]["cells"] > 8
    row = rows["lowering.repeatable[add-full-yes/yes]"]
    assert (row["verdict"], row["phase"]) == (verdict, phase)
    assert message in row["message"]
    if verdict == "TIMEOUT" or "SIG" in message:
        assert "File " in row["error"]["stack"], "the Python stack at the end is missing"


def test_a_grandchild_that_keeps_the_pipes_open_holds_nothing_up(project: Project) -> None:
    body = """
    def execute(self, *arguments):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], close_fds=False)
        open("grandchild", "a").write(f"{child.pid}\\n")
        return super().execute(*arguments)
"""
    project.install("broken", plugin(body))
    run = project.run("--backend=broken", "-k", "test_repeatable or test_exit", "--conformance-timeout=60")
    verdicts = run.verdicts("broken")
    assert "TIMEOUT" not in {verdict for verdict, _ in verdicts.values()}, verdicts  # what waits for it, waits 600 s
    (row,) = (each for each in run.report("broken")["cells"] if each["clause"] == "lowering.exit")
    assert row["verdict"] == "PASS"
    assert row["notes"] == ["Reported, not graded: the process ended and left another one behind that it had started"]
    grandchildren = [int(line) for line in (project.folder / "grandchild").read_text().split()]
    assert grandchildren
    for pid in grandchildren:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_run_that_is_killed_leaves_no_device_at_work(project: Project) -> None:
    body = """
    def execute(self, *arguments):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
        with open("at_work.part", "w") as file:
            file.write(f"{os.getpid()} {child.pid}")
        os.rename("at_work.part", "at_work")
        while True:
            pass
"""
    project.install("broken", plugin(body))
    command = project.command("--backend=broken", "-k", "test_repeatable")
    running = subprocess.Popen(
        command, cwd=project.folder, env=project.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    at_work = project.folder / "at_work"
    wait_until(at_work.exists)
    pids = [int(pid) for pid in at_work.read_text().split()]
    assert all(map(is_there, pids))
    running.kill()
    running.wait()
    wait_until(lambda: not any(map(is_there, pids)))


@pytest.mark.quick
def test_nothing_of_a_backend_is_loaded_in_the_pytest_process(project: Project) -> None:
    project.install("broken", f"import os\nopen(f'imported-{{os.getpid()}}', 'w').close()\n{plugin('    pass')}")
    project.write(
        "conftest.py",
        """
        import os, sys

        def pytest_unconfigure(config):
            print("mine:", os.path.exists(f"imported-{os.getpid()}"), "plugin_broken" in sys.modules)
        """,
    )
    run = project.run("--backend=broken", "-k", "test_exit", "-s")
    assert "mine: False False" in run.output
    assert list(project.folder.glob("imported-*")), "the plugin was never imported anywhere"
