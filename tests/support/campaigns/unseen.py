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
from torch.utils import _pytree as pytree

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
    """The value that a verb gave, every number that is encoded in it another one."""

    def changed(part: Any) -> Any:
        found = _decoded(part)
        return part if found is part else encode(pytree.tree_map(_another, found))

    return pytree.tree_map(changed, value)


def _decoded(part: Any) -> Any:
    """What is encoded in a part of an answer; the part itself where it is an artifact, or no bytes at all."""
    if isinstance(part, bytes):
        with contextlib.suppress(GarbledValue):
            return decode(part)
    return part


def _another(leaf: Any) -> Any:
    """Another number for one, and a tensor of others in the same memory: strides and aliases stay what they were."""
    if isinstance(leaf, torch.Tensor):
        plain = leaf.detach()
        if plain.is_quantized or plain.layout is not torch.strided:
            return leaf
        return leaf if _changed_in_place(plain) else _changed(plain.clone())
    if isinstance(leaf, bool):
        return not leaf
    return leaf + 1 if isinstance(leaf, int | float) else leaf


def _changed(tensor: torch.Tensor) -> torch.Tensor:
    """Other numbers in a tensor, off by a hundredth where they are of floating point."""
    if tensor.dtype is torch.bool:
        return tensor.logical_not_()
    return tensor.mul_(1.01).add_(0.01) if tensor.is_floating_point() else tensor.add_(1)


def _changed_in_place(tensor: torch.Tensor) -> bool:
    try:
        _changed(tensor)
    except RuntimeError:  # several of its elements are one place in memory
        return False
    return True


def results_of(cell: RecordedCell) -> Iterator[tuple[int, int, Any]]:
    """Each answer of a device with the backend that has numbers in it: the device, the answer, and the wrong value."""
    for number, device in enumerate(cell.devices):
        if not device.key[1]:
            continue
        for place, answer in enumerate(device.answers):
            value = answer.get("value")
            changed = wrong(value)
            if not is_equal(pytree.tree_map(_decoded, changed), pytree.tree_map(_decoded, value)):
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
