"""Whole numbers, and numbers of other dtypes: what they count, and what of them is lost."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.api import features as f
from conformance.api.maker import Maker
from conformance.models import everyday


@everyday(
    "quieter",
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.integers(3, 6, low=-30, high=30, dtype=torch.int16),),
    touches=(f.integers, f.mixed_dtypes),
)
class Quieter(torch.nn.Module):
    """Whole numbers, half of them below zero, are divided by a power of two, in each way: a shift is one of them."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        towards_zero = torch.div(x, 4, rounding_mode="trunc")
        return towards_zero, torch.div(x, 4, rounding_mode="floor"), torch.remainder(x, 4), torch.fmod(x, 4), x / 4


@everyday(
    "smallest_first",
    f.reductions,
    f.several_outputs,
    inputs=lambda make: (
        torch.tensor([7, 0, 200, 3], dtype=torch.uint8),
        torch.tensor([5, -128, 127, 0], dtype=torch.int8),
        torch.tensor([2.0, float("nan"), -1.0, float("inf"), 0.5]),
    ),
    touches=(f.integers, f.mixed_dtypes, f.non_finite),
)
class SmallestFirst(torch.nn.Module):
    """The smallest are not the largest of the negative: not of bytes, not of the least integer, and not beside NaN."""

    def forward(self, counts: Tensor, steps: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        few, places = torch.topk(counts, 2, largest=False)
        lowest, _ = torch.topk(x, 3, largest=False)
        return few, places, torch.topk(steps, 2, largest=False)[0], lowest, torch.sort(x, descending=True)[0]


def _taken(make: Maker) -> Tensor:
    """Which of 300 places are taken, as bytes: most of them."""
    return (make.integers(2, 300, low=0, high=20) > 0).to(torch.uint8)


@everyday(
    "long_masks",
    f.reductions,
    f.several_outputs,
    inputs=lambda make: (_taken(make), make.integers(9, low=2, high=4, dtype=torch.int8)),
    touches=(f.integers, f.booleans, f.mixed_dtypes),
)
class LongMasks(torch.nn.Module):
    """More places than a byte can count are numbered by what says which are taken, and factors of a byte multiplied."""

    def forward(self, taken: Tensor, factors: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        places = torch.cumsum(taken, dim=-1)
        return places - 1, torch.cumsum(taken > 0, dim=-1), taken.sum(dim=-1), torch.cumprod(factors, dim=0)


@everyday(
    "frames_with_checksums",
    f.reductions,
    f.several_outputs,
    inputs=lambda make: (make.integers(3, 9, low=-9000, high=9000),),
    touches=(f.integers, f.mixed_dtypes, f.booleans),
)
class FramesWithChecksums(torch.nn.Module):
    """Sums that are kept in as many bits as a frame has for them: what is beyond is lost, and the rest stays."""

    def forward(self, frame: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        total = frame.sum(dim=-1)
        checksum = total.to(torch.uint8)
        return checksum, total.to(torch.int16), 255 - checksum.to(torch.int64), total.to(torch.int8) > 0


@everyday(
    "beyond_24_bits",
    f.mixed_dtypes,
    f.float64,
    f.several_outputs,
    inputs=lambda make: (make.integers(6, low=0, high=9) * 2 + 2**24 + 1,),
    touches=(f.integers,),
)
class Beyond24Bits(torch.nn.Module):
    """What goes through a float of 32 bits has lost the last digits of a whole number, though the result has room."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x.to(torch.float32).to(torch.float64), x.to(torch.float32).to(torch.int64)
