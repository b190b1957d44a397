"""What devices were asked, and what they answered: recorded at one place, played back at another.

A clause is a program that asks its devices and judges what they say. Played back, it runs again: its host says what it
said, its target says what came back from elsewhere. It is judged by that only as long as it asks what was recorded; a
request that depends on what the target answered (an artifact that was saved there, say) is none that the target was
asked, and the cell is NOT_EXERCISED.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from conformance.api import errors
from conformance.api.case import Call
from conformance.api.errors import DeviceEnded, TargetUnable
from conformance.compare.values import decode, encode
from conformance.devices import DeviceKind, Limits, Pool, Transport
from conformance.devices._child import Reply
from conformance.run.run_context import RunContext


@dataclasses.dataclass
class Tape:
    """One device: requests (a verb and its arguments), and for each the message that it came to."""

    has_backend: bool
    environment: dict[str, str | None]
    requests: list[tuple[str, dict[str, Any]]] = dataclasses.field(default_factory=list)
    answers: list[dict[str, Any]] = dataclasses.field(default_factory=list)


class Recorder:
    """A pool whose devices are recorded."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.tapes: list[Tape] = []

    def fork(
        self,
        kind: DeviceKind,
        subject: dict[str, Any] | None,
        environment: dict[str, str | None],
        limits: Limits | None = None,
    ) -> Transport:
        tape = Tape(subject is not None, dict(environment))
        self.tapes.append(tape)
        return _Recording(self._pool.fork(kind, subject, environment, limits), tape)

    def take(self) -> list[Tape]:
        """The tapes since the last time."""
        taken, self.tapes = self.tapes, []
        return taken


class _Recording:
    def __init__(self, transport: Transport, tape: Tape) -> None:
        self._transport = transport
        self._tape = tape

    def ask(self, verb: str, arguments: dict[str, Any]) -> None:
        self._tape.requests.append((verb, arguments))
        self._transport.ask(verb, arguments)

    def answer(self, phase: str, seconds: float | None = None) -> Reply:
        try:
            reply = self._transport.answer(phase, seconds)
        except DeviceEnded as error:
            self._tape.answers.append(told(error))
            raise
        self._tape.answers.append({"reply": {**dataclasses.asdict(reply), "peak_bytes": None}})
        return reply

    def leave(self, phase: str) -> bool:
        self._tape.requests.append(("leave", {}))
        try:
            left = self._transport.leave(phase)
        except DeviceEnded as error:
            self._tape.answers.append(told(error))
            raise
        self._tape.answers.append({"ended": "DeviceDied", "fields": {"status": 0, "left_processes": left}})
        return left

    def end(self) -> None:
        self._transport.end()


def told(error: DeviceEnded) -> dict[str, Any]:
    """How a process ended, in builtin values; the phase is that of whoever asks."""
    fields = {each.name: getattr(error, each.name) for each in dataclasses.fields(error) if each.name != "phase"}
    return {"ended": type(error).__name__, "fields": fields}


class Player:
    """A pool whose devices answer what is on the tapes, one after the other."""

    def __init__(self, role: str) -> None:
        self._role = role
        self._tapes: list[Tape] = []

    def insert(self, tapes: list[Tape]) -> None:
        """Play these tapes from now on."""
        self._tapes = list(tapes)

    def fork(
        self,
        kind: DeviceKind,
        subject: dict[str, Any] | None,
        environment: dict[str, str | None],
        limits: Limits | None = None,
    ) -> Transport:
        if not self._tapes:
            raise TargetUnable(f"the pack does not foresee another {self._role} in this cell")
        return _Playing(self._role, self._tapes.pop(0))


class _Playing:
    def __init__(self, role: str, tape: Tape) -> None:
        self._role = role
        self._tape = tape
        self._position = -1
        self._asked: tuple[str, dict[str, Any]] | None = None

    def ask(self, verb: str, arguments: dict[str, Any]) -> None:
        self._position += 1
        self._asked = verb, arguments

    def answer(self, phase: str, seconds: float | None = None) -> Reply:
        message = self._message(phase)
        return Reply(**{**message["reply"], "warnings": tuple(message["reply"]["warnings"])})

    def leave(self, phase: str) -> bool:
        self.ask("leave", {})
        try:
            self._message(phase)
        except errors.DeviceDied as death:
            if death.status != 0:
                raise
            return death.left_processes
        raise TargetUnable(f"the {self._role} answered where it was to leave")

    def end(self) -> None:
        pass

    def _message(self, phase: str) -> dict[str, Any]:
        verb = self._asked[0] if self._asked else ""
        if self._position >= len(self._tape.requests) or self._tape.requests[self._position] != self._asked:
            raise TargetUnable(
                f"a pack cannot ask for this {verb!r}: it depends on what the {self._role} answered before"
            )
        if self._position >= len(self._tape.answers):
            raise TargetUnable(f"the results lack what the {self._role} answered to {verb!r}")
        message = self._tape.answers[self._position]
        if "ended" in message:
            kind = getattr(errors, message["ended"])
            raise kind(phase=phase, **message["fields"])
        if "unable" in message:
            raise TargetUnable(message["unable"])
        return message


class Samples:
    """The sample calls of cases, encoded: what one run computes, another can be given."""

    def __init__(self, rows: dict[str, list[dict[str, Any]]] | None = None) -> None:
        self.rows = rows or {}

    def calls(self, name: str) -> tuple[Call, ...]:
        return tuple(Call(row["method"], decode(row["inputs"]), decode(row["expected"])) for row in self.rows[name])

    def keep(self, name: str, calls: tuple[Call, ...]) -> None:
        self.rows[name] = [
            {"method": call.method, "inputs": encode(call.inputs), "expected": encode(call.expected)} for call in calls
        ]


class PackRun(RunContext):
    """A run whose samples go into a pack, or come from one."""

    def __init__(self, *arguments: Any, pack_samples: Samples, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._pack_samples = pack_samples

    def calls(self, name: str, toolchain: str) -> tuple[Call, ...]:
        """The sample calls as the pack has them, bit by bit: requests are told apart by their bytes."""
        if name not in self._pack_samples.rows:
            self._pack_samples.keep(name, super().calls(name, toolchain))
        return self._pack_samples.calls(name)
