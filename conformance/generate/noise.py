"""Rounding, moved: what a program computes in 64 bits, with the last place of a shorter dtype in doubt.

After each operator every result that the shorter dtype does not hold exactly is moved by a unit in its last place, up
or down as a seed says. What the dtype holds exactly stays, so that zeros, halves and ties are what they are. Where a
program gives something else then, rounding decides, and no result of it can be held against anybody.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

#: The unit in the last place of 1.
_UNITS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


class Noise(TorchDispatchMode):
    """A mode in which results are moved; ``dtype`` is the shorter one."""

    def __init__(self, dtype: str, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._dtype = getattr(torch, dtype)
        self._unit = _UNITS[dtype]
        self._generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func.is_view or torch.Tag.nondeterministic_seeded in func.tags:
            return result
        known = {id(each) for each in pytree.tree_leaves(args)} if func._schema.is_mutable else ()
        for each in pytree.tree_leaves(result):
            if isinstance(each, torch.Tensor) and each.dtype in (torch.float64, torch.complex128) and each.numel():
                self._move(each, in_place=id(each) in known)
        return result

    def _move(self, tensor: torch.Tensor, *, in_place: bool) -> None:
        if tensor.is_complex():
            tensor = torch.view_as_real(tensor)
        if 0 in tensor.stride() and tensor.numel() > 1:
            return  # one element stands for several, which would be moved several times
        inexact = self._is_inexact(tensor)
        if not bool(inexact.any()):
            return
        signs = torch.randint(0, 2, tensor.shape, generator=self._generator, dtype=torch.float64) * 2 - 1
        tensor.mul_(torch.where(inexact, 1 + signs * self._unit, 1.0))

    def _is_inexact(self, tensor: torch.Tensor) -> torch.Tensor:
        if self._dtype == torch.float64:
            # what float32 holds was likely exact; nothing wider is there to ask
            return (tensor.to(torch.float32).to(torch.float64) != tensor) & tensor.isfinite()
        return (tensor.to(self._dtype).to(torch.float64) != tensor) & tensor.isfinite()
