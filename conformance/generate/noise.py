"""Noise: a program computed in 64 bits, with each result moved by about as much as rounding to a shorter dtype might.

After each operator every result that the shorter dtype does not hold exactly is moved by a unit in its last place, up
or down as a seed says. What the dtype holds exactly stays, so that zeros, halves and ties are what they are. Where a
program gives something else then, rounding decides, and no result of it can be held against anybody.

Every other time the operands of elementwise operators lie apart in memory. Eager PyTorch takes numbers one by one then,
and not several in one instruction; where that gives something else (`reports/findings/eager_gradient_at_nan.py`), what
it gives depends on the place of an element, and is no measure of anybody either.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

#: The unit in the last place of 1.
_UNITS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
#: Operators that compute no new value: they choose, copy, or change a sign.
_MOVES = frozenset(
    (
        "abs", "amax", "amin", "cat", "clamp", "clamp_max", "clamp_min", "clone", "constant_pad_nd", "copy", "cummax",
        "cummin", "diag_embed", "embedding", "fill", "flip", "gather", "index", "index_copy", "index_put",
        "index_select", "lift_fresh", "masked_fill", "masked_select", "max", "maximum", "median", "min", "minimum",
        "neg", "relu", "repeat", "roll", "scatter", "sort", "stack", "take", "take_along_dim", "_to_copy", "topk",
        "tril", "triu", "where", "zeros_like",
    )
)  # fmt: skip


#: Elementwise ways back that PyTorch has not tagged as such.
_POINTWISE_BACK = frozenset(
    ("elu_backward", "hardshrink_backward", "hardswish_backward", "hardtanh_backward", "softshrink_backward")
)


class Noise(TorchDispatchMode):
    """A mode that moves the results of operators by a unit in the last place of ``dtype``, the shorter dtype."""

    def __init__(self, dtype: str, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._dtype = getattr(torch, dtype)
        self._unit = _UNITS[dtype]
        self._apart = seed % 2 == 1
        self._generator = torch.Generator().manual_seed(seed)
        # the first numbers of neighbouring seeds have much in common
        torch.rand(1000, generator=self._generator)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self._apart and _is_pointwise(func):
            args = pytree.tree_map_only(torch.Tensor, _lying_apart, args)
        result = func(*args, **(kwargs or {}))
        if func.is_view or torch.Tag.nondeterministic_seeded in func.tags:
            return result
        for each in pytree.tree_leaves(result):
            if isinstance(each, torch.Tensor) and each.dtype in (torch.float64, torch.complex128) and each.numel():
                self._move(each, moved=func._schema.name.partition("::")[2].rstrip("_") in _MOVES)
        return result

    def _move(self, tensor: torch.Tensor, *, moved: bool) -> None:
        if tensor.is_complex():
            tensor = torch.view_as_real(tensor)
        if 0 in tensor.stride() and tensor.numel() > 1:
            return  # one element stands for several, which would be moved several times
        inexact = self._is_inexact(tensor, moved=moved)
        if not bool(inexact.any()):
            return
        signs = torch.randint(0, 2, tensor.shape, generator=self._generator, dtype=torch.float64) * 2 - 1
        tensor.mul_(torch.where(inexact, 1 + signs * self._unit, 1.0))

    def _is_inexact(self, tensor: torch.Tensor, *, moved: bool) -> torch.Tensor:
        """Which elements rounding may have made. What is ``moved`` about is as it was if the dtype holds it; a result
        of arithmetic is surely exact only if it has few digits: a constant such as 0.1 is rounded before its use."""
        held = self._dtype if moved and self._dtype != torch.float64 else torch.float32 if moved else torch.float16
        return (tensor.to(held).to(torch.float64) != tensor) & tensor.isfinite()


def _is_pointwise(operator: Any) -> bool:
    """Whether an operator computes each element by itself, and writes to no operand."""
    if operator.is_view or operator._schema.is_mutable:
        return False
    return torch.Tag.pointwise in operator.tags or operator._opname in _POINTWISE_BACK


def _lying_apart(tensor: torch.Tensor) -> torch.Tensor:
    """The same values, with as much memory between two elements as each takes; what overlaps or has gaps, as it is."""
    if tensor.layout is not torch.strided or tensor.dtype != torch.float64 or tensor.numel() < 2:
        return tensor
    if not torch.ops.aten.is_non_overlapping_and_dense(tensor):
        return tensor
    memory = tensor.new_empty(2 * tensor.numel())
    return memory.as_strided(tensor.shape, [2 * each for each in tensor.stride()]).copy_(tensor)
