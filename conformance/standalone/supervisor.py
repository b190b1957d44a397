"""Runs work in a process of its own, watches it, and says how it ended.

Copied as text into every reproducer and into ``run.py`` of every pack, with what it needs of the harness; so it uses
the standard library alone.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import IO, NoReturn

from conformance._util.processes import (
    adopt_orphans,
    ask_for_stack,
    dump_stacks,
    end_children,
    kill_group,
    kill_process,
    limit_process,
    settle,
    tail,
)

#: What a process may write to stdout and stderr.
MOST_OUTPUT = 16 * 2**20
#: Of a longer time Python's clocks may know nothing.
MOST_SECONDS = 1_000_000
_POLL_SECONDS = 0.01
#: The exit code of a process whose work raised.
_WORK_FAILED = 70
#: The exit code of a process that ends as a script does, where nothing else has ended it before its time.
AT_ITS_END = 93


@dataclasses.dataclass(frozen=True)
class Files:
    """Where a process writes; each answer is a line of JSON."""

    stdout: IO[bytes]
    stderr: IO[bytes]
    stack: IO[bytes]
    answers: IO[bytes]


@dataclasses.dataclass(frozen=True)
class Ending:
    """How a process ended, and the end of what it had written.

    ``status`` is its exit code, or minus the number of a signal. It is None where the process was killed by whoever
    watched it: it had written too much (``flooded``, which it may also have done last of all), or gave no answer in
    time.
    """

    status: int | None
    flooded: bool
    #: Whether it ended by itself while a process that it had started was still there, which is gone now.
    left_processes: bool
    stdout: str
    stderr: str
    stack: str


def positive_seconds(text: str) -> float:
    """The ``type`` of an option that says how long something may take."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= MOST_SECONDS:  # NaN is neither
        raise argparse.ArgumentTypeError(f"a positive number of seconds up to {MOST_SECONDS} is taken, found {text!r}")
    return seconds


def supervise(work: Callable[[], object], files: Files, seconds: float, first_seconds: float) -> Ending:
    """Fork a process that does ``work``, and wait until nothing is left of it.

    ``work`` may become another program. It has ``first_seconds`` until the first answer, and after each answer
    ``seconds`` until the next, or the end.
    """
    adopt_orphans()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _do(work, files)
    status, flooded = None, False
    try:
        status, flooded = _wait(pid, files, seconds, first_seconds)
    finally:
        left = _end(pid, status is not None)
    return Ending(status, flooded, left, tail(files.stdout), tail(files.stderr), tail(files.stack))


def how_it_ended(status: int) -> str:
    """The end of a process in words, by its exit code or minus the number of a signal."""
    if status >= 0:
        return f"exited with code {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"


def _do(work: Callable[[], object], files: Files) -> NoReturn:
    status = _WORK_FAILED
    try:
        settle(files.stdout.fileno(), files.stderr.fileno())
        limit_process()
        dump_stacks(files.stack.fileno())
        work()
        status = 0
    except SystemExit:
        raise
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
    os._exit(status)


def _wait(pid: int, files: Files, seconds: float, first_seconds: float) -> tuple[int | None, bool]:
    """The status of a process, or None if it has to be killed; and whether it has written too much."""
    answered, since, patience = 0, time.monotonic(), first_seconds
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        flooded = _size(files.stdout) + _size(files.stderr) > MOST_OUTPUT
        if ended:
            return os.waitstatus_to_exitcode(status), flooded
        if flooded:
            return None, True
        if (size := _size(files.answers)) != answered:
            answered, since, patience = size, time.monotonic(), seconds
        if time.monotonic() - since > patience:
            ask_for_stack(pid, files.stack)
            return None, False
        time.sleep(_POLL_SECONDS)


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _end(pid: int, by_itself: bool) -> bool:
    """Kill a process, its group, and what hid from that in a session of its own; whether it had left something."""
    with contextlib.suppress(ChildProcessError):  # what it left behind may have ended too, and waits to be noticed
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    left = kill_group(pid)
    if not by_itself:
        kill_process(pid)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
    return (end_children() > 0 or left) and by_itself
