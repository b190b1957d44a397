"""One forked process, seen from pytest: ask it, watch it, and know how it ended."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import secrets
import select
import socket
import tempfile
import time
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import msgspec

from conformance._util.processes import ask_for_stack, crowding, is_stopped, kill_group, kill_process, tail
from conformance._util.run_folder import private_folder
from conformance.api.errors import (
    DeviceBroken,
    DeviceCutShort,
    DeviceDied,
    DeviceEnded,
    DeviceFlooded,
    DeviceGarbled,
    DeviceOrphaned,
    DeviceStopped,
    DeviceTampered,
    DeviceTimeout,
    HarnessError,
    SubjectError,
    TargetUnable,
    ZygoteLost,
)
from conformance.devices._framing import BUILTIN_VALUES, Codec, frame, unframe

if TYPE_CHECKING:
    from conformance.devices._zygote_client import Zygote

_POLL_SECONDS = 0.05
#: So often it is looked whether the zygote was stopped, or replaced.
_LOOK_SECONDS = 1.0
#: After so long without the process id of a child that is to be ended, nobody will tell it any more.
_LOST_NOTICE_SECONDS = 5.0
#: Exit codes by which a process tells that it ended as it was asked to; none of those that others use.
_EXIT_CODES = range(80, 120)
#: How much is received before the clock is looked at again.
_CHUNKS_AT_ONCE = 64


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """What a device may use: seconds for each verb, bytes of memory beyond torch's own, bytes of output, of a file."""

    seconds: float = 60.0
    memory_bytes: int = 8 * 2**30
    output_bytes: int = 16 * 2**20
    file_bytes: int = 2 * 2**30


@dataclasses.dataclass(frozen=True, slots=True)
class Reply:
    """What a verb came to: exactly one of ``value`` (when ``raised`` is None) and ``raised``."""

    value: Any
    raised: dict[str, Any] | None
    seconds: float
    warnings: tuple[str, ...]
    stdout: str
    stderr: str
    #: The most memory that was resident since the process began; None where the device does not measure it.
    peak_bytes: int | None = None


class _Raised(msgspec.Struct, frozen=True):
    """An exception, as a device describes it."""

    type: str
    bases: list[str]
    text: str
    stack: str = ""


class _Answer(msgspec.Struct, frozen=True):
    """What a device may answer. It comes from a process in which anything may have happened."""

    number: int
    seconds: Annotated[float, msgspec.Meta(ge=0, le=1e7)]
    warnings: list[str]
    value: Any = None
    raised: _Raised | None = None
    #: What the harness itself got wrong in the device.
    broken: str | None = None
    #: What the process runs of the harness and of PyTorch that it did not when it began.
    tampered: str | None = None
    #: The verb that a program does not know.
    unanswered: str | None = None
    peak_bytes: Annotated[int, msgspec.Meta(ge=0, le=2**60)] | None = None


