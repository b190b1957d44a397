"""The zygote, seen from pytest."""

from __future__ import annotations

import collections
import contextlib
import itertools
import json
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance._util.processes import is_stopped, kill_tree
from conformance._util.run_folder import private_folder
from conformance.api.errors import MachineTooSlow, ZygoteLost
from conformance.devices._zygote import PINNED_ENVIRONMENT
from conformance.devices.protocol import ZygoteKind

#: So long a zygote has to answer; and so many times as long while it starts, and the processor works for it.
_START_SECONDS = 120.0
_PATIENCE = 10
#: So often it is looked whether it was stopped, while it is waited for.
_LOOK_SECONDS = 1.0
#: How long a zygote gets to end what its devices have left.
_END_SECONDS = 5.0


class Zygote:
    """A zygote process of this pytest process.

    Starts at once, and is awaited at the first fork.
    """

    def __init__(self, kind: ZygoteKind) -> None:
        self.control, theirs = socket.socketpair()
        self._data = b""
        self._ready = False
        self._asked: collections.deque[int] = collections.deque()
        self._tickets = itertools.count(1)
        self._pids: dict[int, int] = {}
        self._ended: dict[int, tuple[int, int]] = {}
        #: Children that nobody waits for any more, and whose end is yet to be told: their numbers will be given again.
        self._forgotten: set[int] = set()
        #: What is written where temporary files go while it imports, such as folders of caches.
        self._folder = private_folder("zygote")
        with theirs:
            program = Path(__file__).with_name("_zygote.py")
            self._process = subprocess.Popen(
                [sys.executable, str(program), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**_without_pytest(os.environ), **PINNED_ENVIRONMENT, "TMPDIR": self._folder.name},
            )
        self._send({"path": sys.path, "imports": list(kind.imports), "preload": kind.preload})

    def expect_many(self, seed: int, cases: Sequence[str] | None) -> None:
        """Say that many children will be asked for, which want models of these cases, or of all, with that seed."""
        with contextlib.suppress(ZygoteLost):  # which the next fork tells
            self._send({"seed": seed, "cases": cases})

    def fork(self, message: dict[str, Any], descriptors: list[int]) -> int:
        """Ask for a child, which gets ``descriptors``; returns a ticket for it, without waiting for its process id.

        ZygoteLost when the zygote is gone.
        """
        self._await(lambda: self._ready)
        self._send({**message, "descriptors": len(descriptors)}, descriptors)
        ticket = next(self._tickets)
        self._asked.append(ticket)
        return ticket

    def pid_of(self, ticket: int, wait: float = _START_SECONDS) -> int:
        """The process id of a child, which the zygote tells. HarnessError when it has not after ``wait`` seconds."""
        self._await(lambda: ticket in self._pids, wait)
        return self._pids[ticket]

    def end_of(self, ticket: int) -> tuple[int, int] | None:
        """The exit status of a child (negative: the signal that ended it) and how many processes it left behind.

        None while it lives.
        """
        return self._ended.get(self._pids.get(ticket, -1))

    def forget(self, ticket: int) -> None:
        """The child is of no more interest, and neither is its end, whether that was told or is yet to be."""
        pid = self._pids.pop(ticket, None)
        if pid is not None and self._ended.pop(pid, None) is None:
            self._forgotten.add(pid)

    def read_notices(self, wait: float = 0.0) -> None:
        """Take what the zygote has to tell, waiting ``wait`` seconds for it. ZygoteLost when it is gone."""
        self._expect_open()
        readable, _, _ = select.select([self.control], [], [], wait)
        if not readable:
            return
        try:
            data = self.control.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            raise ZygoteLost(f"ended, with status {self._process.wait()}")
        *lines, self._data = (self._data + data).split(b"\n")
        for line in lines:
            self._take(json.loads(line))

    def close(self) -> None:
        """End the zygote, which ends first what its devices have left; they have been ended by their owners."""
        with contextlib.suppress(OSError):  # it has gone already
            self.control.shutdown(socket.SHUT_RDWR)
        self.control.close()
        if self._ready and not self.stopped:  # before that it has no device, and may be busy importing for a while
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_SECONDS)
        if self.alive:
            kill_tree(self._process.pid)
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def stopped(self) -> bool:
        """Whether a signal has stopped it."""
        return self.alive and is_stopped(self._process.pid)

    def expect_running(self) -> None:
        """Raise ZygoteLost where a signal has stopped it, or where it was closed."""
        self._expect_open()
        if self.stopped:
            raise ZygoteLost("was stopped")

    def _expect_open(self) -> None:
        """Raise ZygoteLost where it was closed, which it is before its time where another takes its place."""
        if self.control.fileno() == -1:
            raise ZygoteLost("was replaced")

    def _take(self, notice: dict[str, Any]) -> None:
        if "ready" in notice:
            self._ready = True
        elif "forked" in notice:
            self._pids[self._asked.popleft()] = notice["forked"]
        elif notice["exited"] in self._forgotten:
            self._forgotten.remove(notice["exited"])
        else:
            self._ended[notice["exited"]] = (notice["status"], notice["left"])

    def _await(self, condition: Any, wait: float = _START_SECONDS) -> None:
        """Take notices until the condition holds.

        A zygote that is still starting is waited for as long as it gets on, however slow the machine is: the limit
        grows by what the processor does for it, to ten times at most. Raises MachineTooSlow behind that.
        """
        began = time.monotonic()
        deadline, last = began + wait, began + _PATIENCE * wait
        worked = 0.0
        while not condition():
            self._expect_open()
            left = deadline - time.monotonic()
            readable, _, _ = select.select([self.control], [], [], max(0.0, min(left, _LOOK_SECONDS)))
            if readable:
                self.read_notices()
                continue
            self.expect_running()
            if left > 0:
                continue
            now, works = time.monotonic(), self._processor_seconds()
            if not self._ready and works > worked and now < last:
                deadline, worked = min(now + wait, last), works
                continue
            raise MachineTooSlow(
                f"the process from which devices are forked did not answer within {now - began:.0f} s, in which it had "
                f"{works:.0f} s of a processor. It imports torch and the corpus, which takes some seconds: is the "
                "machine overloaded? Run fewer workers, or nothing else beside"
            )

    def _processor_seconds(self) -> float:
        """What its process has had of the processor; 0 where the system does not tell."""
        try:
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _send(self, message: dict[str, Any], descriptors: list[int] | None = None) -> None:
        line = json.dumps(message).encode() + b"\n"
        try:
            sent = socket.send_fds(self.control, [line], descriptors) if descriptors else self.control.send(line)
            self.control.sendall(line[sent:])
        except OSError as error:
            raise ZygoteLost(f"is gone: {error}") from error


def _without_pytest(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a process has which nobody tests: pytest tells those that it starts of itself.

    Nor is a warning an error there, whatever it is here: a backend's are counted, and PyTorch's are PyTorch's.
    """
    return {
        name: value
        for name, value in environment.items()
        if not name.startswith("PYTEST_") and name != "PYTHONWARNINGS"
    }
