"""Models for torch.compile: three operators or more, since PyTorch runs lone ones itself, and arguments that cannot be
swapped. The samples of a model have the same shapes, so that one lowering serves them all.

A model needs the features that a backend sees in its graphs. What Dynamo inlines, unrolls, specialises or breaks a
graph at, such as submodules, loops, numbers and branches on data, no backend sees.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

from conformance.api import features as f
from conformance.api.case import register_case

case = functools.partial(register_case, toolchain="dynamo")


def pairs(*shape: int, dtype: torch.dtype = torch.float32) -> Any:
    """Three samples of two tensors of that shape."""
    return lambda make: {
        "forward": [(make.floats(*shape, dtype=dtype), make.floats(*shape, dtype=dtype)) for _ in "abc"]
    }


def mixed(x: Tensor, y: Tensor) -> Tensor:
    """Four operators in which x and y have different parts."""
    return torch.relu(x - y) * 2 - y / (1 + x * x)


class Mixed(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return mixed(x, y)


case("chain", samples=pairs(3, 4))(Mixed)
case("zero_dim", f.zero_dim, samples=pairs())(Mixed)
case("size_one", samples=pairs(1, 4, 1))(Mixed)
case("empty", f.empty, samples=pairs(2, 0, 3))(Mixed)
case("float64", f.float64, samples=lambda make: {"forward": [(make.doubles(5), make.doubles(5)) for _ in "ab"]})(Mixed)
case(
    "large",
    f.large,
    samples=lambda make: {"forward": [(make.floats(300, 1001), make.floats(300, 1001)) for _ in "ab"]},
)(Mixed)


@case(
    "complex_numbers",
    f.complex_numbers,
    samples=lambda make: {"forward": [(make.complex(4), make.complex(4)) for _ in "ab"]},
)
class ComplexNumbers(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return (x - y) * 2 - y * x


@case(
    "odd_strides",
    f.non_contiguous,
    samples=lambda make: {
        "forward": [
            (make.floats(5, 3).t(), make.floats(6, 10)[::2, 1::2], make.floats(1, 5).expand(3, 5)) for _ in "ab"
        ]
    },
)
class OddStrides(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        return mixed(x, y) - z * 3


@case(
    "broadcast",
    f.broadcasting,
    samples=lambda make: {"forward": [(make.floats(4, 1, 3), make.floats(2, 1)) for _ in "ab"]},
)
class Broadcast(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return mixed(x, y)


@case("matmul", f.matmul, samples=lambda make: {"forward": [(make.floats(3, 5), make.floats(5, 4)) for _ in "ab"]})
class Matmul(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        product = x @ y
        return torch.relu(product) * 2 - product / (1 + product * product)


@case(
    "reductions",
    f.reductions,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(3, 7),), (make.floats(3, 7),)]},
    touches=(f.zero_dim, f.integers),
)
class Reductions(torch.nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        largest, where = x.max(dim=1)
        return x.sum(dim=0), x.mean() - largest.sum(), where, x.var(dim=-1, keepdim=True)


@case("views", f.views, samples=lambda make: {"forward": [(make.floats(4, 6),), (make.floats(4, 6),)]})
class Views(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        left, right = x.chunk(2, dim=1)
        return torch.cat([right * 2, left.flip(0)], dim=1).reshape(-1, x.size(0)).t()[:, 1:] + 1.0


@case(
    "strided_result",
    f.views,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(4, 6),), (make.floats(4, 6),)]},
)
class StridedResult(torch.nn.Module):
    """Results that eager PyTorch does not lay out contiguously."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return (x * 2 - 1).t(), torch.relu(x.t() - 1)


@case(
    "softmax",
    f.reductions,
    f.matmul,
    f.views,
    samples=lambda make: {"forward": [tuple(make.floats(2, 4, 8) for _ in "qkv")] * 2},
)
class Attention(torch.nn.Module):
    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return torch.softmax(query @ key.transpose(-1, -2) / 8**0.5, dim=-1) @ value