class Child:
    """A device's process. Every method raises what the process came to: DeviceDied, DeviceTimeout, ...."""

    def __init__(self, zygote: Zygote, message: dict[str, Any], limits: Limits, codec: Codec = BUILTIN_VALUES) -> None:
        self._zygote = zygote
        self._codec = codec
        self._is_program = bool(message["program"])
        self._folder = private_folder("device")
        message = {**message, "environment": {"TMPDIR": self._folder.name, **message["environment"]}}
        self._limits = limits
        self._stdout, self._stderr, self._stack = (tempfile.TemporaryFile() for _ in range(3))
        self._connection, theirs = socket.socketpair()
        self._data = bytearray()
        self._requests = 0
        self._unsent = b""
        self._marks = [0, 0]
        limits_message = {"memory_bytes": limits.memory_bytes, "file_bytes": limits.file_bytes}
        with theirs:
            files = (self._stdout, self._stderr, self._stack)
            try:
                self._ticket = zygote.fork(
                    {**message, "limits": limits_message}, [theirs.fileno(), *(file.fileno() for file in files)]
                )
            except BaseException:  # Ctrl-C too: nobody has it yet who could end it
                self._discard()
                raise

    def call(self, verb: str, arguments: dict[str, Any], phase: str, seconds: float | None = None) -> Reply:
        """Ask for a verb and wait for its answer, for ``seconds`` at most (the device's limit when None)."""
        self.ask(verb, arguments)
        return self.answer(phase, seconds)

    def ask(self, verb: str, arguments: dict[str, Any]) -> None:
        """Ask for a verb; :meth:`answer` waits for what comes of it. One request at a time."""
        self._marks = [os.fstat(file.fileno()).st_size for file in (self._stdout, self._stderr)]
        self._requests += 1
        self._unsent = frame({"number": self._requests, "verb": verb, "arguments": arguments}, self._codec)
        self._send()

    def _send(self) -> None:
        """Send what the process takes now."""
        self._connection.setblocking(False)
        try:
            while self._unsent:
                self._unsent = self._unsent[self._connection.send(self._unsent) :]
        except BlockingIOError:
            pass  # the rest when it reads on
        except OSError:
            self._unsent = b""  # it is gone: waiting for its answer tells how

    def answer(self, phase: str, seconds: float | None = None) -> Reply:
        """Wait for the answer to the last request, from now on for ``seconds`` (the device's limit when None).

        TargetUnable when the device does not know the verb.
        """
        seconds = self._limits.seconds if seconds is None else seconds
        try:
            message = self._wait(phase, time.monotonic() + seconds, seconds)
        except ZygoteLost as error:
            self._end_with(DeviceOrphaned(phase, str(error)))
        if message.tampered is not None:
            self._end_with(DeviceTampered(phase, message.tampered))
        if message.broken is not None:
            raise DeviceBroken(f"the harness itself failed in {phase}:\n{message.broken}")
        if message.unanswered is not None:
            raise TargetUnable(f"the native target cannot answer {message.unanswered!r}")
        raised = message.raised
        return Reply(
            value=message.value,
            raised=None if raised is None else {**msgspec.structs.asdict(raised), "bases": tuple(raised.bases)},
            seconds=message.seconds,
            warnings=tuple(message.warnings),
            stdout=tail(self._stdout, self._marks[0]),
            stderr=tail(self._stderr, self._marks[1]),
            peak_bytes=message.peak_bytes,
        )

    def leave(self, phase: str) -> bool:
        """Ask the process to end as a script does, with an exit code that is drawn.

        Returns whether it left processes of its group behind. Raises DeviceCutShort if it ends with exit code 0: then
        something ended it before everything that is registered for its end had run. Raises DeviceDied if it ends with
        any other exit code than the one that was asked for, or by a signal. Where it answers instead, raises
        SubjectError if it tells what its subject raised, else DeviceGarbled.
        """
        asked = secrets.choice(_EXIT_CODES)
        try:
            reply = self.call("leave", {"status": asked}, phase)
        except DeviceDied as death:
            if death.status == 0:
                said = {"stack": death.stack, "stdout": death.stdout, "stderr": death.stderr}
                raise DeviceCutShort(phase, death.status, **said) from None
            if death.status != asked:
                raise
            return death.left_processes
        if reply.raised is None:
            self._end_with(DeviceGarbled(phase, "an answer where the process was to end"))
        raise SubjectError(phase=phase, stderr=reply.stderr, **reply.raised)

    def end(self) -> None:
        """Kill the process and every process of its group; safe to call at any time."""
        if self._connection.fileno() == -1:
            return
        with contextlib.suppress(HarnessError):
            # Ctrl-C can come between the notice of its process id and whoever takes it: then the zygote ends the child,
            # when it ends itself.
            self._kill(_LOST_NOTICE_SECONDS)
        self._zygote.forget(self._ticket)
        self._discard()

    def _discard(self) -> None:
        """Close what the process was reached by, and remove its folder."""
        self._connection.close()
        for file in (self._stdout, self._stderr, self._stack):
            file.close()
        self._folder.cleanup()

    def _wait(self, phase: str, deadline: float, seconds: float) -> _Answer:
        looked = float("-inf")
        usual = deadline
        while True:
            end = self._zygote.end_of(self._ticket)
            arrived = self._drain()
            message = self._message(phase)
            if message is not None:
                return message
            if end is not None and not arrived:
                self._died(phase, *end)
            if time.monotonic() - looked > _LOOK_SECONDS:
                looked = time.monotonic()
                self._zygote.expect_running()
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                # where more wants to run than there are cores for, everything takes that much longer
                deadline = usual + seconds * (crowding() - 1)
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    self._time_out(phase, seconds)
            self._expect_little_output(phase)
            if arrived:
                continue
            waiting = [self._connection, self._zygote.control]
            writing = [self._connection] if self._unsent else []
            readable, writable, _ = select.select(waiting, writing, [], min(remaining, _POLL_SECONDS))
            if writable:
                self._send()
            if self._connection in readable and not self._drain():
                self._closed(phase, deadline, seconds)
            if self._zygote.control in readable:
                self._zygote.read_notices()

    def _drain(self) -> bool:
        """Take what has arrived, but not for ever from a process that goes on sending; False when nothing had."""
        self._connection.setblocking(False)
        taken = False
        with contextlib.suppress(BlockingIOError, ConnectionError):
            for _ in range(_CHUNKS_AT_ONCE):
                chunk = self._connection.recv(1 << 20)
                if not chunk:
                    break
                self._data += chunk
                taken = True
        return taken

    def _message(self, phase: str) -> _Answer | None:
        """The answer to the last request, once it is whole."""
        try:
            message = unframe(self._data, self._codec)
        except ValueError as error:
            self._end_with(DeviceGarbled(phase, str(error)))
        if message is None:
            return None
        self._data.clear()
        try:
            answer = msgspec.convert(message, _Answer)
        except (msgspec.ValidationError, UnicodeEncodeError) as error:  # the second for a name that is no text
            self._end_with(DeviceGarbled(phase, f"an answer that is none: {error}"))
        if answer.unanswered is not None and not self._is_program:
            self._end_with(DeviceGarbled(phase, "an answer that only a program without Python can give"))
        if answer.number != self._requests:
            self._end_with(DeviceGarbled(phase, "an answer to another request"))
        return answer

    def _closed(self, phase: str, deadline: float, seconds: float) -> NoReturn:
        """The other end is closed: the process is ending, or has closed a descriptor that is not its own."""
        while (end := self._zygote.end_of(self._ticket)) is None and time.monotonic() < deadline:
            self._zygote.read_notices(wait=_POLL_SECONDS)
            self._expect_little_output(phase)
        if end is None:
            self._time_out(phase, seconds)
        self._died(phase, *end)

    def _died(self, phase: str, status: int, left: int) -> NoReturn:
        self._expect_little_output(phase)
        self._end_with(DeviceDied(phase, status, left_processes=left > 0))

    def _time_out(self, phase: str, seconds: float) -> NoReturn:
        pid = self._zygote.pid_of(self._ticket)
        if is_stopped(pid):
            self._end_with(DeviceStopped(phase, seconds))
        ask_for_stack(pid, self._stack)
        self._end_with(DeviceTimeout(phase, seconds))

    def _end_with(self, error: DeviceEnded) -> NoReturn:
        with contextlib.suppress(HarnessError):
            self._kill()
        error.stack = tail(self._stack)
        error.stdout = tail(self._stdout)
        error.stderr = tail(self._stderr)
        raise error

    def _kill(self, *wait: float) -> None:
        """Kill the process, wherever it went, and the group that it leads; what it started is ended by the zygote."""
        pid = self._zygote.pid_of(self._ticket, *wait)
        if self._zygote.end_of(self._ticket) is None:
            kill_process(pid)
        else:
            kill_group(pid)

    def _expect_little_output(self, phase: str) -> None:
        """End the process where it has written more than it may while it answers one request."""
        written = sum(os.fstat(file.fileno()).st_size for file in (self._stdout, self._stderr)) - sum(self._marks)
        if written > self._limits.output_bytes:
            self._end_with(DeviceFlooded(phase, self._limits.output_bytes))
