"""Saboteurs: crashes, exits, hangs, floods and leftovers, in each step of a backend's life."""

from __future__ import annotations

import atexit
import ctypes
import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import torch

from conformance.api.saboteur import REPORTED
from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.bridge import DebugHandles, opaque, spin, throws_when_destroyed
from torch_conformance_saboteurs.control import Handle, PythonBackend, Record
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


@dataclasses.dataclass(frozen=True, slots=True)
class _LastingHandle(Handle):
    """A handle that holds something, and calls something when it is destroyed."""

    held: object
    at_destruction: Callable[[], None]

    def __del__(self) -> None:
        self.at_destruction()


class Steps(PythonBackend):
    """A backend of which a saboteur overrides the beginning of one step."""

    lowered: ClassVar[bool] = False

    def at_preprocess(self) -> None:
        """On the host, before a module is preprocessed."""

    def at_compile(self) -> None:
        """Before a module is compiled, on the host and on the target."""

    def at_load(self) -> None:
        """The same, in a process that has lowered nothing."""

    def at_execute(self) -> None:
        """Before a method is run."""

    def at_destruction(self) -> None:
        """When a handle is destroyed."""

    def holds(self) -> object:
        """Something that lives as long as a handle."""

    def preprocess(
        self, module: torch._C.ScriptModule, method_compile_spec: dict[str, Any], debug_handles: DebugHandles
    ) -> Any:
        type(self).lowered = True
        self.at_preprocess()
        return super().preprocess(module, method_compile_spec, debug_handles)

    def compile(self, processed: Any, method_compile_spec: dict[str, Any]) -> dict[str, Any]:
        self.at_compile()
        if not self.lowered:
            self.at_load()
        return super().compile(processed, method_compile_spec)

    def execute(self, handle: Any, inputs: list[Any]) -> list[Any]:
        self.at_execute()
        return super().execute(handle, inputs)

    def handle_of(self, record: Record, program: torch._C.ScriptModule, method: str) -> Any:
        places = record.debug_handles[method]
        return opaque(_LastingHandle(method, program._get_method(method), places, self.holds(), self.at_destruction))


def _segfault() -> None:
    ctypes.string_at(0)


def _flood(descriptor: int) -> None:
    while True:
        os.write(descriptor, b"still working\n" * 4096)


def _start_another(*, session: bool = False, pipes: bool = False) -> None:
    """Start a process that outlives this one; after a while it ends by itself, should nobody end it."""
    subprocess.Popen(["sleep", "20"], start_new_session=session, close_fds=not pipes)


# Crashes and exits


@saboteur("lowering.outputs", verdicts=("CRASH",), phases=("lower",))
class SegfaultsInPreprocess(PythonControl):
    name = "segfaults_in_preprocess"

    class implementation(Steps):
        """Preprocess reads from address 0."""

        def at_preprocess(self) -> None:
            _segfault()


@saboteur("lowering.outputs", verdicts=("CRASH",), phases=("lower",))
class ExitsWithZeroInPreprocess(PythonControl):
    name = "exits_with_0_in_preprocess"

    class implementation(Steps):
        """Preprocess ends the process with exit code 0."""

        def at_preprocess(self) -> None:
            os._exit(0)


@saboteur("save-load.same-outputs", "lite.same-outputs", verdicts=("CRASH",), phases=("load",))
class AbortsInCompile(PythonControl):
    name = "aborts_in_compile"

    class implementation(Steps):
        """Compile aborts when an artifact is loaded."""

        def at_load(self) -> None:
            os.abort()


@saboteur("lowering.outputs", verdicts=("CRASH",), phases=("lower",))
class ExitsWithThreeInCompile(PythonControl):
    name = "exits_with_3_in_compile"

    class implementation(Steps):
        """Compile calls exit(3), which runs what is registered for exit."""

        def at_compile(self) -> None:
            ctypes.CDLL(None).exit(3)


@saboteur("lowering.outputs", phases=("lower",))
class RaisesSystemExitInCompile(PythonControl):
    name = "raises_system_exit_in_compile"

    class implementation(Steps):
        """Compile calls sys.exit(0), as a script does that has nothing more to do."""

        def at_compile(self) -> None:
            sys.exit(0)


@saboteur("lowering.outputs", "save-load.same-outputs", verdicts=("CRASH",))
class SegfaultsInExecute(PythonControl):
    name = "segfaults_in_execute"

    class implementation(Steps):
        """Execute reads from address 0."""

        def at_execute(self) -> None:
            _segfault()


@saboteur("lowering.outputs", "save-load.same-outputs", verdicts=("CRASH",))
class ExitsWithZeroInExecute(PythonControl):
    name = "exits_with_0_in_execute"

    class implementation(Steps):
        """Execute ends the process with exit code 0."""

        def at_execute(self) -> None:
            os._exit(0)


@saboteur("lowering.outputs", verdicts=("CRASH",))
class KillsItselfInExecute(PythonControl):
    name = "kills_itself_in_execute"

    class implementation(Steps):
        """Execute ends the process with SIGKILL, which leaves no stack."""

        def at_execute(self) -> None:
            os.kill(os.getpid(), signal.SIGKILL)


@saboteur("lowering.outputs", verdicts=("CRASH",), phases=("release",))
class SegfaultsInDestructor(PythonControl):
    name = "segfaults_in_destructor"

    class implementation(Steps):
        """Destroying a handle reads from address 0."""

        def at_destruction(self) -> None:
            _segfault()


