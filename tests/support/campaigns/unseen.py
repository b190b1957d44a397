"""Wrong results of each call that a clause makes: what does not fail its cell is a result that nobody looks at.

The answers of a cell's devices are recorded, as for changed answers, and the clause is tried again where every number
in one of them is another. A clause asks for results in order to look at them: it has no reason to believe that a
backend which computes right elsewhere does so here.
"""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from conformance.api.clause import Level
from conformance.api.errors import GarbledValue
from conformance.api.verdicts import Verdict
from conformance.compare.comparison import is_equal
from conformance.compare.values import decode, encode
from support.campaigns.answers import Recorded, RecordedCell, Replayed, framed, record


@dataclasses.dataclass(frozen=True, order=True)
class Unseen:
    """A result that may be wrong in a cell that passes: the clause, the verb that gave it, and its place among the
    answers of a device."""

    clause: str
    verb: str
    device: str
    place: int


def wrong(value: Any) -> Any:
    """The value that a verb gave, every number in it another one."""
    if isinstance(value, bytes):
        try:
            return encode(_other(decode(value)))
        except GarbledValue:  # an artifact, or whatever else is no value
            return value
    if isinstance(value, list | tuple):
        return type(value)(wrong(each) for each in value)
    if isinstance(value, dict):
        return {name: wrong(each) for name, each in value.items()}
    return value


def _read(value: Any) -> Any:
    """The value that a verb gave, with everything in it that was encoded."""
    if isinstance(value, bytes):
        with contextlib.suppress(GarbledValue):
            return decode(value)
    if isinstance(value, list | tuple):
        return type(value)(map(_read, value))
    return {name: _read(each) for name, each in value.items()} if isinstance(value, dict) else value


def _other(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        if value.is_quantized or value.layout is not torch.strided:
            return value
        plain = value.detach()
        changed = ~plain if plain.dtype is torch.bool else plain + 1
        return changed.as_strided(plain.shape, changed.stride()).requires_grad_(value.requires_grad)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, list | tuple):
        return type(value)(map(_other, value))
    if isinstance(value, dict):
        return {name: _other(each) for name, each in value.items()}
    return value


def results_of(cell: RecordedCell) -> Iterator[tuple[int, int, Any]]:
    """Each answer of a device with the backend that has numbers in it: the device, the answer, and the wrong value."""
    for number, device in enumerate(cell.devices):
        if not device.key[1]:
            continue
        for place, answer in enumerate(device.answers):
            changed = wrong(answer.get("value"))
            if not is_equal(_read(changed), _read(answer.get("value"))):
                yield number, place, changed


def unseen(backend: str, wanted: Callable[[str], bool] = lambda clause: True) -> tuple[int, list[Unseen]]:
    """Try each result in a cell of each graded clause: how many there are, and those that nobody saw."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of bytes that are no value, or one in another process's way
        return _unseen(Replayed(*record(wanted, [backend])))


def _unseen(replayed: Replayed) -> tuple[int, list[Unseen]]:
    tried, found = 0, []
    for cell in replayed.cells:
        if cell.verdict is not Verdict.PASS or cell.cell.clause.level is Level.REPORTED:
            continue
        for number, place, value in results_of(cell):
            device = cell.devices[number]

            def change(recorded: Recorded, at: int, value: Any = value) -> bytes:
                return framed(recorded.codec, recorded.answers[at] | {"number": at + 1, "value": value})

            tried += 1
            if replayed.tried(cell, (number, place), change)[0] is Verdict.PASS:
                found.append(Unseen(cell.cell.clause.id, device.verbs[place], device.key[0], place))
    return tried, found
