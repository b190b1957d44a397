"""Samples of PyTorch's operators, from the OpInfo database of its own tests.

Runs in a control's process only: importing the database takes seconds, and brings numpy and pytest with it.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import itertools
import random
import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from conformance.compare.values import decode, encode
from conformance.operators import DTYPES

_DATABASE = "torch.testing._internal.common_methods_invocations"
#: Of the samples that an OpInfo makes, so many are looked at; those that are tried are spread over them.
_LOOKED_AT = 48
#: Operators whose values are whatever was in the memory.
_UNINITIALISED = ("empty", "new_empty")


@dataclasses.dataclass(frozen=True)
class Sample:
    """One call of an operator, as a function of the tensors among its arguments; the others are bound.

    ``inputs`` and ``expected`` are encoded values: a tuple of tensors, and what eager PyTorch gives for it, a tensor or
    a tuple of tensors. ``settled`` is false where the values are others at each call: random, or uninitialised.
    """

    function: Callable[..., Any]
    inputs: bytes
    expected: bytes
    settled: bool


@functools.cache
def database() -> dict[str, Any]:
    """The OpInfo of each operator under its full name, with the variant: ``div.floor_rounding``.

    Raises ModuleNotFoundError where something is missing that PyTorch's own tests need.
    """
    entries = importlib.import_module(_DATABASE).op_db
    return {".".join(filter(None, (each.name, each.variant_test_name))): each for each in entries}


def dtypes_of(operator: str) -> list[str]:
    """Those of :data:`~conformance.operators.DTYPES` that PyTorch takes for the operator on a CPU."""
    supported = database()[operator].supported_dtypes("cpu")
    return [name for name in DTYPES if getattr(torch, name) in supported]


def samples_of(operator: str, dtype: str, seed: int, count: int) -> Iterator[Sample | str]:
    """At most ``count`` samples, the same ones for the same arguments; for one that PyTorch cannot make, the reason."""
    entry = database()[operator]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _seed(f"{seed} {operator} {dtype}")
        try:
            # set_seed=False: else an OpInfo draws each sample from a seed of its own.
            made = entry.sample_inputs("cpu", getattr(torch, dtype), set_seed=False)
            found = list(itertools.islice(made, _LOOKED_AT))
        except Exception as error:
            yield f"PyTorch cannot make samples: {in_a_line(error)}"
            return
        if not found:
            yield "PyTorch has no samples"
        count = min(count, len(found))
        for index in range(count):
            yield _sample(entry, found[index * len(found) // count])


def in_a_line(error: Exception) -> str:
    """What an exception says, in one line."""
    text = " ".join(str(error).partition("\nException raised from ")[0].split())
    return f"{type(error).__name__}: {text[:300]}"


class NoTensor(Exception):
    """An operator's result has no tensor in it, so that no program can return it."""


def _sample(entry: Any, raw: Any) -> Sample | str:
    leaves, structure = pytree.tree_flatten((raw.input, raw.args, raw.kwargs))
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def function(*tensors: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
        arguments = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            arguments[place] = tensor
        first, others, named = pytree.tree_unflatten(arguments, structure)
        return _tensors_of(entry(first, *others, **named))

    inputs = encode(tuple(leaves[place] for place in places))
    random_operators = _RandomOperators()
    try:
        with random_operators:
            expected = function(*decode(inputs))
    except NoTensor as error:
        return str(error)
    except Exception as error:
        return f"eager PyTorch fails: {in_a_line(error)}"
    settled = not random_operators.seen and not entry.name.startswith(_UNINITIALISED)
    return Sample(function, inputs, encode(expected), settled)


def _tensors_of(result: Any) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """A result without what is no tensor; containers of any kind become one tuple."""
    if isinstance(result, torch.Tensor):
        return result
    tensors = tuple(leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor))
    if not tensors:
        raise NoTensor(f"the result is no tensor but {result!r:.80}")
    return tensors


class _RandomOperators(TorchDispatchMode):
    """Notes whether an operator ran that draws random numbers."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen |= torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))


def _seed(text: str) -> None:
    """Seed everything that samples are drawn from; not from ``hash``, which differs between processes."""
    import numpy

    number = zlib.crc32(text.encode())
    random.seed(number)
    numpy.random.seed(number)
    torch.default_generator.manual_seed(number)  # torch.manual_seed spends milliseconds on devices that are not here