@saboteur("lowering.outputs", verdicts=("CRASH",), phases=("release",))
class ThrowsInDestructor(PythonControl):
    name = "throws_in_destructor"

    class implementation(Steps):
        """Destroying a handle throws a C++ exception out of a destructor."""

        def holds(self) -> object:
            return throws_when_destroyed()


@saboteur("lowering.exit", verdicts=("CRASH",), phases=("exit",))
class ExitsWithOneAtExit(PythonControl):
    name = "exits_with_1_at_exit"

    class implementation(Steps):
        """A function registered for exit ends the process with exit code 1."""

        def at_execute(self) -> None:
            atexit.register(os._exit, 1)


# Hangs


@saboteur("lowering.outputs", verdicts=("TIMEOUT",), phases=("lower",))
class HangsInPreprocess(PythonControl):
    name = "hangs_in_preprocess"

    class implementation(Steps):
        """Preprocess never ends and never lets go of the GIL."""

        def at_preprocess(self) -> None:
            spin(hold_gil=True)


@saboteur("save-load.same-outputs", "lite.same-outputs", verdicts=("TIMEOUT",), phases=("load",))
class HangsInCompile(PythonControl):
    name = "hangs_in_compile"

    class implementation(Steps):
        """Compile never ends and never lets go of the GIL when an artifact is loaded."""

        def at_load(self) -> None:
            spin(hold_gil=True)


@saboteur("lowering.outputs", "save-load.same-outputs", verdicts=("TIMEOUT",))
class HangsInExecute(PythonControl):
    name = "hangs_in_execute"

    class implementation(Steps):
        """Execute never ends, without the GIL, with every signal that can be ignored ignored."""

        def at_execute(self) -> None:
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            spin(hold_gil=False)


@saboteur("lowering.outputs", verdicts=("TIMEOUT",), phases=("release",))
class HangsInDestructor(PythonControl):
    name = "hangs_in_destructor"

    class implementation(Steps):
        """Destroying a handle never ends and never lets go of the GIL."""

        def at_destruction(self) -> None:
            spin(hold_gil=True)


@saboteur("lowering.exit", verdicts=("TIMEOUT",), phases=("exit",))
class HangsAtExit(PythonControl):
    name = "hangs_at_exit"

    class implementation(Steps):
        """A function registered for exit never ends."""

        def at_execute(self) -> None:
            atexit.register(spin, hold_gil=False)


@saboteur("availability.text", verdicts=("TIMEOUT",), phases=("load", "lower"))
class HangsWhenUnavailable(PythonControl):
    name = "hangs_when_unavailable"

    class implementation(PythonBackend):
        """Asked whether it is available where it is not, it never answers."""

        def is_available(self) -> bool:
            if not super().is_available():
                spin(hold_gil=True)
            return True


# Too much of something


@saboteur("lowering.outputs", phases=("lower",))
class FloodsInPreprocess(PythonControl):
    name = "floods_in_preprocess"

    class implementation(Steps):
        """Preprocess writes to stderr without end."""

        def at_preprocess(self) -> None:
            _flood(2)


@saboteur("lowering.outputs", "save-load.same-outputs")
class FloodsInExecute(PythonControl):
    name = "floods_in_execute"

    class implementation(Steps):
        """Execute writes to stdout without end."""

        def at_execute(self) -> None:
            _flood(1)


@saboteur("lowering.outputs", phases=("release",))
class FloodsInDestructor(PythonControl):
    name = "floods_in_destructor"

    class implementation(Steps):
        """Destroying a handle writes to stderr without end."""

        def at_destruction(self) -> None:
            _flood(2)


@saboteur("lowering.outputs", "save-load.same-outputs")
class AllocatesTooMuch(PythonControl):
    name = "allocates_too_much"

    class implementation(Steps):
        """Execute writes to 100 GB of memory."""

        def at_execute(self) -> None:
            torch.zeros(100 * 2**30, dtype=torch.uint8).fill_(1)


# Leftovers, and other people's property


@saboteur("lowering.exit", verdicts=(REPORTED,))
class LeavesProcess(PythonControl):
    name = "leaves_process"

    class implementation(Steps):
        """Execute starts a process that outlives this one, and keeps its output open."""

        def at_execute(self) -> None:
            _start_another(pipes=True)


@saboteur("lowering.exit", verdicts=(REPORTED,))
class LeavesDaemon(PythonControl):
    name = "leaves_daemon"

    class implementation(Steps):
        """Execute starts a process that outlives this one, in a session of its own."""

        def at_execute(self) -> None:
            _start_another(session=True)


@saboteur("lowering.outputs", "lowering.exit", verdicts=("FAIL", "CRASH", "TIMEOUT"), phases=("run", "release", "exit"))
class ReturnsTwice(PythonControl):
    name = "returns_twice"

    class implementation(Steps):
        """Execute forks, and both processes return from it."""

        def at_execute(self) -> None:
            os.fork()


@saboteur("lowering.outputs", verdicts=("CRASH",))
class ClosesForeignDescriptors(PythonControl):
    name = "closes_foreign_descriptors"

    class implementation(Steps):
        """Execute closes every file of the process but the standard ones, as a daemon does when it starts."""

        def at_execute(self) -> None:
            os.closerange(3, 1024)


@saboteur("lowering.outputs", verdicts=("FAIL", "CRASH", "TIMEOUT"))
class WritesToForeignDescriptors(PythonControl):
    name = "writes_to_foreign_descriptors"

    class implementation(Steps):
        """Execute writes to every socket of the process, one of which it takes for its own."""

        def at_execute(self) -> None:
            for link in Path("/proc/self/fd").iterdir():
                if link.is_socket():
                    os.write(int(link.name), b"hello, device")


SABOTEURS = saboteur.all()
