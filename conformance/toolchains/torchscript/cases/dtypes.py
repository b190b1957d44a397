"""Dtypes: each where it differs from float32."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.api import features as f
from conformance.api.maker import Maker
from conformance.toolchains.torchscript.cases import case


@case(
    "float64",
    f.float64,
    samples=lambda make: {
        "forward": [
            (make.doubles(3, 4) + 2**30, make.doubles(3, 4) + 2**30),
            (make.doubles(5), make.doubles(5) * 1e-9),
        ]
    },
)
class Float64(torch.nn.Module):
    """The first sample cancels: what float32 drops is then most of the result."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x - y


@case(
    "half_precision",
    f.half_precision,
    samples=lambda make: {
        "forward": [
            (make.floats(3, 4, dtype=torch.float16), make.floats(3, 4, dtype=torch.float16)),
            (make.floats(5, dtype=torch.bfloat16), make.floats(5, dtype=torch.bfloat16)),
        ]
    },
)
class HalfPrecision(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x - y


@case(
    "integers",
    f.integers,
    samples=lambda make: {
        "forward": [
            (make.integers(4) + 2**40, make.integers(4)),
            (make.integers(3, 2, dtype=torch.int32), make.integers(3, 2, dtype=torch.int32)),
            (torch.tensor([3, 250, 0], dtype=torch.uint8), torch.tensor([5, 20, 1], dtype=torch.uint8)),
            (make.integers(5) + 2**60, make.integers(5) - 2**61),
            (torch.tensor([-128, 127, 5], dtype=torch.int8), torch.tensor([1, -1, 7], dtype=torch.int8)),
        ]
    },
)
class Integers(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x - y


@case(
    "booleans",
    f.booleans,
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(6), make.booleans(6)) for _ in range(2)]},
)
class Booleans(torch.nn.Module):
    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        positive = x > 0
        return torch.logical_and(positive, mask), torch.logical_xor(positive, mask)


@case(
    "complex_numbers",
    f.complex_numbers,
    samples=lambda make: {"forward": [(make.complex(4), make.complex(4)), (make.complex(2, 2), make.complex(2, 2))]},
)
class ComplexNumbers(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x - y


@case(
    "mixed_dtypes",
    f.mixed_dtypes,
    samples=lambda make: {
        "forward": [
            (make.floats(3, 2), make.integers(3, 2)),
            (make.integers(4, dtype=torch.int32), make.integers(4)),
            (make.floats(3, 2), make.doubles(3, 2)),
            (make.integers(4, low=0, high=200, dtype=torch.uint8), make.integers(4, dtype=torch.int8)),
        ]
    },
    touches=(f.integers,),
)
class MixedDtypes(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x - y


@case(
    "far_places",
    f.half_precision,
    f.reductions,
    f.several_outputs,
    f.scalars,
    samples=lambda make: {"forward": [(_with_peaks(make, torch.half),), (_with_peaks(make, torch.bfloat16),)]},
    touches=(f.integers,),
)
class FarPlaces(torch.nn.Module):
    """Places of the largest, which are whole numbers, and larger than those that the dtype of the values has."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return x.argmax(1), torch.topk(x, 2, dim=1)[1], x.max(1)[1]


def _with_peaks(make: Maker, dtype: torch.dtype) -> Tensor:
    """Rows of numbers below one, but for two that are larger."""
    rows = make.positive(2, 4000) - 0.5
    for row, (largest, second) in zip(rows, ((3579, 2051), (2467, 3993)), strict=True):
        row[largest], row[second] = 5.0, 3.0
    return rows.to(dtype)
