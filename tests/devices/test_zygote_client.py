"""What pytest remembers of the children of a zygote: the kernel gives their process ids again."""

from __future__ import annotations

import json
import os
import socket
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from conformance._util.run_folder import PREFIX
from conformance.api.errors import MachineTooSlow
from conformance.devices import Child, Limits, ZygoteKind
from conformance.devices._zygote_client import _PATIENCE, Zygote

KILLED, WELL = (-9, 0), (0, 0)


class Silent:
    """In place of a zygote's process: what it tells is said by :func:`tells`."""

    def __init__(self, arguments: list[str], pass_fds: list[int], **keywords: Any) -> None:
        self.control = socket.socket(fileno=os.dup(pass_fds[0]))
        self.pid = os.getpid()

    def poll(self) -> None:
        """It runs."""


@pytest.fixture
def zygote(monkeypatch: pytest.MonkeyPatch) -> Zygote:
    monkeypatch.setattr("subprocess.Popen", Silent)
    zygote = Zygote(ZygoteKind("none"))
    tells(zygote, {"ready": True})
    return zygote


@pytest.mark.parametrize("works", [True, False], ids=["gets-on", "hangs"])
def test_a_zygote_that_starts_is_waited_for_while_it_gets_on(monkeypatch: pytest.MonkeyPatch, works: bool) -> None:
    monkeypatch.setattr("subprocess.Popen", Silent)
    zygote = Zygote(ZygoteKind("none"))
    monkeypatch.setattr(Zygote, "_processor_seconds", lambda self: time.monotonic() if works else 0.0)
    began = time.monotonic()
    with pytest.raises(MachineTooSlow, match=r"did not answer within \d s, .* is the machine overloaded\?"):
        zygote.pid_of(1, wait=0.1)
    assert (time.monotonic() - began >= 0.1 * _PATIENCE) == works


def tells(zygote: Any, *notices: dict[str, Any]) -> None:
    zygote._process.control.sendall(b"".join(json.dumps(each).encode() + b"\n" for each in notices))
    zygote.read_notices(wait=1.0)


def forks(zygote: Zygote, pid: int) -> int:
    """A child that gets this process id: its ticket."""
    ticket = zygote.fork({}, [])
    tells(zygote, {"forked": pid})
    assert zygote.pid_of(ticket) == pid
    return ticket


def ended(pid: int, end: tuple[int, int]) -> dict[str, int]:
    return {"exited": pid, "status": end[0], "left": end[1]}


@pytest.mark.parametrize("told_first", [True, False], ids=["told-then-forgotten", "forgotten-then-told"])
def test_the_end_of_a_child_is_not_that_of_a_later_one_with_its_process_id(zygote: Zygote, told_first: bool) -> None:
    for _ in range(3):
        ticket = forks(zygote, 77)
        assert zygote.end_of(ticket) is None
        if told_first:
            tells(zygote, ended(77, KILLED))
            assert zygote.end_of(ticket) == KILLED
        zygote.forget(ticket)
        if not told_first:
            tells(zygote, ended(77, KILLED))


def test_a_child_that_ended_before_it_was_asked_for_has_ended(zygote: Zygote) -> None:
    ticket = zygote.fork({}, [])
    tells(zygote, ended(78, WELL), {"forked": 78})
    assert zygote.end_of(ticket) == WELL


def test_two_children_are_told_apart(zygote: Zygote) -> None:
    first, second = forks(zygote, 5), forks(zygote, 6)
    zygote.forget(first)
    tells(zygote, ended(6, WELL), ended(5, KILLED))
    assert (zygote.end_of(first), zygote.end_of(second)) == (None, WELL)


def test_a_child_that_was_interrupted_before_it_was_made_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever presses Ctrl-C while a zygote starts again would find its folder where temporary files go."""

    def interrupted(message: Any, descriptors: list[int]) -> int:
        raise KeyboardInterrupt

    before = set(_folders()), len(os.listdir("/proc/self/fd"))
    with pytest.raises(KeyboardInterrupt) as caught:
        Child(cast(Any, SimpleNamespace(fork=interrupted)), {"program": [], "environment": {}}, Limits())
    assert (set(_folders()), len(os.listdir("/proc/self/fd"))) == before
    assert caught.tb, "as long as somebody has the traceback, nothing of it is collected"


def _folders() -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob(f"{PREFIX}*/device-*"))
