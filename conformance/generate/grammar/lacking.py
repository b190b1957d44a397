"""What a statement is asked for on the meta device: that it takes nothing that a backend declares missing."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Collection, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

#: The elementwise operator that is meant by what Python calls for a sign, or PyTorch tags otherwise.
_SIGNS = {
    "iadd": "add", "isub": "sub", "imul": "mul", "idiv": "div", "truediv": "div", "floordiv": "div", "ifloordiv": "div",
    "floor_divide": "div", "mod": "remainder", "imod": "remainder", "ipow": "pow", "iand": "bitwise_and",
    "ior": "bitwise_or", "ixor": "bitwise_xor",
}  # fmt: skip
#: Operators of which one operand says where, and is not promoted.
_BY_MASKS = ("where", "masked_fill")


class NotAlike(ValueError):
    """Operands of an elementwise operator differ in what a backend must have alike."""


@contextlib.contextmanager
def asked(missing: Collection[str]) -> Iterator[None]:
    """PyTorch is asked what a statement gives: without gradients and warnings, also what it makes from nothing on the
    meta device, and for a backend that has not all features with NotAlike where operands broadcast, or are promoted,
    that must not."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(torch.no_grad())
        stack.enter_context(torch.device("meta"))
        if not {"broadcasting", "mixed_dtypes"}.isdisjoint(missing):
            stack.enter_context(AlikeOperands(missing))
        yield


class AlikeOperands(TorchFunctionMode):
    """Refuses elementwise operators whose operands differ in what a backend has them alike; numbers, and tensors
    without dimensions, are alike with all. What an operator of another kind does inside is its own affair."""

    def __init__(self, missing: Collection[str]) -> None:
        super().__init__()
        self._missing = frozenset(missing)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        operands = [
            each for each in pytree.tree_leaves((args, kwargs)) if isinstance(each, torch.Tensor) and each.dim()
        ]
        name = getattr(func, "__name__", "").strip("_")
        if len(operands) > 1 and _is_elementwise(name):
            if "broadcasting" in self._missing and len({each.shape for each in operands}) > 1:
                raise NotAlike("operands broadcast")
            values = [each for each in operands if name not in _BY_MASKS or each.dtype != torch.bool]
            if "mixed_dtypes" in self._missing and len({each.dtype for each in values}) > 1:
                raise NotAlike("operands are promoted")
        return func(*args, **(kwargs or {}))


@functools.cache
def _is_elementwise(name: str) -> bool:
    """Whether a function, a method or what Python calls for a sign is one of PyTorch's elementwise operators."""
    packet = getattr(torch.ops.aten, _SIGNS.get(name, name), None)
    return packet is not None and any(torch.Tag.pointwise in getattr(packet, each).tags for each in packet.overloads())
