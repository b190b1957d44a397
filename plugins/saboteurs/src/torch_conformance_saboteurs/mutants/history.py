"""What a process has seen: which models were lowered, what they were called with, what became of that."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from torch_conformance_saboteurs.mutants.conditions import mode_matches
from torch_conformance_saboteurs.mutants.operators import spoken_of

When = dict[str, str]


class Lowered:
    """One lowered graph or method, and what happened to it."""

    def __init__(
        self, kernels: Sequence[str], *, loaded: bool = False, copied: bool = False, counts: bool = True
    ) -> None:
        self.kernels = tuple(kernels)
        self.loaded = loaded
        self.copied = copied
        self.thread = threading.get_ident()
        self.calls = 0
        #: Of the first call: each weight's address and version, and a copy where one is wanted.
        self.weights: list[tuple[int, int]] | None = None
        self.first_weights: list[Tensor] = []
        #: Of the call before: address and version of each input.
        self.inputs: list[tuple[int, int]] = []
        self.last_result: Any = None
        #: Results by what distinguishes them.
        self.formers: dict[Any, Tensor] = {}
        self.number = process.count + 1
        self.is_twin = self.kernels in process.kernels
        if counts:
            process.enter(self)


class Process:
    """What a process has seen of all lowered models together."""

    def __init__(self) -> None:
        self.count = 0
        self.dropped = 0
        self.failures = 0
        self.kernels: list[tuple[str, ...]] = []
        self.alive: list[weakref.ref[Lowered]] = []
        #: Sizes and dtypes of the inputs of the last call, whatever was called.
        self.last: tuple[list[Any], list[Any]] | None = None

    def enter(self, lowered: Lowered) -> None:
        """A model is there."""
        self.kernels.append(lowered.kernels)
        self.alive.append(weakref.ref(lowered, self._leave))
        self.count += 1

    def _leave(self, reference: weakref.ref[Lowered]) -> None:
        self.alive.remove(reference)
        self.dropped += 1


process = Process()


def mark(tensor: Tensor) -> tuple[int, int]:
    """Where a tensor lies, and how often it was written to."""
    return tensor.data_ptr(), -1 if tensor.is_inference() else tensor._version


def signature(inputs: Sequence[Tensor]) -> tuple[list[Any], list[Any]]:
    """Sizes and dtypes."""
    return [tuple(each.shape) for each in inputs], [each.dtype for each in inputs]


def program_matches(when: When, lowered: Lowered) -> bool:
    """Whether it is a program that is meant, whatever it is called with."""
    if "operator" in when and not any(when["operator"] in spoken_of(each) for each in lowered.kernels):
        return False
    return _models_match(when, lowered)


def _models_match(when: When, lowered: Lowered) -> bool:
    holds = True
    wanted = when.get("models")
    if wanted == "second lowered":
        holds = lowered.number >= 2
    elif wanted == "another alive":
        holds = any(each() not in (None, lowered) for each in process.alive)
    elif wanted == "a twin":
        holds = lowered.is_twin
    elif wanted is not None:
        holds = process.dropped > 0
    origin = when.get("origin")
    if origin is not None and not (lowered.loaded if origin == "loaded" else lowered.copied):
        return False
    return holds


def history_matches(when: When, lowered: Lowered, grad: bool, inputs: Sequence[Tensor]) -> bool:
    """Whether what came before a call, and surrounds it, is as is said; ``grad`` is grad mode as the caller has it."""
    calls = {
        "first": lowered.calls == 1,
        "second": lowered.calls == 2,
        "third and later": lowered.calls >= 3,
        "even": lowered.calls % 2 == 0,
    }
    if "call" in when and not calls[when["call"]]:
        return False
    if "thread" in when and threading.get_ident() == lowered.thread:
        return False
    return (
        mode_matches(when, grad)
        and _models_match(when, lowered)
        and earlier_matches(when, inputs)
        and _inputs_match(when, lowered, inputs)
    )


def earlier_matches(when: When, inputs: Sequence[Tensor]) -> bool:
    """Whether what came before a call of anything is as is said."""
    wanted = when.get("earlier")
    if wanted == "a failed call":
        return process.failures > 0
    if wanted is None:
        return True
    if process.last is None:
        return False
    shapes, dtypes = signature(inputs)
    return bool(process.last[0] != shapes) if wanted == "another shape" else process.last[1] != dtypes


def _inputs_match(when: When, lowered: Lowered, inputs: Sequence[Tensor]) -> bool:
    wanted = when.get("inputs")
    marks = [mark(each) for each in inputs]
    if wanted == "requires grad":
        return any(each.requires_grad for each in inputs)
    if wanted == "three or more":
        return len(inputs) >= 3
    if wanted == "the same again":
        return bool(marks) and lowered.inputs == marks
    if wanted == "refilled":
        before = dict(lowered.inputs)
        return any(address in before and 0 <= before[address] < version for address, version in marks)
    return True


def weights_match(when: When, lowered: Lowered, weights: Sequence[Tensor]) -> bool:
    """Whether what became of the weights since the first call is as is said."""
    wanted = when.get("weights")
    if wanted is None:
        return True
    pairs = zip(lowered.weights or (), map(mark, weights), strict=False)
    if wanted == "replaced":
        return any(old[0] != new[0] for old, new in pairs)
    return any(old[0] == new[0] and old[1] != new[1] for old, new in pairs)
