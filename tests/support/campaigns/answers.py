"""Changed answers of devices, put before the clauses that asked.

What devices answer in a cell of each clause is recorded once. Then clauses are tried again, in this process, on devices
that say the same but for one answer: its value, what is around it, or its bytes are others. The bytes go the ordinary
way, through the connection of a :class:`~conformance.devices.Child`; only the process at its other end is missing.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import socket
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any

import msgspec

from conformance.api.case import Call
from conformance.api.clause import SpeaksOf
from conformance.api.verdicts import Verdict
from conformance.compare.comparison import Margin
from conformance.contract import shipped_clauses, suite_function
from conformance.devices import BUILTIN_VALUES, Child, Codec, DeviceKind, Limits, Transport, ZygotePool
from conformance.discovery.selecting import select
from conformance.report.row_model import CellRow
from conformance.run.cell_context import CellContext
from conformance.run.plan import Cell, cells_of
from conformance.run.result import Result
from conformance.run.run_context import RunContext
from conformance.toolchains import toolchain_named
from support.campaigns.changed_values import changed_value
from support.campaigns.changes import HOSTILE, changed, damaged
from support.campaigns.watch import Watch

BACKENDS = ("reference", "dynamo_control")
#: Clauses of which each request depends on the answer before: no recording goes on as they do.
_SEARCHES = (SpeaksOf.OPERATORS, SpeaksOf.GENERATED)
#: Clauses with hundreds of requests to a cell, which say little more about answers than the others do, and those that
#: draw operators.
_LEFT_OUT = frozenset(
    {"save-load.damaged", "save-load.damaged-container", "lite.damaged", "lite.damaged-container"}
    | {"operators.correct", "compile.operators.correct"}
)
_SEED = 7
#: No process has it, and none can: so nobody is hurt where a device is killed that there is not.
_NOBODY = 2**22 + 1
#: What a message can hold of it.
_HOSTILE = HOSTILE.replace("\ud800", "")
#: What a failed cell of the backend, or a device that went wrong, may come to.
_ITS_OWN = {Verdict.PASS, Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT, Verdict.FLAKY}

#: Clauses that ask the backend whether it has what they are about: "no" is an answer.
_ASKING = ("lowering.preprocess-once", "runtime.")

Key = tuple[str, bool]


@dataclasses.dataclass
class Recorded:
    """What one device answered, and whether it has the backend."""

    key: Key
    codec: Codec
    answers: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    #: What each is an answer to.
    verbs: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class RecordedCell:
    """A cell, and what its devices answered, in the order in which they were made."""

    cell: Cell
    devices: list[Recorded]
    verdict: Verdict


class RecordingPool(ZygotePool):
    """A pool whose devices are recorded."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self.devices: list[Recorded] = []

    def fork(
        self,
        kind: DeviceKind,
        subject: dict[str, Any] | None,
        environment: dict[str, str | None],
        limits: Limits | None = None,
        program: Sequence[str] = (),
        codec: Codec = BUILTIN_VALUES,
    ) -> Any:
        recorded = Recorded((kind.role, subject is not None), codec)
        self.devices.append(recorded)
        return _RecordingDevice(super().fork(kind, subject, environment, limits, program, codec), recorded)


class _RecordingDevice:
    def __init__(self, transport: Transport, recorded: Recorded) -> None:
        self._transport = transport
        self._recorded = recorded

    def ask(self, verb: str, arguments: dict[str, Any]) -> None:
        self._verb = verb
        self._transport.ask(verb, arguments)

    def answer(self, phase: str, seconds: float | None = None) -> Any:
        reply = self._transport.answer(phase, seconds)
        raised = None if reply.raised is None else {**reply.raised, "bases": list(reply.raised["bases"])}
        answer = {"seconds": reply.seconds, "warnings": list(reply.warnings), "peak_bytes": reply.peak_bytes}
        self._recorded.answers.append(answer | ({"value": reply.value} if raised is None else {"raised": raised}))
        self._recorded.verbs.append(self._verb)
        return reply

    def leave(self, phase: str) -> bool:
        return self._transport.leave(phase)

    def end(self) -> None:
        self._transport.end()


class RunOfSamples(RunContext):
    """A run that keeps the sample calls of cases; these come from devices without a backend."""

    kept_calls: dict[tuple[str, str], tuple[Call, ...]]

    def calls(self, name: str, toolchain: str) -> tuple[Call, ...]:
        if (name, toolchain) not in self.kept_calls:
            self.kept_calls[name, toolchain] = super().calls(name, toolchain)
        return self.kept_calls[name, toolchain]

    def begin_calls(self, name: str, toolchain: str) -> None:
        """What makes samples is no device of the cell's: it is asked before."""


