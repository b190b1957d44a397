"""The part of all reproducers that watches the processes of the steps, and compares what came of them with the failure.

Copied into every ``support.py``, like :mod:`conformance.standalone.reproducers._process`.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import torch

from conformance._util.privacy import without_paths
from conformance._util.processes import set_environment
from conformance.compare.values import decode
from conformance.standalone.reproducers._loading import add_options, find_backend
from conformance.standalone.reproducers._process import (
    BACKEND,
    ENVIRONMENT,
    SECONDS,
    TORCH,
    CannotTry,
    files_of,
    run_steps,
)
from conformance.standalone.supervisor import (
    AT_ITS_END,
    MOST_OUTPUT,
    Ending,
    Files,
    how_it_ended,
    positive_seconds,
    supervise,
)

#: Importing torch takes a second or two before the first step; on a busy machine, more.
_START_SECONDS = 180.0

#: Exit codes.
GONE = 0
REPRODUCED = 1
UNTRIED = 2
OTHERWISE = 3


#: What a process can come to, beside an exit code or a signal of its own.
NO_ANSWER = "did not come back in time"
TOO_MUCH_OUTPUT = f"wrote more than {MOST_OUTPUT >> 20} MiB"
LEFT_A_PROCESS = "ended and left another process behind"
CUT_SHORT = "was cut short at its exit"
MALFORMED = "gave a malformed answer"


class NotReproduced(BaseException):
    """The judgement got past the place of the recorded failure."""


@dataclasses.dataclass
class StepReport:
    """What came of a step: it ``returned``, or ``raised``, or its process ``came_to`` something else."""

    number: int
    phase: str
    pid: int = 0
    returned: bool = False
    raised: dict[str, Any] | None = None
    #: Whether it raised when the failure was recorded too, and the others went on.
    fails: bool = False
    stderr: str = ""
    came_to: str = ""
    #: The exit code, or minus the number of the signal, where the process ended by itself.
    status: int | None = None
    answers: list[Any] = dataclasses.field(default_factory=list)


def watch(label: str, folder: str, libraries: list[str], backend: str, seconds: float) -> list[StepReport]:
    """Let a process take its steps, and show what it wrote if that went wrong.

    What it came to then is said of its last step, or else of a step 0, which has no phase.
    """
    with contextlib.ExitStack() as opened:
        files = Files(*(opened.enter_context(open(path, "ab+", buffering=0)) for path in files_of(label, folder)))
        ending = supervise(lambda: _become_process(label, folder, libraries, backend), files, seconds, _START_SECONDS)
    steps, malformed = _reports(files_of(label, folder)[-1])
    steps = steps or [StepReport(0, "")]
    last = steps[-1]
    last.came_to = _came_to(ending, last, malformed)
    if last.came_to:
        last.stderr = ending.stderr
        last.status = ending.status if last.came_to.startswith(("was killed by", "exited with")) else None
    if last.came_to or (last.raised and not last.fails):
        sys.stderr.write(ending.stdout + ending.stderr + ending.stack)
    return steps


def _become_process(label: str, folder: str, libraries: list[str], backend: str) -> NoReturn:
    set_environment(
        {
            "OMP_NUM_THREADS": "1",
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
            # What was compiled before would hide a failure.
            "TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, "inductor"),
            "TORCH_CPP_LOG_LEVEL": "WARNING",
            "PYTHONWARNINGS": "ignore::DeprecationWarning",
            "REPRODUCER_LIBRARIES": os.pathsep.join(libraries),
            "REPRODUCER_BACKEND": backend,
            **ENVIRONMENT.get(label, {}),
        }
    )
    os.execv(sys.executable, [sys.executable, os.path.abspath(sys.argv[0]), "--process", label, "--folder", folder])


def _came_to(ending: Ending, last: StepReport, malformed: bool) -> str:
    if ending.flooded:
        return TOO_MUCH_OUTPUT
    if ending.status is None:
        return NO_ANSWER
    if last.phase == "exit" and last.returned and ending.status in (0, AT_ITS_END):
        return CUT_SHORT if ending.status == 0 else LEFT_A_PROCESS if ending.left_processes else ""
    if ending.status or not (last.returned or last.raised):
        return how_it_ended(ending.status)
    return MALFORMED if malformed else ""


def _reports(path: Path) -> tuple[list[StepReport], bool]:
    """The last report of each step; and whether there was something else between, or another process reported."""
    steps: dict[int, StepReport] = {}
    pids = set()
    malformed = False
    for line in path.read_bytes().splitlines():
        try:
            step = StepReport(**json.loads(line))
        except (ValueError, TypeError):
            malformed = True
            continue
        pids.add(step.pid)
        if len(pids) == 1:
            steps[step.number] = step
    return list(steps.values()), malformed or len(pids) > 1


def gist(text: str) -> str:
    """What an error says, in a line, without what differs from run to run: paths, addresses, numbers of types."""
    for what_follows in ("\nException raised from ", "\nfrom user code:", "\nSet TORCHDYNAMO_VERBOSE"):
        text = text.partition(what_follows)[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    if "Traceback of TorchScript" in text:
        lines = lines[-1:] if lines[0].startswith("The following operation failed") else lines[:1]
    line = re.sub(r"\.___torch_mangle_\d+", "", " ".join(lines))
    return str(without_paths(re.sub(r"\b0x[0-9a-f]+\b", "0x...", line)))[:500]


@dataclasses.dataclass(frozen=True)
class Script:
    """What a script says itself: its processes, in the order in which they run, and how the failure is known again.

    That is the step which fails, with how it does (``failure``), or a judgement of what the steps gave.
    """

    processes: dict[str, Callable[[], None]]
    failure: tuple[int, str] | None = None
    judge: Callable[[Any], None] | None = None


def try_it(own: Script, folder: str, libraries: list[str], backend: str, seconds: float) -> tuple[int, str]:
    """Take all steps, and compare what came of them with the failure. Returns the exit code, and a sentence."""
    steps: dict[int, StepReport] = {}
    seen: tuple[int, str] | None = None
    for label in own.processes:
        taken = watch(label, folder, libraries, backend, seconds)
        steps |= {step.number: step for step in taken}
        last = taken[-1]
        if last.came_to:
            seen = (last.number, last.came_to)
        elif last.raised and not last.fails:
            seen = (last.number, f"raised {last.raised['type']}: {gist(last.raised['text'])}")
        if seen:
            break
    if seen and seen[0] == 0:
        return UNTRIED, f"the process of the {label} {seen[1]} before its first step"
    what = f"step {seen[0]} ({steps[seen[0]].phase}) {seen[1]}" if seen else ""
    if seen is not None and seen == own.failure:
        return REPRODUCED, what
    if own.judge is not None:
        return _judged(own, own.judge, steps, folder)
    if seen is None:
        return GONE, "every step works"
    recorded = f"; what was recorded: step {own.failure[0]} {own.failure[1]}" if own.failure else ""
    return OTHERWISE, what + recorded


def answer_of(steps: dict[int, StepReport], number: int, place: int) -> Any:
    """What a step gave. Raises LookupError where it was not reached, or gave nothing."""
    if number not in steps or len(steps[number].answers) <= place:
        raise LookupError(f"step {number} gave no answer")
    return steps[number].answers[place]


def _judged(own: Script, judge: Callable[[Any], None], steps: dict[int, StepReport], folder: str) -> tuple[int, str]:
    for number, step in steps.items():
        files = sorted(Path(folder).glob(f"answer-{number}-*.pt"), key=lambda file: (len(file.name), file.name))
        step.answers = [decode(file.read_bytes()) for file in files]
    try:
        judge(steps)
    except AssertionError as difference:
        return REPRODUCED if own.failure is None else OTHERWISE, str(difference)
    except NotReproduced as reason:
        return GONE, str(reason)
    except Exception as error:
        return OTHERWISE, f"{type(error).__name__}: {error}"
    return GONE, "nothing was found wrong"


def reproduce(
    *processes: Callable[[], None],
    fails: tuple[int, str] | None = None,
    judge: Callable[[Any], None] | None = None,
) -> NoReturn:
    """Take the steps of each process, and end with the exit code: the failure is there when step ``fails[0]`` comes to
    ``fails[1]``, or when ``judge`` raises AssertionError about what the steps gave."""
    sys.exit(_main(Script({each.__name__: each for each in processes}, fails, judge)))


def _main(own: Script) -> int:
    script = sys.modules["__main__"]
    parser = argparse.ArgumentParser(description=(script.__doc__ or "").partition("\n")[0])
    add_options(parser)
    parser.add_argument("--backend", default=BACKEND, metavar="NAME", help="the name that it registers (%(default)s)")
    parser.add_argument(
        "--seconds", type=positive_seconds, default=SECONDS, metavar="S", help="for each step (%(default)g)"
    )
    parser.add_argument("--process", choices=list(own.processes), help="only take its steps, here: for a debugger")
    parser.add_argument("--folder", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    try:
        if options.folder:
            run_steps(options.process, own.processes[options.process], options.folder)
        libraries = find_backend(options)
        if options.process:
            folder = tempfile.mkdtemp(prefix="reproducer-")
            _become_process(options.process, folder, libraries, options.backend)
    except CannotTry as reason:
        sys.stderr.write(f"{Path(sys.argv[0]).name}: {reason}\n")
        return UNTRIED
    if torch.__version__ != TORCH:
        sys.stderr.write(f"note: recorded with torch {TORCH}, this is {torch.__version__}\n")
    try:
        with tempfile.TemporaryDirectory(prefix="reproducer-") as folder:
            code, sentence = try_it(own, folder, libraries, options.backend, options.seconds)
    except Exception:  # which would end the process with the exit code of a reproduced failure
        code, sentence = UNTRIED, f"the script itself failed\n{traceback.format_exc()}"
    words = {REPRODUCED: "REPRODUCED", GONE: "NOT REPRODUCED", UNTRIED: "NOT TRIED", OTHERWISE: "FAILS OTHERWISE"}
    print(f"{words[code]}: {sentence}")
    return code
