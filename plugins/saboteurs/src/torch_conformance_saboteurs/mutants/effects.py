"""What mutants do wrong to tensors, and to the process that they run in."""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

Change = Callable[[Tensor], Tensor]

_NARROWER = {torch.float64: torch.float32, torch.float32: torch.bfloat16, torch.int64: torch.float32}
_OTHER_DTYPE = {
    torch.float32: torch.float64,
    torch.float64: torch.float32,
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.int64: torch.int32,
    torch.int32: torch.int64,
    torch.int16: torch.int32,
    torch.int8: torch.int16,
    torch.uint8: torch.int16,
    torch.bool: torch.uint8,
    torch.complex64: torch.complex128,
}
_HALVES = (torch.float16, torch.bfloat16)


class MutantError(RuntimeError):
    """What a mutant raises where nothing is wrong."""


def _shifted(tensor: Tensor) -> Tensor:
    """Every element far enough off to be seen: other truth, the next whole number, half as much again."""
    if tensor.dtype is torch.bool:
        return ~tensor
    if tensor.is_floating_point() or tensor.is_complex():
        return tensor * 1.5 + 1
    return tensor + 1


def _off_a_little(tensor: Tensor) -> Tensor:
    if tensor.is_floating_point() or tensor.is_complex():
        little = 0.1 if tensor.dtype in _HALVES else 0.01
        return tensor * (1 + little) + little
    return _shifted(tensor)


def _at(place: Callable[[Tensor], Any]) -> Change:
    """A change of the part of a tensor that ``place`` is the index of."""

    def change(tensor: Tensor) -> Tensor:
        if tensor.numel() == 0:
            return tensor
        flat = tensor.clone()
        if tensor.dim() == 0:
            return _shifted(flat)
        index = place(flat)
        flat[index] = _shifted(flat[index])
        return flat

    return change