@case(
    "bfloat16",
    f.half_precision,
    samples=lambda make: {"forward": [tuple(make.positive(4).to(torch.bfloat16) for _ in "xy") for _ in "ab"]},
)
class BFloat16(torch.nn.Module):
    """No cancellation: a compiler may keep more bits of what is in between than bfloat16 has."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.relu(x * 3) / (y + 1)


@case(
    "beyond_32_bits",
    f.integers,
    samples=lambda make: {"forward": [(make.integers(4) + 2**40, make.integers(4, low=1, high=9)) for _ in "ab"]},
)
class BeyondThirtyTwoBits(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return (x - y) * 3 + x // y


@case(
    "beyond_float32",
    f.float64,
    samples=lambda make: {"forward": [(make.doubles(3) + 2**30, make.doubles(3) + 2**30) for _ in "ab"]},
)
class BeyondFloat32(torch.nn.Module):
    """It cancels: what float32 drops is then most of the result."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return (x - y) * 2 - (y - x)


@case(
    "wrap_around",
    samples=lambda make: {
        "forward": [tuple(make.integers(6, low=low, high=256, dtype=torch.uint8) for low in (128, 200)) for _ in "ab"]
    },
    touches=(f.integers,),
)
class WrapAround(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return (x + y) * 3 - y


@case(
    "booleans",
    f.booleans,
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(6), make.booleans(6)) for _ in "ab"]},
)
class Booleans(torch.nn.Module):
    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        positive = (x > 0) & mask
        return positive ^ (x < -1), torch.where(mask, x, -x)


@case(
    "non_finite",
    f.non_finite,
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {
        "forward": [
            (
                torch.tensor([float("nan"), float("inf"), float("-inf"), -0.0, 1.0]).roll(shift),
                torch.tensor([1.0, float("inf"), 2.0, 0.0, float("nan")]),
            )
            for shift in (0, 2)
        ]
    },
)
class NonFinite(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return torch.relu(x - y) * 2, torch.maximum(x, y) - 1


@case(
    "mixed_dtypes",
    f.mixed_dtypes,
    f.several_outputs,
    f.broadcasting,
    samples=lambda make: {
        "forward": [(make.floats(3, 2), make.integers(3, 2), make.integers(2, dtype=torch.int32)) for _ in "ab"]
    },
    touches=(f.integers,),
)
class MixedDtypes(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        return x * y - z, (y - z) * 2


@case("several_outputs", f.several_outputs, samples=pairs(2, 3))
class SeveralOutputs(torch.nn.Module):
    """In another order than they are computed in, one of them twice."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        first, second, third = x - y, x * 2 / (1 + y * y), torch.relu(y)
        return third, first, second, first * 3


@case("single_tuple", samples=pairs(2, 3))
class SingleTuple(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor]:
        return (mixed(x, y),)


@case("dictionary", f.several_outputs, samples=pairs(2, 3))
class Dictionary(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> dict[str, Any]:
        return {"second": mixed(y, x), "first": [mixed(x, y), (x * 3,)], "none": None}


@case(
    "scalars",
    samples=lambda make: {"forward": [(make.floats(3), 3, 0.5, True), (make.floats(3), 3, 0.5, True)]},
)
class Scalars(torch.nn.Module):
    def forward(self, x: Tensor, count: int, factor: float, flag: bool) -> tuple[Tensor, int]:
        scaled = torch.relu(x * factor - count)
        return (scaled - x if flag else scaled + x), count + 1


@case("constants", f.elementwise, samples=pairs(3))
class Constants(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.tanh(torch.tensor([1.0, -2.0, 3.0]) * x) - torch.arange(3.0) * y + torch.ones(3)


@case("parameters", f.parameters, f.matmul, samples=pairs(2, 4))
class Parameters(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4, 4), requires_grad=False)
        self.register_buffer("offset", torch.randn(2, 4))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.relu(x @ self.weight) - y * self.offset


@case(
    "network",
    f.parameters,
    f.convolution,
    f.matmul,
    f.views,
    samples=lambda make: {"forward": [(make.floats(2, 3, 8, 8),), (make.floats(2, 3, 8, 8),)]},
)
class Network(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2)
        )
        self.head = torch.nn.Linear(64, 5)
        self.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x).flatten(1))
