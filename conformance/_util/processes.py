"""What is done about a process: its limits and descriptors from inside, its stack and its end from outside."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import resource
import signal
import time
from collections.abc import Mapping, Set
from pathlib import Path
from typing import IO

#: Asked of a process that does not answer, to learn where it hangs; the handler is native and needs no GIL.
STACK_SIGNAL = signal.SIGUSR2
#: How long a process that hangs gets to write its stack.
_GRACE_SECONDS = 0.5
#: How many times as long work may take at most because of what else runs.
MOST_CROWDED = 4.0
#: How much captured output goes into a message.
_OUTPUT_TAIL = 4_000


def crowding() -> float:
    """How many times as long work takes here as on a quiet machine: tasks that want to run for each core, in the last
    minute; 1.0 at least, and 4.0 at most."""
    return min(max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)), MOST_CROWDED)


# Of the process itself.


def lead_session() -> None:
    """Lead a session of one's own, and so a process group that nothing outside of the session can be moved to.

    A process can go to another group of its session alone: what is in this one never gets to whoever started it.
    """
    with contextlib.suppress(PermissionError):  # it does already
        os.setsid()


def settle(stdout: int, stderr: int) -> None:
    """Lead a session of one's own, write to these descriptors, and have nothing to read."""
    lead_session()
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    devnull = os.open(os.devnull, os.O_RDONLY)
    os.dup2(devnull, 0)
    os.close(devnull)


def set_environment(environment: Mapping[str, str | None]) -> None:
    """Set variables of this process; those that are None are unset."""
    for name, value in environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def limit_process(memory_bytes: int | None = None, file_bytes: int | None = None) -> None:
    """Write no core dumps, use so much memory beyond what is in use now, and write no larger files (None: no limit).

    Where whoever started this has a lower limit, that stays.
    """
    _limit(resource.RLIMIT_CORE, 0)
    if file_bytes is not None:
        _limit(resource.RLIMIT_FSIZE, file_bytes)
    if memory_bytes is not None:
        with contextlib.suppress(OSError):  # no such accounting on this platform: the wall clock remains
            in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            _limit(resource.RLIMIT_AS, in_use + memory_bytes)


def _limit(what: int, most: int) -> None:
    """Lower a limit for good, as far as it is not lower already."""
    _, hard = resource.getrlimit(what)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))


def dump_stacks(descriptor: int) -> None:
    """Write the stack of every thread to a descriptor when this process crashes, and when it is asked."""
    faulthandler.enable(descriptor, all_threads=True)
    faulthandler.register(STACK_SIGNAL, descriptor, all_threads=True)


# From outside.


def ask_for_stack(pid: int, file: IO[bytes]) -> None:
    """Let a process that hangs write its stack to a file, and wait until it has; half a second at most."""
    before = size = os.fstat(file.fileno()).st_size
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, STACK_SIGNAL)
    deadline = time.monotonic() + _GRACE_SECONDS
    while time.monotonic() < deadline:
        time.sleep(0.01)
        last, size = size, os.fstat(file.fileno()).st_size
        if last == size != before:
            return


def kill_group(pid: int) -> bool:
    """Kill every process of a group; whether there was one."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def kill_process(pid: int) -> None:
    """Kill a process, which may lead no group yet, and the group that it leads."""
    kill_group(pid)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def kill_tree(pid: int) -> None:
    """Kill a process and all that descends from it: first what it started, which cannot be found without it."""
    for child in _children_of(pid):
        kill_tree(child)
    kill_process(pid)


def is_stopped(pid: int) -> bool:
    """Whether a process was stopped by a signal, or by who traces it; False where the system does not tell."""
    return _state(pid) in ("T", "t")


def adopt_orphans() -> None:
    """Become the parent of what processes below this one leave behind, wherever they hid (setsid).

    So a device is the parent of all that it started, directly or not; and whoever started a process is the parent of
    what that has left behind, which can be found and ended then.
    """
    set_child_subreaper = 36
    with contextlib.suppress(OSError, AttributeError):  # not Linux: process groups remain
        ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def end_children(spared: Set[int] = frozenset()) -> int:
    """End every child but these, and whatever becomes a child of this process when its parent ends; how many."""
    ended = 0
    while children := [child for child in _children() if child not in spared]:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        for child in children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, 0)
        ended += len(children)
    return ended


def _children() -> list[int]:
    """The living children of this process; none where the system does not tell."""
    return [child for child in _children_of(os.getpid()) if _state(child) not in ("", "Z")]


def _children_of(pid: int) -> list[int]:
    found = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += [int(child) for child in (thread / "children").read_text().split()]
    return found


def _state(pid: int) -> str:
    """The letter by which the system tells the state of a process; "" where it does not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return ""


def tail(file: IO[bytes], start: int = 0) -> str:
    """The end of what was written to a file, or since ``start``, as text."""
    size = os.fstat(file.fileno()).st_size
    start = max(start, size - _OUTPUT_TAIL)
    return os.pread(file.fileno(), size - start, start).decode(errors="replace")