def _middle(tensor: Tensor) -> tuple[int, ...]:
    return tuple(size // 2 for size in tensor.shape)


def _last(tensor: Tensor) -> tuple[int, ...]:
    return tuple(-1 for _ in tensor.shape)


def _where(condition: Callable[[Tensor], Tensor], value: Callable[[Tensor], float]) -> Change:
    def change(tensor: Tensor) -> Tensor:
        if not tensor.is_floating_point():
            return tensor
        return torch.where(condition(tensor), torch.full_like(tensor, value(tensor)), tensor)

    return change


def _infinities(tensor: Tensor) -> Tensor:
    return tensor.nan_to_num(nan=float("nan")) if tensor.is_floating_point() else tensor


def _rounded(tensor: Tensor) -> Tensor:
    narrow = _NARROWER.get(tensor.dtype)
    return tensor if narrow is None else tensor.to(narrow).to(tensor.dtype)


def _other_dtype(tensor: Tensor) -> Tensor:
    return tensor.to(_OTHER_DTYPE.get(tensor.dtype, torch.float32))


def _other_strides(tensor: Tensor) -> Tensor:
    """The same values: with gaps, or without where there are some."""
    if tensor.dim() == 0:
        return tensor
    if not tensor.is_contiguous():
        return tensor.contiguous()
    wide = tensor.new_zeros((*tensor.shape, 2))
    wide[..., 0] = tensor
    return wide[..., 0]


def _other_shape(tensor: Tensor) -> Tensor:
    one = [index for index, size in enumerate(tensor.shape) if size == 1]
    return tensor.squeeze(one[-1]) if one else tensor.unsqueeze(0)


#: What gives another tensor in place of a result.
CHANGES: dict[str, Change] = {
    "off a little": _off_a_little,
    "one element": _at(_middle),
    "last element": _at(_last),
    "last row": _at(lambda tensor: -1),
    "rounded": _rounded,
    "NaN to zero": _where(torch.isnan, lambda tensor: 0.0),
    "negative zero lost": _where(lambda tensor: (tensor == 0) & tensor.signbit(), lambda tensor: 0.0),
    "infinity to largest": _infinities,
    "denormals flushed": _where(lambda tensor: tensor.abs() < torch.finfo(tensor.dtype).tiny, lambda tensor: 0.0),
    "other dtype": _other_dtype,
    "other strides": _other_strides,
    "other shape": _other_shape,
    "copied": torch.clone,
    "zeros returned": torch.zeros_like,
    "weights off": _at(_last),
    "weights rounded": _rounded,
}


def last_of_ties(kernel: str, result: Any, arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """What an operator gives that takes the last of equal elements, computed from what it was given."""
    tensor = arguments[0]
    named = dict(keywords)
    dimension = named.get("dim", next((each for each in arguments[1:] if type(each) is int), -1))
    if tensor.dim() == 0 or dimension is None:
        return result
    last = tensor.shape[dimension] - 1
    if kernel in ("argmax", "argmin"):
        return last - getattr(torch, kernel)(tensor.flip(dimension), dimension, named.get("keepdim", False))
    if kernel in ("max", "min") and isinstance(result, tuple):
        values, indices = getattr(torch, kernel)(tensor.flip(dimension), dimension)
        return values, last - indices
    if kernel in ("sort", "argsort") and (named.get("stable") or True in arguments[1:2]):
        values, indices = torch.sort(tensor.flip(dimension), dim=dimension, stable=True)
        return (values, last - indices) if kernel == "sort" else last - indices
    return result


def write_into(target: Tensor, value: Tensor) -> bool:
    """Put a value into a tensor, past Autograd. False where it has no place there."""
    fits = target.shape == value.shape and target.dtype == value.dtype
    if not fits or any(step == 0 and size > 1 for step, size in zip(target.stride(), target.shape, strict=True)):
        return False
    with torch.no_grad():
        target.detach().copy_(value.detach())
    return True


def spoil_last_element(tensor: Tensor) -> None:
    """Overwrite the last element of a tensor, past Autograd."""
    if tensor.numel():
        with torch.no_grad():
            plain = tensor.detach()
            place = plain[tuple(-1 for _ in plain.shape)] if plain.dim() else plain
            place.copy_(_shifted(place.clone()))


_kept: list[Any] = []
_original_relu = torch.relu


def _leave_function_replaced() -> None:
    torch.relu = lambda input: _original_relu(input)


def _crash() -> None:
    os.abort()


def _fail() -> None:
    raise MutantError("there is nothing wrong with this")


#: What is done to the process, whatever is computed in it.
DEEDS: dict[str, Callable[[], Any]] = {
    "error": _fail,
    "crash": _crash,
    "hang": lambda: time.sleep(600),
    "random numbers drawn": lambda: torch.rand(1),
    "Python's random numbers drawn": random.random,
    "grad mode left": lambda: torch._C._set_grad_enabled(not torch.is_grad_enabled()),
    "default dtype left": lambda: torch.set_default_dtype(torch.float64),
    "threads left": lambda: torch.set_num_threads(torch.get_num_threads() + 1),
    "directory left": lambda: os.chdir("/"),
    "environment left": lambda: os.environ.update(OMP_MUTANT="1"),
    "determinism left": lambda: torch.use_deterministic_algorithms(True),
    "function replaced": _leave_function_replaced,
    "memory kept": lambda: None,
}


def keep(values: Sequence[Any]) -> None:
    """Hold on to values for as long as the process lives."""
    _kept.append(list(values))


class Exchanged(torch.autograd.Function):
    """A tensor in place of another one, whose gradient goes to that."""

    @staticmethod
    def forward(context: Any, old: Tensor, new: Tensor) -> Tensor:
        context.shape, context.dtype = old.shape, old.dtype
        return new.view_as(new)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient.to(context.dtype).reshape(context.shape), None


def exchanged(old: Tensor, new: Tensor) -> Any:
    """``new`` in place of ``old``, with the history of ``old`` where it has one."""
    differentiable = new.is_floating_point() or new.is_complex()
    if old is new or not (old.requires_grad and differentiable and torch.is_grad_enabled()):
        return new
    return Exchanged.apply(old, new)  # type: ignore[no-untyped-call]


def changed_gradient(effect: str, gradient: Tensor) -> Tensor | None:
    """What becomes of a gradient."""
    with contextlib.nullcontext() if torch.is_grad_enabled() else torch.no_grad():
        if effect == "gradient off":
            return gradient * 1.1 + 0.01
        if effect == "gradient zero":
            return torch.zeros_like(gradient)
        if effect == "gradient doubled":
            return gradient * 2
        if effect == "gradient missing":
            return None
        return CHANGES["last element"](gradient) if effect == "gradient of one element" else gradient