def record(
    wanted: Callable[[str], bool], backends: Sequence[str] = BACKENDS
) -> tuple[dict[str, Any], dict[Any, Any], list[RecordedCell]]:
    """The descriptions of the backends, the samples of cases, and a recorded cell of each clause that is ``wanted``."""
    pool = RecordingPool(Limits())
    try:
        found = [candidate.description for candidate in select(backends, None, pool)]
        descriptions = {each.source.name: each for each in found if each is not None}
        run = RunOfSamples(pool, _SEED, descriptions)
        run.kept_calls = {}
        return descriptions, run.kept_calls, list(_recorded(pool, run, wanted))
    finally:
        pool.close()


def _recorded(pool: RecordingPool, run: RunContext, wanted: Callable[[str], bool]) -> Iterator[RecordedCell]:
    for cell in _cells(run, wanted):
        for name in filter(None, (cell.case,)):
            run.calls(name, cell.clause.toolchain)
        pool.devices = []
        outcome = _tried(run, cell)[0]
        if outcome in _ITS_OWN:
            yield RecordedCell(cell, pool.devices, outcome)


def _cells(run: RunContext, wanted: Callable[[str], bool]) -> Iterable[Cell]:
    """A cell of each clause for each backend; of operators none, which are not tried unless somebody asks."""
    for description in run.descriptions.values():
        for clause in shipped_clauses():
            if clause.speaks_of in _SEARCHES or clause.id in _LEFT_OUT or not wanted(clause.id):
                continue
            yield from [each for each in cells_of(clause, description) if each.decided is None][:1]


def _tried(run: RunContext, cell: Cell) -> tuple[Verdict, str]:
    """What a cell comes to, whose row must be one that a report can have, and the row's text."""
    function, names = suite_function(cell.clause)
    context = CellContext(run, cell, run.descriptions[cell.backend])
    outcome = context.attempt(function, {name: context.part(name) for name in names})
    row = Result(cell, outcome, context.ledger.seconds, context.record, Margin(), None, context.ledger.peak_bytes)
    text = json.dumps(row.as_row(), allow_nan=False, ensure_ascii=False)
    text.encode()
    msgspec.json.decode(text, type=CellRow)
    return outcome.verdict, outcome.error.get("text", outcome.message) if outcome.error else outcome.message


class Replay:
    """A pool whose devices say what was recorded, but for one answer of one of them."""

    limits = Limits(seconds=10.0)

    def __init__(self, devices: list[Recorded], place: tuple[int, int], change: Callable[[Recorded, int], bytes]):
        self._devices = devices
        self._place = place
        self._change = change
        self._taken: set[int] = set()

    def fork(
        self,
        kind: DeviceKind,
        subject: dict[str, Any] | None,
        environment: dict[str, str | None],
        limits: Limits | None = None,
        program: Sequence[str] = (),
        codec: Codec = BUILTIN_VALUES,
    ) -> Child:
        """The next device that was recorded of this kind; one that ends at once where there was none."""
        key = (kind.role, subject is not None)
        found = [n for n, each in enumerate(self._devices) if each.key == key and n not in self._taken]
        number = found[0] if found else -1
        self._taken.add(number)
        recorded = self._devices[number] if found else Recorded(key, codec)
        changed_at = self._place[1] if number == self._place[0] else -1
        zygote: Any = _Nobody(recorded, changed_at, self._change)
        return Child(zygote, {"program": list(program), "environment": {}}, self.limits, codec)

    def close(self) -> None:
        """There is nothing to be ended."""


@dataclasses.dataclass(frozen=True)
class NativeReplay:
    """The same for devices without Python, which speak otherwise."""

    replay: Replay

    def fork(
        self,
        kind: DeviceKind,
        subject: dict[str, Any] | None,
        environment: dict[str, str | None],
        limits: Limits | None = None,
    ) -> Child:
        """As :meth:`Replay.fork`."""
        native = toolchain_named(kind.toolchain).native_program()
        assert native is not None
        return self.replay.fork(kind, subject, environment, limits, ["a program"], native.codec)


class _Nobody:
    """Stands for the zygote, and for the device that it would have forked."""

    def __init__(self, recorded: Recorded, changed_at: int, change: Callable[[Recorded, int], bytes]) -> None:
        self.control, self._other = socket.socketpair()
        self._recorded = recorded
        self._changed_at = changed_at
        self._change = change
        self._answered = 0
        self._asked = bytearray()
        self._ended: tuple[int, int] | None = None

    def fork(self, message: dict[str, Any], descriptors: list[int]) -> int:
        self._connection = socket.socket(fileno=os.dup(descriptors[0]))
        self._connection.setblocking(False)
        self._unsent = b""
        return 1

    def pid_of(self, ticket: int, *wait: float) -> int:
        return _NOBODY

    def end_of(self, ticket: int) -> tuple[int, int] | None:
        """Asked again and again while an answer is waited for: the time to read and to write."""
        self._exchange()
        return self._ended

    def _exchange(self) -> None:
        try:
            while chunk := self._connection.recv(1 << 20):
                self._asked += chunk
        except BlockingIOError:
            pass
        while len(self._asked) >= 8 and len(self._asked) >= 8 + (length := struct.unpack("!Q", self._asked[:8])[0]):
            del self._asked[: 8 + length]
            self._unsent += self._next_answer()
        try:
            while self._unsent:
                self._unsent = self._unsent[self._connection.send(self._unsent) :]
        except (BlockingIOError, BrokenPipeError):
            pass
        if self._answered > len(self._recorded.answers) and not self._unsent and self._ended is None:
            self._connection.shutdown(socket.SHUT_WR)
            self._ended = (-9, 0)  # it knows no more

    def _next_answer(self) -> bytes:
        place, self._answered = self._answered, self._answered + 1
        if place >= len(self._recorded.answers):
            return b""
        if place == self._changed_at:
            data = self._change(self._recorded, place)
            if not _is_whole(data):  # which would be waited for until its time is over: it ends now
                self._answered = len(self._recorded.answers) + 1
            return data
        return framed(self._recorded.codec, self._recorded.answers[place] | {"number": place + 1})

    def forget(self, ticket: int) -> None:
        for each in (self.control, self._other, self._connection):
            each.close()

    def expect_running(self) -> None:
        """It never stops."""

    def read_notices(self, wait: float = 0.0) -> None:
        """It has nothing to tell."""


