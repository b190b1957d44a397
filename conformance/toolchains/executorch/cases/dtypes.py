"""One model in other dtypes than float32, and bytes of which there are more than they count."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.api import features as f
from conformance.api.maker import Maker
from conformance.toolchains.executorch.cases import case, twice


class _Arithmetic(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return x + y, x * y - y


@case("float64", f.float64, f.elementwise, samples=twice(lambda make: (make.doubles(3, 4), make.doubles(3, 4))))
class Float64(_Arithmetic):
    """Bits that float32 cannot hold."""


@case(
    "float16",
    f.half_precision,
    f.elementwise,
    samples=twice(lambda make: (make.floats(3, 4, dtype=torch.float16), make.floats(3, 4, dtype=torch.float16))),
)
class Float16(_Arithmetic):
    """Half precision."""


@case(
    "bfloat16",
    f.half_precision,
    f.elementwise,
    samples=twice(lambda make: (make.floats(3, 4, dtype=torch.bfloat16), make.floats(3, 4, dtype=torch.bfloat16))),
)
class BFloat16(_Arithmetic):
    """The other half precision."""


@case(
    "int64",
    f.integers,
    f.elementwise,
    samples=twice(lambda make: (make.integers(3, 4, low=2**33, high=2**34), make.integers(3, 4))),
)
class Int64(_Arithmetic):
    """Values beyond 2**32."""


@case(
    "int32",
    f.integers,
    f.elementwise,
    samples=twice(
        lambda make: (
            make.integers(3, 4, low=2**24, high=2**26, dtype=torch.int32),
            make.integers(3, 4, dtype=torch.int32),
        )
    ),
)
class Int32(_Arithmetic):
    """Values that float32 cannot hold."""


@case("booleans", f.booleans, samples=twice(lambda make: (make.booleans(3, 4), make.floats(3, 4), make.floats(3, 4))))
class Booleans(torch.nn.Module):
    def forward(self, chosen: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return torch.where(chosen, x, y), torch.logical_and(chosen, x > y)


@case("mixed_dtypes", f.mixed_dtypes, f.integers, samples=twice(lambda make: (make.floats(3, 4), make.integers(3, 4))))
class MixedDtypes(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


def _taken(make: Maker) -> Tensor:
    """Which of 300 places are taken, as bytes: most of them."""
    return (make.integers(2, 300, low=0, high=20) > 0).to(torch.uint8)


@case(
    "long_masks",
    f.reductions,
    f.several_outputs,
    f.integers,
    f.booleans,
    f.mixed_dtypes,
    samples=twice(lambda make: (_taken(make), make.integers(9, low=2, high=4, dtype=torch.int8))),
)
class LongMasks(torch.nn.Module):
    """More places than a byte can count are numbered by what says which are taken, and factors of a byte multiplied."""

    def forward(self, taken: Tensor, factors: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        places = torch.cumsum(taken, dim=-1)
        return places - 1, torch.cumsum(taken > 0, dim=-1), taken.sum(dim=-1), torch.prod(factors, dim=0)


@case(
    "quieter",
    f.elementwise,
    f.several_outputs,
    f.integers,
    f.mixed_dtypes,
    samples=twice(lambda make: (make.integers(3, 6, low=-30, high=30, dtype=torch.int16),)),
)
class Quieter(torch.nn.Module):
    """Whole numbers, half of them below zero, are divided by a power of two, in each way: a shift is one of them."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        towards_zero = torch.div(x, 4, rounding_mode="trunc")
        return towards_zero, torch.div(x, 4, rounding_mode="floor"), torch.fmod(x, 4), x / 4


@case(
    "smallest_first",
    f.reductions,
    f.several_outputs,
    f.integers,
    f.mixed_dtypes,
    f.non_finite,
    samples=twice(
        lambda make: (
            torch.tensor([7, 0, 200, 3], dtype=torch.uint8),
            torch.tensor([5, -128, 127, 0], dtype=torch.int8),
            torch.tensor([2.0, float("nan"), -1.0, float("inf"), 0.5]),
        )
    ),
)
class SmallestFirst(torch.nn.Module):
    """The smallest are not the largest of the negative: not of bytes, not of the least integer, and not beside NaN."""

    def forward(self, counts: Tensor, steps: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        few, places = torch.topk(counts, 2, largest=False)
        lowest, _ = torch.topk(x, 3, largest=False)
        return few, places, torch.topk(steps, 2, largest=False)[0], lowest
