"""Backends of both toolchains that keep the contract but for the fault that the campaign wants in a cell.

The process that runs the cells writes into a file of its own, in the folder ``$FAULTS``, which cell runs now, and which
fault is to happen in which phase (:func:`plan`). A device finds it by who forked it. Before it does what the fault
says, it notes that it did (``fired``).
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import resource
import signal
import socket
import stat
import struct
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import execnet
import torch
from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.dynamo_control import Code, DynamoControl
from torch_conformance_saboteurs.sabotage_process import Steps
from torch_conformance_saboteurs.sabotage_tools import replaced

from support.campaigns.fault_kinds import FAULTS

FOLDER = "FAULTS"
#: The prefixes of the backends' names, by toolchain.
PREFIXES = {"torchscript": "ts_", "dynamo": "dy_"}
#: What lives as long as the process.
kept: list[Any] = []


def __getattr__(name: str) -> Any:
    """The class of a backend, by its name: ``ts_0``, ``dy_1``, ...; all of a toolchain do the same."""
    for prefix, make in (("ts_", _torchscript), ("dy_", _dynamo)):
        if name.startswith(prefix):
            return make(name)
    raise AttributeError(name)


def plan(folder: Path, cell: str, fault: str, phase: str) -> None:
    """Say what this process runs now, and what is to happen."""
    (folder / f"{os.getpid()}.part").write_text(f"{cell}\n{fault}\n{phase}")
    os.replace(folder / f"{os.getpid()}.part", folder / f"{os.getpid()}.plan")


def do(phase: str, result: Any = None) -> Any:
    """What is to happen in a phase, if it is this one; the result, which that may have changed."""
    folder = Path(os.environ.get(FOLDER, "/nonexistent"))
    try:
        cell, fault, wanted = (folder / f"{_runner()}.plan").read_text().split("\n")
    except OSError:
        return result
    if phase != wanted:
        return result
    descriptor = os.open(folder / "fired", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{cell}\t{fault}\t{phase}\n".encode())
    os.close(descriptor)
    names = {**globals(), "result": result}
    exec(FAULTS[fault].code, names)
    return names["result"]


def _runner() -> int:
    """Who has started what this process was forked from."""
    return int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])


# What the code of faults can use.


def sockets() -> list[int]:
    """The descriptors that are sockets."""
    return [number for number in range(3, 256) if _is_socket(number)]


def _is_socket(number: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:
        return False


def write(number: int, data: bytes) -> None:
    """Write where that is possible."""
    with contextlib.suppress(OSError):
        os.write(number, data)


def answer(number: int, seconds: float) -> bytes:
    """What the harness might take for the answer to a request."""
    data = execnet.dumps({"number": number, "seconds": seconds, "warnings": [], "value": None})
    return struct.pack("!Q", len(data)) + data


def answer_later() -> None:
    """Answer in place of the process that one was forked from, for a while."""
    for number in range(50):
        time.sleep(0.01)
        for each in sockets():
            write(each, answer(number, 0.1))
    os._exit(0)


def daemon(prepare: Callable[[], object] = lambda: None) -> None:
    """Start a process in a session of its own, whose parent has ended."""
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            prepare()
            time.sleep(600)
        os._exit(0)
    os.waitpid(child, 0)


def spin() -> None:
    """Compute for ever."""
    while True:
        pass


def limit(kind: int, most: int) -> None:
    """Lower a limit of this process."""
    resource.setrlimit(kind, (most, most))


def each(result: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    """A result with each of its tensors changed."""
    return replaced(result, torch.Tensor, change)


def fake(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor that has no values."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode().from_tensor(tensor)


#: Modules that the code of faults has by their names.
_MODULES = (ctypes, signal, socket, sys, threading)


# The backends.


def _torchscript(name: str) -> type[PythonControl]:
    class Implementation(Steps):
        def at_preprocess(self) -> None:
            do("lower")

        def at_load(self) -> None:
            do("artifact")

        def at_destruction(self) -> None:
            do("release")

        def call(self, handle: Any, inputs: list[Any]) -> Any:
            return do("run", super().call(handle, inputs))

    class Plugin(PythonControl):
        implementation: ClassVar[Any] = Implementation

        def load(self) -> None:
            super().load()
            do("load")
            atexit.register(do, "exit")

    Plugin.name = name
    return Plugin


def _dynamo(name: str) -> type[DynamoControl]:
    class Plugin(DynamoControl):
        def load(self) -> None:
            super().load()
            do("load")
            atexit.register(do, "exit")

        def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
            do("lower")
            weakref.finalize(graph, do, "release").atexit = False
            return super().lower(graph, example_inputs)

        def call(self, code: Code, arguments: Sequence[Any]) -> Any:
            return do("run", super().call(code, arguments))

    Plugin.name = name
    return Plugin
