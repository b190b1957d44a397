"""Gateways to a Python elsewhere: made by execnet in a bounded time, or refused with what was found and what to do."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from typing import IO, Any, NoReturn

import execnet

from conformance.api.errors import HarnessError
from conformance.targets import far_facts as _far_facts

_CONNECT_SECONDS = 60.0
_FACTS_SECONDS = 120.0
CLOSE_SECONDS = 5.0
#: After the user's own, which win: ask nobody anything, and notice a network that has gone away.
_SSH_SETTINGS = "-o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=15"
#: What this shell says of its own Python, and must not say of another.
_OWN_PYTHON = ("PYTHONPATH", "PYTHONHOME")
#: What execnet runs here in order to get there.
_PROGRAMS = {"ssh": "ssh (of OpenSSH)", "vagrant_ssh": "vagrant"}

_NO_ADDRESS = "no host of that name is known here", "Check the name, or what the ssh configuration says of it"
_NO_PYTHON = "the Python that was asked for cannot be started", "Name one that is there with //python=/path/to/python"
_NO_SERVER = (
    "what listens there is no socket server of execnet",
    "Start `python -m execnet.script.socketserver HOST:PORT` there, with the Python that is to be the target",
)
_NOISE = (
    "something other than Python wrote to its standard output first",
    "Have the files with which the shell there starts write nothing",
)
_NO_PLACE = (
    "what //chdir=, //nice= or //env: asks for cannot be had there",
    "//chdir= takes a folder that is there, or whose parent is",
)
_SILENCE = {
    "ssh": "Run the same `ssh ... python -V` by hand: it must come back without a question",
    "socket": "A socket server serves one run at a time: wait for that run, or start another server",
}
#: What ssh, a shell and the system say → what that is, and what to do.
_CAUSES = (
    (r"Could not resolve hostname", _NO_ADDRESS),
    (
        r"Host key verification failed",
        ("the key of the host is not known here, or is another", "Connect once by hand, and compare the key"),
    ),
    (
        r"Permission denied \(",
        (
            "the host lets nobody in with these keys",
            "No password is asked for: name a key without a passphrase (-i FILE), or load it into ssh-agent",
        ),
    ),
    (
        r"Connection refused",
        (
            "nothing listens at that address",
            "Start the server there, or name its port (ssh=-p PORT ..., socket=H:PORT)",
        ),
    ),
    (
        r"timed out|No route to host|Network is unreachable",
        ("the host does not answer", "Check the address, and the network between here and there"),
    ),
    (r"config file|configuration option", ("ssh does not take these options", "Try the same `ssh ...` by hand")),
    (r"not found|No such file or directory|Is a directory|Permission denied", _NO_PYTHON),
)


class Unreachable(HarnessError):
    """There is no connection, or not all that a target needs at its end; the text says what to do.

    ``public`` is that text without what was said there or by ssh, which may name hosts, users and folders.
    """

    def __init__(self, text: str, said: str = "") -> None:
        super().__init__(f"{text}. What was said: {said}" if said else text)
        self.public = text


@dataclasses.dataclass(frozen=True)
class Connected:
    """A gateway in a group of its own, and what is installed at its end."""

    group: execnet.Group
    gateway: execnet.Gateway
    facts: dict[str, Any]

    def close(self) -> None:
        """End the far side; what does not end is killed, where it is a process of this machine."""
        self.group.terminate(CLOSE_SECONDS)


def connected(spec: str, kind: str) -> Connected:
    """Connect by a specification of execnet, of which only ``kind`` is told. Raises Unreachable."""
    wanted = execnet.XSpec(spec)
    if kind == "ssh":
        wanted.ssh = f"{wanted.ssh} {_SSH_SETTINGS}"
    group = execnet.Group()
    with tempfile.TemporaryFile() as said:
        try:
            with _without_own_python(), _stderr_to(said):
                gateway = _made(group, wanted)
            facts = gateway.remote_exec(_far_facts).receive(_FACTS_SECONDS)
        except (OSError, EOFError, ValueError, AssertionError, execnet.RemoteError, execnet.HostNotFound) as error:
            group.terminate(CLOSE_SECONDS)
            _explain(kind, error, _text_of(said))
        except BaseException:
            group.terminate(CLOSE_SECONDS)
            raise
    return Connected(group, gateway, facts)


def in_a_line(error: BaseException) -> str:
    """What an exception says at its end; one from elsewhere has a traceback before it."""
    return _last_line(str(error)) or type(error).__name__


def _made(group: execnet.Group, spec: execnet.XSpec) -> execnet.Gateway:
    """The gateway; execnet itself waits for ever. Where nothing comes, its thread goes on waiting until this process
    ends, and what it started with it."""
    future: Future[execnet.Gateway] = Future()

    def make() -> None:
        try:
            future.set_result(group.makegateway(spec))
        except BaseException as error:  # the edge of the thread: whoever waits gets it
            future.set_exception(error)

    threading.Thread(target=make, daemon=True, name="conformance-gateway").start()
    return future.result(_CONNECT_SECONDS)


def _explain(kind: str, error: Exception, said: str) -> NoReturn:
    what, remedy = _cause(kind, error, said)
    found = _last_line(said) or _last_line(str(error))
    raise Unreachable(f"the target cannot be reached by {kind}: {what}. {remedy}", found) from error


def _cause(kind: str, error: Exception, said: str) -> tuple[str, str]:
    match error:
        case execnet.RemoteError():
            return _NO_PLACE
        case execnet.HostNotFound() if kind == "socket":
            return _NO_ADDRESS
        case FileNotFoundError() if kind in _PROGRAMS:
            return f"there is no {_PROGRAMS[kind]} here", "Install it"
        case AssertionError():
            return _NO_SERVER if kind == "socket" else _NOISE
        case TimeoutError():
            return f"nothing came back within {_CONNECT_SECONDS:g} s", _SILENCE.get(kind, _NO_PYTHON[1])
    for pattern, cause in _CAUSES:
        if re.search(pattern, said or str(error)):
            return cause
    return "it ended before Python answered", "Try by hand what the specification says"


@contextlib.contextmanager
def _stderr_to(file: IO[bytes]) -> Iterator[None]:
    """What is started within the block writes its errors to ``file``, for as long as it lives.

    They name hosts and users, so they must not be captured into what pytest publishes.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextlib.contextmanager
def _without_own_python() -> Iterator[None]:
    """What is started within the block finds its own packages, and not those that this process was told of."""
    kept = {name: os.environ.pop(name) for name in _OWN_PYTHON if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(kept)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""


def _text_of(file: IO[bytes]) -> str:
    return os.pread(file.fileno(), 2**16, 0).decode(errors="replace")
