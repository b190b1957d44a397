"""The supervisor of reproducers and packs says how a process ended, and leaves nothing of it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from conformance.standalone.reproducers import _main, _trial

#: Run in a process of its own: the supervisor ends every child of the process that calls it.
_PROGRAM = """
import dataclasses, json, os, subprocess, sys, tempfile, time
from conformance.standalone.supervisor import Files, supervise

def leaves_a_process():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)

def answers_slowly():
    for _ in range(4):
        time.sleep(0.3)
        files.answers.write(b"{}\\n")
        files.answers.flush()

files = Files(*(tempfile.TemporaryFile() for _ in range(4)))
works = {
    "returns": lambda: print("said", flush=True),
    "exits": lambda: os._exit(3),
    "raises": lambda: 1 / 0,
    "crashes": lambda: os.kill(os.getpid(), 6),
    "hangs": lambda: time.sleep(600),
    "floods": lambda: [os.write(1, b"x" * 2**20) for _ in range(17)] + [time.sleep(600)],
    "leaves_a_process": leaves_a_process,
    "answers_slowly": answers_slowly,
}
ending = supervise(works[sys.argv[1]], files, 0.8, 0.8)
print(json.dumps(dataclasses.asdict(ending)))
"""


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        ("returns", {"status": 0, "stdout": "said\n", "left_processes": False}),
        ("exits", {"status": 3}),
        ("raises", {"status": 70, "stderr": "ZeroDivisionError: division by zero\n"}),
        ("crashes", {"status": -signal.SIGABRT}),
        ("hangs", {"status": None, "flooded": False, "left_processes": False}),
        ("floods", {"status": None, "flooded": True}),
        ("leaves_a_process", {"status": 0, "left_processes": True}),
        ("answers_slowly", {"status": 0}),
    ],
)
def test_how_a_process_ended_is_said(work: str, expected: dict[str, Any]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, work], capture_output=True, text=True, timeout=60, check=True
    )
    ending = json.loads(done.stdout)
    assert {name: ending[name] for name in expected} == expected
    # A process that crashed, or did not answer, has told where it was.
    assert bool(ending["stack"]) == (work in ("crashes", "hangs")), ending["stack"]


@pytest.mark.parametrize("seconds", ["0", "-2", "nan", "inf", "1e7", "soon"])
@pytest.mark.parametrize(
    "main", [lambda: _main._main(_main.Script({})), lambda: _trial._main(())], ids=["steps", "trials"]
)
def test_a_script_refuses_a_time_that_nothing_can_take(
    main: Callable[[], int], seconds: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["reproduce.py", f"--seconds={seconds}"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert f"a positive number of seconds up to 1000000 is taken, found '{seconds}'" in capsys.readouterr().err
