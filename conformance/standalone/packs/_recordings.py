"""What devices were asked, and what they answered: recorded at one place, replayed at another.

A clause is a program that asks its devices and judges what they say. Replayed, it runs again: its host says what it
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
class Recording:
    """One device: requests (a verb and its arguments), and for each the message that it came to."""

    has_backend: bool
    environment: dict[str, str | None]
    requests: list[tuple[str, dict[str, Any]]] = dataclasses.field(default_factory=list)
    answers: list[dict[str, Any]] = dataclasses.field(default_factory=list)


class RecordingPool:
    """A pool whose devices are recorded."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.recordings: list[Recording] = []

    def fork(
        self,
        kind: DeviceKind,
        subject: dict[str, Any] | None,
        environment: dict[str, str | None],
        limits: Limits | None = None,
    ) -> Transport:
        recording = Recording(subject is not None, dict(environment))
        self.recordings.append(recording)
        return _RecordingTransport(self._pool.fork(kind, subject, environment, limits), recording)

    def take(self) -> list[Recording]:
        """The recordings since the last time."""
        taken, self.recordings = self.recordings, []
        return taken


class _RecordingTransport:
    def __init__(self, transport: Transport, recording: Recording) -> None:
        self._transport = transport
        self._recording = recording

    def ask(self, verb: str, arguments: dict[str, Any]) -> None:
        self._recording.requests.append((verb, arguments))
        self._transport.ask(verb, arguments)

    def answer(self, phase: str, seconds: float | None = None) -> Reply:
        try:
            reply = self._transport.answer(phase, seconds)
        except DeviceEnded as error:
            self._recording.answers.append(ended_message(error))
            raise
        self._recording.answers.append({"reply": {**dataclasses.asdict(reply), "peak_bytes": None}})
        return reply

    def leave(self, phase: str) -> bool:
        self._recording.requests.append(("leave", {}))
        try:
            left = self._transport.leave(phase)
        except DeviceEnded as error:
            self._recording.answers.append(ended_message(error))
            raise
        self._recording.answers.append({"ended": "DeviceDied", "fields": {"status": 0, "left_processes": left}})
        return left

    def end(self) -> None:
        self._transport.end()


def ended_message(error: DeviceEnded) -> dict[str, Any]:
    """How a process ended, in builtin values; the phase is that of whoever asks."""
    fields = {each.name: getattr(error, each.name) for each in dataclasses.fields(error) if each.name != "phase"}
    return {"ended": type(error).__name__, "fields": fields}


class ReplayPool:
    """A pool whose devices answer what was recorded, a device after the other."""

    def __init__(self, role: str) -> None:
        self._role = role
        self._recordings: list[Recording] = []

    def replay(self, recordings: list[Recording]) -> None:
        """Answer with these from now on."""
        self._recordings = list(recordings)

    def fork(
        self,
        kind: DeviceKind,
        subject: dict[str, Any] | None,
        environment: dict[str, str | None],
        limits: Limits | None = None,
    ) -> Transport:
        if not self._recordings:
            raise TargetUnable(f"the pack does not foresee another {self._role} in this cell")
        return _ReplayTransport(self._role, self._recordings.pop(0))


class _ReplayTransport:
    def __init__(self, role: str, recording: Recording) -> None:
        self._role = role
        self._recording = recording
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
        if self._position >= len(self._recording.requests) or self._recording.requests[self._position] != self._asked:
            raise TargetUnable(
                f"a pack cannot ask for this {verb!r}: it depends on what the {self._role} answered before"
            )
        if self._position >= len(self._recording.answers):
            raise TargetUnable(f"the results lack what the {self._role} answered to {verb!r}")
        message = self._recording.answers[self._position]
        if "ended" in message:
            kind = getattr(errors, message["ended"])
            raise kind(phase=phase, **message["fields"])
        if "unable" in message:
            raise TargetUnable(message["unable"])
        return message


class SampleCalls:
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

    def __init__(self, *arguments: Any, pack_samples: SampleCalls, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._pack_samples = pack_samples

    def calls(self, name: str, toolchain: str) -> tuple[Call, ...]:
        """The sample calls as the pack has them, bit by bit: requests are told apart by their bytes."""
        if name not in self._pack_samples.rows:
            self._pack_samples.keep(name, super().calls(name, toolchain))
        return self._pack_samples.calls(name)

    def begin_calls(self, name: str, toolchain: str) -> None:
        """Nothing is begun: a pack may have the samples, and no process to make them."""
