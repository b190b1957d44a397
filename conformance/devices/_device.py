"""A device: something that answers verbs, wherever it runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Protocol

from conformance.api.errors import (
    DeviceEnded,
    HarnessError,
    LeftBehind,
    SubjectError,
)
from conformance.devices._child import Reply
from conformance.devices._trace import Machine, Step


class Transport(Protocol):
    """What carries verbs to a process and its answers back."""

    def ask(self, verb: str, arguments: dict[str, Any]) -> None: ...

    def answer(self, phase: str, seconds: float | None = None) -> Reply: ...

    def leave(self, phase: str) -> bool: ...

    def end(self) -> None: ...


@dataclasses.dataclass
class Ledger:
    """What a cell's verbs were and took, whichever device they ran on: the report's ``seconds``, and the last phase."""

    seconds: dict[str, float] = dataclasses.field(default_factory=dict)
    phase: str = ""
    #: The most memory that any of them had resident, of those devices that measure it.
    peak_bytes: int | None = None

    def add(self, phase: str, seconds: float) -> None:
        self.seconds[phase] = round(self.seconds.get(phase, 0.0) + seconds, 6)

    def add_peak(self, peak_bytes: int | None) -> None:
        self.peak_bytes = max(filter(None, (self.peak_bytes, peak_bytes)), default=None)


class Device:
    """Answers verbs with plain values, or raises what the subject raised (SubjectError) or came to (DeviceDied, ...).

    The process is made at the first verb, so that a clause which never asks a device costs nothing, or at ``start()``.
    """

    def __init__(
        self, role: str, start: Callable[[], Transport], ledger: Ledger, machine: Machine | None = None
    ) -> None:
        self.role = role
        self._start = start
        self._ledger = ledger
        #: What keeps the trace of the cell, if one is kept.
        self._machine = machine
        self._step: Step | None = None
        self._transport: Transport | None = None
        self._gone = False
        self._registering = False
        self._asked = ""
        self.last_reply: Reply | None = None

    def call(self, verb: str, /, phase: str | None = None, seconds: float | None = None, **arguments: Any) -> Any:
        """Ask for ``verb``; ``phase`` is what a failure is filed under (the verb itself when None)."""
        self.ask(verb, phase, seconds, **arguments)
        return self.answer(seconds)

    def ask(self, verb: str, /, phase: str | None = None, seconds: float | None = None, **arguments: Any) -> None:
        """Ask for ``verb`` as :meth:`call` does, and let the process work; :meth:`answer` waits for what comes of it.
        What has just been started is waited for, for ``seconds`` at most, until it has loaded the backend."""
        if self._gone:
            raise HarnessError(f"the clause asked the {self.role} for {verb!r} after its process had ended")
        self.start()
        if self._registering:
            self._registering = False
            self._note("register", "register", {})
            self._take("register", seconds)
        assert self._transport is not None
        self._asked = phase or verb
        self._note(verb, self._asked, arguments)
        self._transport.ask(verb, arguments)

    def answer(self, seconds: float | None = None) -> Any:
        """What comes of the verb that was asked for last."""
        return self._take(self._asked, seconds)

    def start(self) -> None:
        """Let the process be made and load the backend, without waiting for it: what comes of that is heard at the
        first call."""
        if self._transport is None and not self._gone:
            self._transport = self._start()
            self._transport.ask("register", {})
            self._registering = True

    def _take(self, phase: str, seconds: float | None) -> Any:
        assert self._transport is not None
        self._ledger.phase = phase
        try:
            reply = self._transport.answer(phase, seconds)
        except DeviceEnded:
            self._gone = True
            self.end()
            raise
        self._ledger.add(phase, reply.seconds)
        self._ledger.add_peak(reply.peak_bytes)
        self.last_reply = reply
        if self._step is not None:
            self._step.answer(reply.value, reply.raised)
        if reply.raised is not None:
            raise SubjectError(phase=phase, stderr=reply.stderr, **reply.raised)
        return reply.value

    def _note(self, verb: str, phase: str, arguments: dict[str, Any]) -> None:
        if self._machine is not None:
            self._step = self._machine.begin(verb, phase, arguments)

    def release(self) -> None:
        """Destroy everything that the device holds, as its own phase; then end the process."""
        try:
            if self._transport is not None and not self._registering:
                self.call("release")
        finally:
            self.end()

    def leave(self) -> None:
        """Let the process end as a script does, as the phase "exit".

        Raises DeviceDied or DeviceCutShort if it does not end as it was asked to, SubjectError or DeviceGarbled if it
        answers instead, LeftBehind if it leaves a process behind.
        """
        assert self._transport is not None
        self._ledger.phase = "exit"
        self._note("leave", "exit", {})
        left = self._transport.leave("exit")
        self.end()
        if left:
            raise LeftBehind("the process ended and left another one behind that it had started")

    def end(self) -> None:
        """End the process without asking it."""
        if self._transport is not None:
            self._transport.end()
            self._transport = None