def _is_whole(data: bytes) -> bool:
    return len(data) >= 8 and len(data) - 8 >= struct.unpack("!Q", data[:8])[0]


def framed(codec: Codec, message: Any) -> bytes:
    """A message as a device sends it."""
    data = codec.dumps(message)
    return struct.pack("!Q", len(data)) + data


@dataclasses.dataclass(frozen=True)
class Change:
    """One answer changed, in a way that its random numbers say."""

    random: Random

    def __call__(self, recorded: Recorded, place: int) -> bytes:
        answer = copy.deepcopy(recorded.answers[place]) | {"number": place + 1}
        way = self.random.choices(["value", "answer", "raised", "bytes"], [50, 20, 15, 15])[0]
        if way == "bytes":
            return self._bytes(framed(recorded.codec, answer))
        for _ in range(20):  # some changes no message can hold
            try:
                return framed(recorded.codec, getattr(self, f"_{way}")(answer))
            except Exception:
                continue
        return self._bytes(framed(recorded.codec, answer))

    def _value(self, answer: dict[str, Any]) -> Any:
        return answer | {"value": changed_value(self.random, answer.get("value"))}

    def _answer(self, answer: dict[str, Any]) -> Any:
        return changed(self.random, answer)

    def _raised(self, answer: dict[str, Any]) -> Any:
        name = self.random.choice(
            ["RuntimeError", "SystemExit", "x" * 5000, HOSTILE.replace("\ud800", ""), "torch.jit.Error"]
        )
        text = self.random.choice(["", "no", "x" * 2**20, "a/" * 40_000, HOSTILE.replace("\ud800", ""), "\n" * 1000])
        answer.pop("value", None)
        return answer | {"raised": {"type": name, "bases": [name, "Exception"], "text": text, "stack": text}}

    def _bytes(self, data: bytes) -> bytes:
        head, body = data[:8], data[8:]
        match self.random.choice(["body", "length kept", "head", "twice"]):
            case "body":
                body = damaged(self.random, body)
                return struct.pack("!Q", len(body)) + body
            case "length kept":
                return head + damaged(self.random, body)
            case "head":
                return damaged(self.random, data)
            case _:
                return data + data


@dataclasses.dataclass(frozen=True)
class Replayed:
    """Cells whose devices were recorded, to be tried again with one answer changed."""

    descriptions: dict[str, Any]
    samples: dict[Any, Any]
    cells: list[RecordedCell]

    def tried(
        self, cell: RecordedCell, place: tuple[int, int], change: Callable[[Recorded, int], bytes]
    ) -> tuple[Verdict, str]:
        """What a cell comes to where the answer at a place, of which device and which of its own, is changed."""
        pool: Any = Replay(cell.devices, place, change)
        run = RunOfSamples(pool, _SEED, self.descriptions, native=NativeReplay(pool))
        run.kept_calls = self.samples
        return _tried(run, cell.cell)


def campaign(number: int, seed: int, wanted: Callable[[str], bool] = lambda clause: True, again: str = "") -> Watch:
    """Try so many answers, each of which is drawn from the seed and its own number; or that one ``again`` whose name
    this is."""
    replayed = Replayed(*record(wanted))
    watch = Watch()
    for who in [again] if again else [f"answers {seed}/{each}" for each in range(number)]:
        random = Random(who)
        cell = random.choice(replayed.cells)
        own = [(n, k) for n, device in enumerate(cell.devices) if device.key[1] for k in range(len(device.answers))]
        place = random.choice(own)

        def work(cell: RecordedCell = cell, place: tuple[int, int] = place, random: Random = random) -> str:
            verdict, text = replayed.tried(cell, place, Change(random))
            asks = cell.cell.clause.id.startswith(_ASKING)
            assert verdict in _ITS_OWN or (asks and verdict is Verdict.NOT_EXERCISED), text
            return verdict.value

        kind = cell.cell.clause.toolchain
        watch.attempt(kind, f"{who} {cell.cell.id}", work)
    return watch
