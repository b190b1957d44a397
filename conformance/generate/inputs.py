"""Tensors along the axes of inputs: a spec made into a tensor, the same in every process."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from conformance.generate.program import TensorSpec, wide_dtype
from conformance.generate.steps import BEYOND, Call


def make(spec: TensorSpec, *, wide: bool = False) -> torch.Tensor:
    """The tensor of a spec. With ``wide`` its values are those of its dtype, held in 64 bits."""
    dtype: torch.dtype = getattr(torch, spec.dtype)
    tensor = _laid_out(_values(spec, dtype), spec.layout)
    is_laid_out = spec.layout not in ("contiguous", "conj_view") or tensor.is_conj() or tensor.is_neg()
    if wide:
        wider = getattr(torch, wide_dtype(spec.dtype))
        # copied into the same layout: strides decide about what a program may do with a tensor
        tensor = tensor.to(wider) if tensor.dtype != wider else tensor
        if is_laid_out:
            tensor = _laid_out(tensor.contiguous(), spec.layout)
    return tensor


def arguments_of(call: Call, *, wide: bool = False) -> list[Any]:
    """The arguments of a call, with those tied that shall be."""
    made: list[Any] = [
        make(each, wide=wide) if isinstance(each, TensorSpec) else each.number for each in call.arguments
    ]
    if call.tied is not None:
        first, second, how = call.tied
        tensor = made[first]
        if how == "same":
            made[second] = tensor
        elif tensor.dim() and tensor.shape[0]:
            # one row apart in one memory
            base = torch.cat([tensor, tensor[:1]])
            made[first], made[second] = base[:-1], base[1:]
    if call.differentiable or (call.mode not in ("no_grad", "inference") and call.backward):
        for place, (each, value) in enumerate(zip(call.arguments, made, strict=True)):
            wanted = isinstance(each, TensorSpec) and (each.grad or call.differentiable)
            if wanted and value.is_leaf and value.is_floating_point():
                value.requires_grad_()
                if call.non_leaf and _is_plain(value):
                    made[place] = value.clone()
    return made


def with_other_values(arguments: Sequence[Any], *, fewer: bool = False) -> list[Any]:
    """Arguments of the same dtypes, with other numbers in those that are floats. They have the same sizes, or if
    ``fewer`` one row less in each tensor that has as many as the first."""
    others = [
        (each.detach() * 0.5 + 1).requires_grad_(each.requires_grad)
        if isinstance(each, torch.Tensor) and each.is_floating_point()
        else each
        for each in arguments
    ]
    tensors = [each for each in others if isinstance(each, torch.Tensor) and each.dim()]
    if not fewer or not tensors or len(tensors[0]) < 2:
        return others
    rows = len(tensors[0])
    return [
        each.detach()[:-1].clone().requires_grad_(each.requires_grad)
        if isinstance(each, torch.Tensor) and each.dim() and len(each) == rows
        else each
        for each in others
    ]


def _is_plain(tensor: torch.Tensor) -> bool:
    """Whether a copy lies in memory as it does."""
    return tensor.is_contiguous() and not tensor.storage_offset() and not tensor.is_neg() and not tensor.is_conj()


def _values(spec: TensorSpec, dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator().manual_seed(spec.seed * 7919 + 13)
    count = math.prod(spec.shape)
    if dtype == torch.bool:
        made = _booleans(spec.values, count, generator)
    elif dtype.is_complex:
        parts = [_floats(spec.values, count, torch.float32, generator) for _ in range(2)]
        made = torch.complex(parts[0].float(), parts[1].float())
    elif dtype.is_floating_point:
        made = _floats(spec.values, count, dtype, generator)
    else:
        made = _integers(spec.values, count, dtype, generator)
    return made.to(dtype).reshape(spec.shape)


def _booleans(kind: str, count: int, generator: torch.Generator) -> torch.Tensor:
    if kind in ("zeros", "ones"):
        return torch.full((count,), kind == "ones")
    return torch.randint(0, 2, (count,), generator=generator).bool()


def _integers(kind: str, count: int, dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    limits = torch.iinfo(dtype)
    low = 0 if limits.min == 0 else -9
    made = torch.randint(low, 10, (count,), generator=generator)
    match kind:
        case "zeros" | "ones":
            return torch.full((count,), int(kind == "ones"))
        case "small" | "repeated":
            return torch.randint(max(low, -1), 2, (count,), generator=generator)
        case "positive":
            return made.abs() + 1
        case "sorted":
            return torch.arange(count) % (limits.max // 2 + 1)
        case "extremes":
            ends = torch.tensor([limits.max, limits.min, limits.max - 1, limits.min + 1, 0, 1])
            return ends[torch.arange(count) % len(ends)]
        case "large":
            # beyond what float32, and where the dtype has room float64, holds of whole numbers
            return made + (limits.max // 2 if limits.max < 2**31 else 2**24 if limits.max < 2**40 else 2**53)
    return made


def _floats(kind: str, count: int, dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    limits = torch.finfo(dtype)
    made = torch.randn(count, generator=generator, dtype=torch.float64)
    if kind in _SPECIAL:
        made = torch.randn(count, generator=generator, dtype=torch.float64)
        if count:
            made[:: max(2, count // 3)] = _SPECIAL[kind](limits)
        return made
    change = _KINDS.get(kind)
    return made if change is None else change(made, limits, generator)


Kind = Callable[[torch.Tensor, Any, torch.Generator], torch.Tensor]


def _extremes(made: torch.Tensor, limits: Any, generator: torch.Generator) -> torch.Tensor:
    ends = torch.tensor([limits.max, limits.min, limits.tiny, -limits.tiny, limits.eps, 1.0], dtype=torch.float64)
    return ends[torch.arange(made.numel()) % len(ends)]


def _signed_zeros(made: torch.Tensor, limits: Any, generator: torch.Generator) -> torch.Tensor:
    ends = torch.tensor([-0.0, 0.0, 1.0, -1.0], dtype=torch.float64)
    return ends[torch.arange(made.numel()) % len(ends)]


def _masked(made: torch.Tensor, limits: Any, generator: torch.Generator) -> torch.Tensor:
    """Minus infinity in the first half: whole rows of it, as a mask of attention leaves them."""
    made[: (made.numel() + 1) // 2] = -math.inf
    return made


def _one_nonzero(made: torch.Tensor, limits: Any, generator: torch.Generator) -> torch.Tensor:
    """Zeros, but for the last element."""
    made[:-1] = 0.0
    return made


def _sorted(made: torch.Tensor, limits: Any, generator: torch.Generator) -> torch.Tensor:
    values, _ = torch.sort(made)
    return values


#: Values that stand among ordinary ones.
_SPECIAL: dict[str, Callable[[Any], float]] = {
    "inf": lambda limits: math.inf,
    "minus_inf": lambda limits: -math.inf,
    "nan": lambda limits: math.nan,
}
_KINDS: dict[str, Kind] = {
    "zeros": lambda made, limits, generator: torch.zeros_like(made),
    "ones": lambda made, limits, generator: torch.ones_like(made),
    "minus_zero": _signed_zeros,
    "small": lambda made, limits, generator: (made * 2).round() / 2,
    "halves": lambda made, limits, generator: (made * 2).floor() + 0.5,
    "repeated": lambda made, limits, generator: made.sign() + 0.25,
    "positive": lambda made, limits, generator: made.abs() + 0.125,
    "negative": lambda made, limits, generator: -made.abs() - 0.125,
    "sorted": _sorted,
    "large": lambda made, limits, generator: made * min(1e4, limits.max / 64),
    "tiny": lambda made, limits, generator: made * limits.tiny / 8,
    "all_nan": lambda made, limits, generator: torch.full_like(made, math.nan),
    "extremes": _extremes,
    "masked": _masked,
    "one_nonzero": _one_nonzero,
    "far_from_zero": lambda made, limits, generator: made / 64 + 100,
}


def _laid_out(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    """A contiguous tensor's values with other strides, or in another place of a storage."""
    match layout:
        case "transposed" if tensor.dim() >= 2:
            return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
        case "swapped" if tensor.dim() >= 3:
            dimensions = exchanged(tensor.dim())
            return tensor.transpose(*dimensions).contiguous().transpose(*dimensions)
        case "stepped" if tensor.dim():
            base = torch.zeros((*tensor.shape[:-1], tensor.shape[-1] * 2), dtype=tensor.dtype)
            base[..., ::2] = tensor
            return base[..., ::2]
        case "offset":
            base = torch.zeros(tensor.numel() + 3, dtype=tensor.dtype)
            base[3:] = tensor.flatten()
            return base[3:].view(tensor.shape)
        case "expanded" if tensor.dim() and tensor.shape[0] > 1:
            return tensor[:1].expand(tensor.shape)
        case "channels_last" if tensor.dim() == 4:
            return tensor.contiguous(memory_format=torch.channels_last)
        case "conj_view":
            return conj_view(tensor)
    return tensor


def exchanged(rank: int) -> tuple[int, int]:
    """The dimensions that have changed places: of heads and steps, or of steps and sentences."""
    return (1, 2) if rank == 4 else (0, 1)


def conj_view(tensor: torch.Tensor) -> torch.Tensor:
    """The same values, of which the memory has the conjugate or the negative: ``torch.Tensor.is_conj``, ``is_neg``."""
    if tensor.is_complex():
        return tensor.conj().resolve_conj().conj()
    if tensor.dtype in (torch.float32, torch.float64):
        return torch.complex(torch.zeros_like(tensor), -tensor).conj().imag
    return tensor


def spoilt(arguments: list[Any], how: str) -> list[Any]:
    """Arguments that no model of such a program can take, or, with ``BEYOND``, none that looks something up by them."""
    if how == BEYOND:
        # of what is looked up there is no such row
        return [
            each + 10**6 if isinstance(each, torch.Tensor) and each.dtype in (torch.int64, torch.int32) else each
            for each in arguments
        ]
    match how:
        case "too few":
            return arguments[:-1]
        case "a string":
            return ["not a tensor", *arguments[1:]]
    return [None, *arguments[1:]]
