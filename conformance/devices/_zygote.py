"""The zygote: a process that imports torch and runs nothing, and forks a child for each device of one kind.

Started as a program of its own (never forked from pytest: a thread pool that an operator has started there would hang
its children). Requests are lines of JSON on a Unix socket, the child's descriptors come with them; the zygote answers
with the child's process id, and later tells how each child ended.

One child is always forked ahead, a *spare* that waits for its request: forking takes some milliseconds, which pass
while the device before it is at work. So do the steps that warm the zygote up: the first devices come before these are
done, and take longer for what they need of them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance.devices._imprint import Imprint

#: What every process of a run has, whatever the user's shell says: the warning of an unavailable backend must not be
#: silenced, and a device compiles in its own process.
PINNED_ENVIRONMENT = {
    "TORCH_CPP_LOG_LEVEL": "WARNING",
    "OMP_NUM_THREADS": "1",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
}

_DONE = object()

DESCRIPTORS = ("connection", "stdout", "stderr", "stack")


def main(control_descriptor: int) -> None:
    """Answer fork requests until the other end closes, which a killed run does too; then end what is still at work."""
    control = socket.socket(fileno=control_descriptor)
    lines = _Lines(control)
    (hello, _) = lines.read() or ({}, [])
    sys.path[:] = hello["path"]
    from conformance._util.collector import lasting_objects
    from conformance._util.processes import adopt_orphans, end_children

    with lasting_objects():
        preloaded = _preload(hello["imports"], hello["preload"])
    adopt_orphans()
    wakeup, wakeup_writer = os.pipe()
    for descriptor in (wakeup, wakeup_writer):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(wakeup_writer)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    inherited = [control.fileno(), wakeup, wakeup_writer]
    spare = _Spare(inherited, preloaded)
    devices = {spare.pid}
    _tell(control, {"ready": True})
    while True:
        waits = not (lines.have_more or preloaded.is_warming_up)
        readable, _, _ = select.select([control.fileno(), wakeup], [], [], None if waits else 0)
        if wakeup in readable:
            os.read(wakeup, 4096)
            _reap(control, devices)
        if control.fileno() in readable or lines.have_more:
            request = lines.read()
            if request is None:
                end_children()
                return
            message, descriptors = request
            if "seed" in message:
                preloaded.expect_many(message["seed"], message["cases"])
            else:
                spare.become_device(message, descriptors)
                _tell(control, {"forked": spare.pid})
                spare = _Spare(inherited, preloaded)
                devices.add(spare.pid)
        elif not readable:
            preloaded.warm_up_further()


class _Spare:
    """A child that was forked ahead, and waits to be told what device it is."""

    def __init__(self, inherited: list[int], preloaded: _Preloaded) -> None:
        self._connection, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            self._connection.close()
            for descriptor in inherited:
                os.close(descriptor)
            import torch

            from conformance._util.processes import adopt_orphans, lead_session

            lead_session()
            adopt_orphans()  # while it lives, what goes astray is its own, and not a child of the zygote
            # After a fork PyTorch makes a new pool of threads when it is first asked for, and several threads that ask
            # at once find none: autograd has a thread for each device, eight in builds for CUDA without a GPU.
            torch.set_num_threads(1)
            _own_locks()
            preloaded.imprint.differences()  # which writes, while nobody waits, to all memory that it looks at
            request = _Lines(theirs).read()
            if request is None:
                os._exit(0)  # the zygote has ended
            theirs.close()
            _become_device(*request, preloaded)
        theirs.close()

    def become_device(self, message: dict[str, Any], descriptors: list[int]) -> None:
        """Hand the request on, with its descriptors."""
        with contextlib.suppress(BrokenPipeError):  # it was killed: whoever waits for it will hear of its end
            socket.send_fds(self._connection, [_line(message)], descriptors)
        self._connection.close()
        for descriptor in descriptors:
            os.close(descriptor)


def _own_locks() -> None:
    """Give this process a lock of its own in place of one that all forks share, and that is never free again once a
    process was killed that held it: tqdm has one, which each interpretation of a graph by torch.fx takes."""
    tqdm = sys.modules.get("tqdm")
    if tqdm is not None:
        tqdm.tqdm.set_lock(threading.RLock())


@dataclasses.dataclass
class _Preloaded:
    """What every device has: a module that knows what to do ahead of it, if there is one, and what the process ran
    before a backend was there. ``steps`` are what is left to be done ahead, in the order of the iterators."""

    module: Any
    imprint: Imprint
    steps: list[Iterator[None]]

    @property
    def is_warming_up(self) -> bool:
        return bool(self.steps)

    def expect_many(self, seed: int, cases: list[str] | None) -> None:
        """Do in further steps what pays for many children: make the models of these cases as a run with that seed has
        them, and have memory of which forks are fast."""
        from conformance._util.huge_pages import collapse_memory

        make = getattr(self.module, "make_models", None)
        if make is not None:
            self.steps.append(make(seed, cases))
        self.steps.append(collapse_memory())

    def forget_models(self) -> None:
        """Have none of the models that were made ahead."""
        forget = getattr(self.module, "forget_models", None)
        if forget is not None:
            forget()

    def warm_up_further(self) -> None:
        """Take the next step, the result of which later children share.

        One that fails is the last of its iterator: a device that needs what it was about fails by itself, and says why.
        """
        from conformance._util.collector import lasting_objects

        step: Any = _DONE
        with lasting_objects(), warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")
            step = next(self.steps[0], _DONE)
        if step is _DONE:
            del self.steps[0]


def _preload(imports: list[str], preload: str) -> _Preloaded:
    """Import what every device needs, once, and do what is to be done ahead of them.

    Nothing here may start threads, which do not survive a fork.
    """
    import importlib

    from conformance._util.quiet import ignore_missing_numpy

    ignore_missing_numpy()
    import torch

    torch.set_num_threads(1)
    import conformance.devices._serve  # noqa: F401

    for name in imports:
        importlib.import_module(name)
    module: Any = importlib.import_module(preload) if preload else None
    steps: Iterator[None] = module.warm_up() if module is not None else iter(())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        next(steps, None)
    from conformance.devices._imprint import Imprint

    imprint = Imprint((*imports, preload))
    return _Preloaded(module, imprint, [steps])


def _become_device(message: dict[str, Any], descriptors: list[int], preloaded: _Preloaded) -> None:
    """Turn a fresh fork into a device. Ends by leaving the process; as a script would only if a verb asks for it."""
    from conformance.devices._serve import become_program, serve
    from conformance.devices.protocol import Leave

    status = 70
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        named = dict(zip(DESCRIPTORS, descriptors, strict=True))
        if message["program"]:
            become_program(named, message)
        if not message["has_models"]:
            preloaded.forget_models()
        serve(named, message, preloaded.imprint)
        status = 0
    except Leave as leave:
        sys.exit(leave.status)
    except BaseException:
        import traceback

        traceback.print_exc()
    os._exit(status)


def _reap(control: socket.socket, devices: set[int]) -> None:
    """Tell of each device that ended, and how many processes it left behind; these are killed before."""
    from conformance._util.processes import end_children

    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if pid in devices:
            devices.remove(pid)
            left = end_children(spared=devices)
            _tell(control, {"exited": pid, "status": os.waitstatus_to_exitcode(status), "left": left})


def _tell(control: socket.socket, message: dict[str, Any]) -> None:
    with contextlib.suppress(ConnectionError):  # nobody listens any more, which reading from it will tell
        control.sendall(_line(message))


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


class _Lines:
    """Requests, each a line of JSON, with the descriptors that came along, of which it has the number."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._data = b""
        self._descriptors: list[int] = []

    def read(self) -> tuple[dict[str, Any], list[int]] | None:
        while b"\n" not in self._data:
            try:
                data, descriptors, _, _ = socket.recv_fds(self._control, 1 << 16, len(DESCRIPTORS))
            except ConnectionError:
                return None
            if not data:
                return None
            self._data += data
            self._descriptors += descriptors
        line, _, self._data = self._data.partition(b"\n")
        message = json.loads(line)
        number = message.get("descriptors", 0)
        taken, self._descriptors = self._descriptors[:number], self._descriptors[number:]
        return message, taken

    @property
    def have_more(self) -> bool:
        """Whether another request has arrived together with the last one."""
        return b"\n" in self._data


if __name__ == "__main__":
    main(int(sys.argv[1]))
    os._exit(0)  # nothing is left to finalise, and somebody waits for the end
