"""The zygote: a process that imports torch and runs nothing, and forks a child for each device.

Started as a program of its own (never forked from pytest: a thread pool that an operator has started there would hang
its children). Requests are lines of JSON on a Unix socket, the child's descriptors come with them; the zygote answers
with the child's process id, and later tells how each child ended.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import sys
from typing import Any

#: What every process of a run has, whatever the user's shell says: the warning of an unavailable backend must not be
#: silenced.
PINNED_ENVIRONMENT = {"TORCH_CPP_LOG_LEVEL": "WARNING", "OMP_NUM_THREADS": "1"}

DESCRIPTORS = ("connection", "stdout", "stderr", "stack")


def main(control_descriptor: int) -> None:
    """Answer fork requests until the other end closes."""
    control = socket.socket(fileno=control_descriptor)
    lines = _Lines(control)
    (hello, _) = lines.read() or ({}, [])
    sys.path[:] = hello["path"]
    _import_everything()
    wakeup, wakeup_writer = os.pipe()
    for descriptor in (wakeup, wakeup_writer):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(wakeup_writer)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _tell(control, {"ready": True})
    while True:
        readable, _, _ = select.select([control, wakeup], [], [])
        if wakeup in readable:
            os.read(wakeup, 4096)
            _reap(control)
        if control in readable:
            request = lines.read()
            if request is None:
                return
            message, descriptors = request
            pid = os.fork()
            if pid == 0:
                control.close()
                os.close(wakeup)
                os.close(wakeup_writer)
                _become_device(message, descriptors)
            try:
                os.setpgid(pid, pid)
            except OSError:
                pass  # the child was faster, or is gone already
            for descriptor in descriptors:
                os.close(descriptor)
            _tell(control, {"forked": pid})


def _import_everything() -> None:
    """What every child needs, once. No operator runs here: that would start threads, which do not survive a fork."""
    import gc

    import torch

    torch.set_num_threads(1)
    import torch.jit.mobile
    import torch.utils.bundled_inputs

    import conformance.cases
    import conformance.devices._serve
    import conformance.toolchains.torchscript  # noqa: F401

    _warm_the_jit(torch)
    gc.collect()
    gc.freeze()


def _warm_the_jit(torch: Any) -> None:
    """Make the JIT load its tables of schemas and gradients, 25 ms that every child would pay: look up a dictionary."""
    unit = torch.jit.CompilationUnit("def look_up(table: Dict[str, int]) -> int:\n    return table['key']\n")
    for _ in range(2):
        unit.look_up({"key": 1})


def _become_device(message: dict[str, Any], descriptors: list[int]) -> None:
    """Turn a fresh fork into a device. Ends by leaving the process; as a script would only if a verb asks for it."""
    from conformance.devices._serve import serve
    from conformance.toolchains import Leave

    status = 70
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        serve(dict(zip(DESCRIPTORS, descriptors, strict=True)), message)
        status = 0
    except Leave:
        sys.exit(0)
    except BaseException:
        import traceback

        traceback.print_exc()
    os._exit(status)


def _reap(control: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        _tell(control, {"exited": pid, "status": os.waitstatus_to_exitcode(status)})


def _tell(control: socket.socket, message: dict[str, Any]) -> None:
    control.sendall(json.dumps(message).encode() + b"\n")


class _Lines:
    """Requests, each a line of JSON, with the descriptors that came along."""

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
        taken, self._descriptors = self._descriptors, []
        return json.loads(line), taken


if __name__ == "__main__":
    main(int(sys.argv[1]))
