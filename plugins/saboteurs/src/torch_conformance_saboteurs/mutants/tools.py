"""What the programs of witnesses are written with: tensors that are as a condition wants them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor


def fresh(dtype: torch.dtype, sizes: tuple[int, ...], seed: int) -> Tensor:
    """A tensor of ordinary values; the same for the same seed."""
    generator = torch.Generator().manual_seed(seed)
    if dtype is torch.bool:
        return torch.rand(sizes, generator=generator) > 0.5
    if dtype.is_floating_point or dtype.is_complex:
        wide = torch.complex128 if dtype.is_complex else torch.float64
        return torch.randn(sizes, generator=generator, dtype=wide).to(dtype)
    low = 0 if dtype is torch.uint8 else -9
    return torch.randint(low, 10, sizes, generator=generator, dtype=torch.int64).to(dtype)


def like(x: Tensor, *sizes: int) -> Tensor:
    """Another tensor of ``x``'s dtype."""
    return fresh(x.dtype, sizes, 77)


def filled(x: Tensor, values: str) -> Tensor:
    """``x`` with values of a class in it."""
    flat = x.flatten().clone()
    first = {"zero": 0.0, "negative zero": -0.0, "infinite": float("inf"), "NaN": float("nan")}
    if values in first:
        flat[0] = first[values]
    elif values == "ties":
        flat[:2] = flat.max() + 1
    elif values == "extreme":
        flat[0] = (torch.finfo if x.is_floating_point() else torch.iinfo)(x.dtype).max
    elif values == "denormal":
        flat[0] = torch.finfo(x.dtype).tiny / 4
    elif values == "large":
        flat[0] = 2**25 if x.is_floating_point() else 2**25 + 1  # which float32 cannot hold
    elif values == "sorted":
        flat = torch.arange(flat.numel(), dtype=x.dtype)
    elif values == "negative":
        flat = -flat.abs() - 1
    elif values == "halves":
        flat = flat.floor() + 0.5
    elif values in ("all zero", "repeated", "ones"):
        flat = torch.full_like(flat, {"all zero": 0, "repeated": 2, "ones": 1}[values])
    return flat.view(x.shape)


def laid_out(x: Tensor, layout: str) -> Tensor:
    """The values of ``x`` in another layout; "expanded" repeats its first part."""
    if layout == "transposed":
        return x.transpose(-1, -2).contiguous().transpose(-1, -2)
    if layout == "stepped":
        wide = x.new_zeros((*x.shape, 2))
        wide[..., 0] = x
        return wide[..., 0]
    if layout == "offset":
        flat = x.new_zeros(x.numel() + 1)
        flat[1:] = x.flatten()
        return flat[1:].view(x.shape)
    if layout == "expanded":
        return x[:1].expand(x.shape)
    if layout == "channels_last":
        return x.contiguous(memory_format=torch.channels_last)
    return x


def other_shape(x: Tensor) -> Tensor:
    """Twice ``x``."""
    return torch.cat([x, x]) if x.dim() else torch.stack([x, x])


def side_by_side(x: Tensor) -> tuple[Tensor, Tensor]:
    """``x`` and another tensor, in one storage."""
    both = torch.stack([x, like(x, *x.shape)])
    return both[0], both[1]


def loss_of(results: Any) -> Tensor | None:
    """A number of the results that depends on each of their elements in another way; None if none requires grad."""
    found = [each for each in (results if isinstance(results, tuple) else (results,)) if each.requires_grad]
    terms = [
        (each * torch.linspace(1, 2, each.numel(), dtype=each.dtype).view(each.shape)).sum().to(torch.float64)
        for each in found
    ]
    return torch.stack(terms).sum() if terms else None


@contextlib.contextmanager
def mode(name: str) -> Iterator[None]:
    """PyTorch in a mode."""
    modes: dict[str, Any] = {
        "no_grad": torch.no_grad,
        "inference": torch.inference_mode,
        "grad": torch.enable_grad,
        "autocast": lambda: torch.autocast("cpu"),
    }
    if name in modes:
        with modes[name]():
            yield
        return
    default, deterministic = torch.get_default_dtype(), torch.are_deterministic_algorithms_enabled()
    try:
        if name == "default dtype":
            torch.set_default_dtype(torch.float64)
        else:
            torch.use_deterministic_algorithms(True)
        yield
    finally:
        torch.set_default_dtype(default)
        torch.use_deterministic_algorithms(deterministic)
