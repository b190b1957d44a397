"""The part of all scripts that watches the processes of the steps, and says what it saw.

Copied into every script, like :mod:`conformance.standalone.reproducers._stage`.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import torch

from conformance._util.privacy import without_paths
from conformance.compare.values import decode
from conformance.standalone.reproducers._stage import (
    BACKEND,
    ENVIRONMENT,
    FAILURE,
    PROCESSES,
    SECONDS,
    TORCH,
    CannotTry,
    judge,
    run_steps,
)
from conformance.toolchains.torchscript.reproduce.loading import add_options, find_backend

#: Importing torch takes a second or two before the first step; on a busy machine, more.
_START_SECONDS = 180.0
_MOST_OUTPUT = 16 * 2**20
#: How much of it is shown.
_TAIL = 4000

#: Exit codes.
GONE = 0
REPRODUCED = 1
UNTRIED = 2
OTHERWISE = 3


class Passed(BaseException):
    """The judgement got past the place of the recorded failure."""


def watch(
    label: str, folder: str, libraries: list[str], backend: str, seconds: float
) -> tuple[list[Any], dict[str, Any]]:
    """Let a process take its steps. Returns what it told, and what it came to where it did not end as it should."""
    told = Path(folder, f"{label}.jsonl")
    told.touch()
    with open(Path(folder, f"{label}.txt"), "wb+") as output:
        process = subprocess.Popen(
            _command(label, folder),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=_environment(label, folder, libraries, backend),
            start_new_session=True,
        )
        try:
            came_to = _wait(process, told, output, seconds)
        finally:
            left = _kill_what_is_left(process)
    facts, garbled = _facts(told)
    if left and not came_to and facts and facts[-1]["phase"] == "exit":
        came_to = "ended and left another process behind"
    if not came_to and garbled:
        came_to = "said what no process says"
    if not came_to:
        return facts, {}
    ended_by_itself = came_to.startswith(("was killed by", "exited with"))
    said = Path(folder, f"{label}.txt").read_text(errors="replace")[-_TAIL:]
    return facts, {"came_to": came_to, "stderr": said} | ({"status": process.returncode} if ended_by_itself else {})


def _command(label: str, folder: str) -> list[str]:
    return [sys.executable, __file__, "--process", label, "--folder", folder]


def _environment(label: str, folder: str, libraries: list[str], backend: str) -> dict[str, str]:
    environment: dict[str, str | None] = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, "inductor"),  # what was compiled before would hide a failure
        "TORCH_CPP_LOG_LEVEL": "WARNING",
        "PYTHONWARNINGS": "ignore::DeprecationWarning",
        "REPRODUCER_LIBRARIES": os.pathsep.join(libraries),
        "REPRODUCER_BACKEND": backend,
        **ENVIRONMENT.get(label, {}),
    }
    return {name: value for name, value in environment.items() if value is not None}


def _wait(process: subprocess.Popen[bytes], told: Path, output: IO[bytes], seconds: float) -> str:
    heard, since = 0, time.monotonic()
    while process.poll() is None:
        time.sleep(0.02)
        if os.fstat(output.fileno()).st_size > _MOST_OUTPUT:
            return f"wrote more than {_MOST_OUTPUT >> 20} MiB"
        if (size := told.stat().st_size) != heard:
            heard, since = size, time.monotonic()
        limit = seconds if heard else _START_SECONDS
        if time.monotonic() - since > limit:
            return "did not come back in time"
    status = process.returncode
    if status >= 0:
        return f"exited with code {status}" if status or not _is_over(told) else ""
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def _is_over(told: Path) -> bool:
    """Whether the last step of a process came to an end, so that an exit with code 0 is in order."""
    facts, _ = _facts(told)
    return bool(facts) and ("returned" in facts[-1] or "raised" in facts[-1] or facts[-1]["phase"] == "exit")


def _kill_what_is_left(process: subprocess.Popen[bytes]) -> bool:
    """Kill a process, its group, and what hid from that in a session of its own; whether it had left something."""
    found = process.poll() is not None
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        found = False
    process.wait()
    with contextlib.suppress(OSError):  # no such folder on this platform
        for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
            if Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                os.kill(int(child), signal.SIGKILL)
                found = True
    return found


def _adopt_orphans() -> None:
    """Become the parent of what the processes leave behind, so that it is found."""
    set_child_subreaper = 36
    with contextlib.suppress(OSError, AttributeError):  # not Linux: process groups remain
        ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def _facts(told: Path) -> tuple[list[Any], bool]:
    """What a process told; and whether there was something else between, or somebody else who told."""
    facts: list[Any] = []
    garbled = False
    for line in told.read_bytes().splitlines():
        try:
            fact = json.loads(line)
        except ValueError:
            garbled = True
            continue
        if facts and fact["pid"] != facts[0]["pid"]:
            garbled = True
        else:
            facts.append(fact)
    return facts, garbled


def gist(text: str) -> str:
    """What an error says, in a line, without what differs from run to run: paths, addresses, numbers of types."""
    for what_follows in ("\nException raised from ", "\nfrom user code:", "\nSet TORCHDYNAMO_VERBOSE"):
        text = text.partition(what_follows)[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    if "Traceback of TorchScript" in text:
        lines = lines[-1:] if lines[0].startswith("The following operation failed") else lines[:1]
    line = re.sub(r"\.___torch_mangle_\d+", "", " ".join(lines))
    return str(without_paths(re.sub(r"\b0x[0-9a-f]+\b", "0x...", line)))[:500]


def try_it(folder: str, libraries: list[str], backend: str, seconds: float) -> tuple[int, str]:
    """Take all steps, and compare what came of them with FAILURE. Returns the exit code, and a sentence."""
    steps: dict[int, dict[str, Any]] = {}
    seen: tuple[int, str] | None = None
    for label in PROCESSES:
        facts, ending = watch(label, folder, libraries, backend, seconds)
        steps |= {fact["step"]: fact for fact in facts}
        last: dict[str, Any] = facts[-1] if facts else {"step": 0, "phase": "start"}
        if ending:
            steps[last["step"]] = last | ending
            seen = (last["step"], ending["came_to"])
        elif "raised" in last and not last["fails"]:
            seen = (last["step"], f"raised {last['raised']['type']}: {gist(last['raised']['text'])}")
        if seen:
            sys.stderr.write(Path(folder, f"{label}.txt").read_text(errors="replace")[-_TAIL:])
            break
    if seen and seen[0] == 0:
        return UNTRIED, f"the process of the {label} {seen[1]} before its first step"
    what = f"step {seen[0]} ({steps[seen[0]]['phase']}) {seen[1]}" if seen else ""
    if seen is not None and seen == FAILURE:
        return REPRODUCED, what
    if judge is not None:
        return _judged(judge, steps, folder)
    if seen is None:
        return GONE, "every step works"
    recorded = f"; what was recorded: step {FAILURE[0]} {FAILURE[1]}" if FAILURE else ""
    return OTHERWISE, what + recorded


def answer_of(steps: dict[int, dict[str, Any]], number: int, place: int) -> Any:
    """What a step gave. Raises LookupError where it was not reached, or gave nothing."""
    if number not in steps or len(steps[number]["answers"]) <= place:
        raise LookupError(f"step {number} gave no answer")
    return steps[number]["answers"][place]


def _judged(judge: Callable[[dict[int, dict[str, Any]]], None], steps: dict[int, Any], folder: str) -> tuple[int, str]:
    for number, fact in steps.items():
        files = sorted(Path(folder).glob(f"answer-{number}-*.pt"), key=lambda file: (len(file.name), file.name))
        fact["answers"] = [decode(file.read_bytes()) for file in files]
    try:
        judge(steps)
    except AssertionError as difference:
        return REPRODUCED if FAILURE is None else OTHERWISE, str(difference)
    except Passed as passed:
        return GONE, str(passed)
    except Exception as error:
        return OTHERWISE, f"{type(error).__name__}: {error}"
    return GONE, "nothing was found wrong"


def main() -> int:
    """Reproduce the failure. Returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_options(parser)
    parser.add_argument("--backend", default=BACKEND, metavar="NAME", help="the name that it registers (%(default)s)")
    parser.add_argument("--seconds", type=float, default=SECONDS, metavar="S", help="for each step (%(default)g)")
    parser.add_argument("--process", choices=list(PROCESSES), help="only take its steps, here: for a debugger")
    parser.add_argument("--folder", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    try:
        if options.folder:
            run_steps(options.process, options.folder)
        libraries = find_backend(options)
        if options.process:
            folder = tempfile.mkdtemp(prefix="reproducer-")
            command = _command(options.process, folder)
            os.execve(command[0], command, _environment(options.process, folder, libraries, options.backend))
    except CannotTry as reason:
        sys.stderr.write(f"{Path(__file__).name}: {reason}\n")
        return UNTRIED
    if torch.__version__ != TORCH:
        sys.stderr.write(f"note: recorded with torch {TORCH}, this is {torch.__version__}\n")
    _adopt_orphans()
    try:
        with tempfile.TemporaryDirectory(prefix="reproducer-") as folder:
            code, sentence = try_it(folder, libraries, options.backend, options.seconds)
    except Exception:  # which would end the process with the exit code of a reproduced failure
        code, sentence = UNTRIED, f"the script itself failed\n{traceback.format_exc()}"
    words = {REPRODUCED: "REPRODUCED", GONE: "NOT REPRODUCED", UNTRIED: "NOT TRIED", OTHERWISE: "FAILS OTHERWISE"}
    print(f"{words[code]}: {sentence}")
    return code
