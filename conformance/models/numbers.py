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


@everyday(
    "rounded_prices",
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.floats(6) * 3.0, torch.tensor([0.0, 1.0, 3.0, 5.0, -1.0, 2.0])),
)
class RoundedPrices(torch.nn.Module):
    """Two places behind the point, or none; and halves to the even number."""

    def forward(self, price: Tensor, ratio: Tensor) -> tuple[Tensor, Tensor]:
        return torch.round(price, decimals=2), torch.round(ratio * 0.5)


@everyday(
    "numbers_in_place_of_none",
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (torch.tensor([0.0, 1.0, 3.0, 5.0, -1.0, 2.0]), make.floats(6)),
    touches=(f.non_finite,),
)
class NumbersInPlaceOfNone(torch.nn.Module):
    """Logarithms and inverses that are infinite, or no numbers, become others; and halves go to the even number."""

    def forward(self, ratio: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        logarithm, inverse = torch.log(ratio), 1.0 / ratio
        named = torch.nan_to_num(logarithm, nan=-1.0, posinf=9.0, neginf=-20.0)
        return named, torch.nan_to_num(inverse, posinf=50.0) + x, torch.round(ratio * 0.5)


@everyday(
    "counts_and_means",
    f.reductions,
    f.several_outputs,
    inputs=lambda make: (
        make.integers(2, 3, 4, low=0, high=256, dtype=torch.uint8),
        make.integers(3, 5, low=1, high=9),
        make.booleans(3, 5),
    ),
    touches=(f.integers, f.booleans, f.mixed_dtypes, f.zero_dim),
)
class CountsAndMeans(torch.nn.Module):
    """Means of bytes and of counts are floats, sums of what is seen whole numbers of a size that was asked for."""

    def forward(self, picture: Tensor, counts: Tensor, seen: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        darkest = picture.amin([1, 2])
        mean = picture.mean([1, 2], dtype=torch.float32)
        return mean, darkest, counts.mean(0, dtype=torch.float32), seen.cumsum(1, dtype=torch.int32), seen.sum(0)


@everyday(
    "flags_and_bits",
    f.elementwise,
    f.integers,
    f.booleans,
    f.several_outputs,
    inputs=lambda make: (make.integers(3, 4, low=0, high=4), make.integers(3, 4, low=0, high=4), make.floats(3, 4)),
    touches=(f.mixed_dtypes,),
)
class FlagsAndBits(torch.nn.Module):
    """Numbers that are not zero are true, also a half; and all bits of one turned round are another number."""

    def forward(
        self, ids: Tensor, other: Tensor, weight: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        both, either = torch.logical_and(ids, other), torch.logical_xor(ids, other)
        return ~ids, torch.logical_not(ids), both, either, weight.to(torch.bool), ids.pow(2), torch.clamp(ids, 0.5, 2.5)


@everyday(
    "degrees",
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: ((make.floats(5, 5) > 0.0).long(), make.floats(4), torch.tensor([0, 1, 2, 3])),
    touches=(f.integers, f.mixed_dtypes, f.reductions),
)
class Degrees(torch.nn.Module):
    """Counts to a power that is no whole number, numbers of either sign to one that is, and a number to each."""

    def forward(self, edges: Tensor, x: Tensor, age: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        degree = edges.sum(0) + 1
        return degree**-0.5, degree / 127.5 - 1.0, 0.75**age, x**age


@everyday(
    "hashed_words",
    f.elementwise,
    f.integers,
    f.several_outputs,
    inputs=lambda make: (
        torch.tensor([123456789012, 16777217, 5, 4294967301]) + make.integers(1, low=0),
        torch.tensor([123456789013, 16777218, 4, 5]) + make.integers(1, low=0),
    ),
    touches=(f.booleans,),
)
class HashedWords(torch.nn.Module):
    """Words have numbers of more than 32 bits, which are multiplied and compared."""

    def forward(self, ids: Tensor, other: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return ids * 1000003 + 12345, ids == other, ids < other, torch.maximum(ids, other)


@everyday(
    "silent_frames",
    f.reductions,
    f.booleans,
    f.several_outputs,
    inputs=lambda make: (make.integers(2, 3, 4, low=-1, high=2) * 0.5, make.integers(3, 4, low=-2, high=2)),
    touches=(f.integers, f.elementwise, f.mixed_dtypes),
)
class SilentFrames(torch.nn.Module):
    """Which frames have anything in them, be it negative or a half, and which have nothing but something."""

    def forward(self, x: Tensor, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return x.any(dim=-1), ids.all(dim=-1, keepdim=True), (x != 0.0).any(dim=1, keepdim=True)


@everyday(
    "made_tables",
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.floats(3, 6),),
    touches=(f.integers, f.booleans, f.mixed_dtypes),
)
class MadeTables(torch.nn.Module):
    """Tables that a model makes itself, of the dtype and with the steps that it asks for."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        frequencies = torch.exp(torch.arange(0, 6, 2, dtype=torch.float32) * -0.5)
        sevens, none = torch.full_like(x, 7, dtype=torch.int64), torch.zeros_like(x, dtype=torch.bool)
        ones, steps = torch.ones([3], dtype=torch.int32), torch.arange(0.0, 2.5, 0.5)
        return frequencies * x[0, 1], sevens, none, ones + sevens[0, :3].to(torch.int32), steps + x[0, 0]


@everyday(
    "ones_and_zeros",
    f.elementwise,
    f.mixed_dtypes,
    f.several_outputs,
    inputs=lambda make: (make.booleans(2, 3), make.integers(2, 3, low=0, high=30), make.floats(2, 3)),
    touches=(f.integers, f.booleans, f.broadcasting, f.views),
)
class OnesAndZeros(torch.nn.Module):
    """One and zero do nothing to a number but to its dtype and its size."""

    def forward(self, seen: Tensor, counts: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        return seen * 1.0, seen + 0, counts / 1, counts + torch.zeros(2, 2, 3), x * torch.ones(2, 1, 1)


@everyday(
    "joined_columns",
    f.views,
    f.mixed_dtypes,
    f.several_outputs,
    inputs=lambda make: (make.integers(2, 3, low=0, high=30), make.floats(2, 3), make.booleans(2, 1)),
    touches=(f.integers, f.booleans),
)
class JoinedColumns(torch.nn.Module):
    """What is joined has the dtype that holds all, whichever comes first."""

    def forward(self, counts: Tensor, x: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        return torch.cat([counts, x], 1), torch.cat([seen, counts], 1)


@everyday(
    "bit_fields",
    f.elementwise,
    f.integers,
    f.several_outputs,
    inputs=lambda make: (torch.tensor([123456789, -77, 5, 40001, -1]) + make.integers(1, low=0),),
)
class BitFields(torch.nn.Module):
    """Bits of numbers, which are no truths; those of negative numbers are shifted with their sign. And what is left of
    a division of numbers that no float holds."""

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        mixed = ids ^ (ids >> 7)
        return torch.fmod(mixed * 265443576901 + 12345, 1009), ids & 13, (ids << 2) | 1, ids >> 3


@everyday(
    "timestamps",
    f.elementwise,
    f.float64,
    f.several_outputs,
    inputs=lambda make: (make.doubles(2, 5) * 500.0 + 1.7e9, make.integers(5, low=0, high=500) + 1_764_000_000),
    touches=(f.reductions, f.mixed_dtypes, f.integers, f.broadcasting, f.views),
)
class Timestamps(torch.nn.Module):
    """Seconds since an epoch need more bits than a float of 32 has, though the result is one, or they were integers."""

    def forward(self, seconds: Tensor, whole: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        elapsed = (seconds - seconds[:, :1]).to(torch.float32)
        centred = (seconds * 2.0 - seconds.mean(1, keepdim=True) * 2.0).to(torch.float32)
        moments = whole.to(torch.float64)
        return elapsed, centred, (moments - moments[:1]).to(torch.float32)


@everyday(
    "counts_and_measures",
    f.elementwise,
    f.mixed_dtypes,
    f.several_outputs,
    inputs=lambda make: (make.integers(2, 3, low=0, high=9), make.floats(2, 3)),
    touches=(f.integers, f.booleans, f.views),
)
class CountsAndMeasures(torch.nn.Module):
    """Whole numbers that meet floats become floats, whatever they meet in, and whichever comes first."""

    def forward(
        self, counts: Tensor, x: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        chosen, largest = torch.where(x > 0.0, counts, x), torch.maximum(counts, x)
        bound = counts.clamp(min=0.5)
        return counts**0.5, 2.0**-counts, chosen, largest, counts * 1.0, bound, torch.ceil(counts / 4), counts + 0.0


@everyday(
    "ternary_weights",
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.floats(3, 4) * make.booleans(3, 4),),
    touches=(f.mixed_dtypes, f.booleans, f.reductions, f.zero_dim),
)
class TernaryWeights(torch.nn.Module):
    """Zero has no sign; and of truths, which numbers become and which become numbers, there are two."""

    def forward(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return torch.sign(weight) * weight.abs().mean(), weight.to(torch.bool).to(torch.float32)


@everyday(
    "quarters_of_hours",
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.integers(4, low=0, high=90), make.floats(2, 4), make.floats(2, 4).clamp(min=0.0)),
    touches=(f.integers, f.mixed_dtypes),
)
class QuartersOfHours(torch.nn.Module):
    """What is divided, rounded and multiplied again is not what it was; logarithms have a base, and something added."""

    def forward(
        self, minutes: Tensor, x: Tensor, power: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        quarters = torch.div(minutes, 15, rounding_mode="floor") * 15
        fake, floored = torch.round(x / 0.25) * 0.25, torch.floor(x * 2.0) * 0.5
        decibels, bits = torch.log10(power.clamp(min=1e-5)), torch.log2(power + 1.0)
        return quarters, fake, floored, decibels, bits, torch.log(power + 1e-3)


@everyday(
    "limits_that_cross",
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 3), torch.tensor([-0.5, 0.8, 0.0]), torch.tensor([0.5, 0.2, 0.0])),
    touches=(f.broadcasting,),
)
class LimitsThatCross(torch.nn.Module):
    """Where the lower limit is above the upper one, the order in which they are applied is seen."""

    def forward(self, x: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
        return torch.clamp(x, low, high), torch.maximum(torch.minimum(x, high), low)


@everyday(
    "silences",
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 4).clamp(min=0.0), make.integers(2, 4, low=-9000, high=9000)),
    touches=(f.integers, f.mixed_dtypes, f.reductions, f.broadcasting),
)
class Silences(torch.nn.Module):
    """Numbers with many digits behind the point, or with none but far behind it, are what they are."""

    def forward(self, power: Tensor, samples: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return torch.log(power + 1e-10), samples * 3.0517578125e-05, power * 1.4426950408889634 - 0.3333333333333333
