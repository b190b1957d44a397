"""Models for torch.compile: three operators or more, since PyTorch runs lone ones itself, and arguments that cannot be
swapped. The samples of a model have the same shapes, so that one lowering serves them all."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

from conformance import features as f
from conformance.cases._case import register_case
from conformance.cases._samples import Maker

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
        return torch.relu(x @ y) - (x.sum() * y[0])


@case("reductions", f.reductions, samples=lambda make: {"forward": [(make.floats(3, 7),), (make.floats(3, 7),)]})
class Reductions(torch.nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        largest, where = x.max(dim=1)
        return x.sum(dim=0), x.mean() - largest.sum(), where, x.var(dim=-1, keepdim=True)


@case("views", f.views, samples=lambda make: {"forward": [(make.floats(4, 6),), (make.floats(4, 6),)]})
class Views(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        left, right = x.chunk(2, dim=1)
        return torch.cat([right * 2, left.flip(0)], dim=1).reshape(-1, x.size(0)).t()[:, 1:] + 1.0


@case("strided_result", f.views, samples=lambda make: {"forward": [(make.floats(4, 6),), (make.floats(4, 6),)]})
class StridedResult(torch.nn.Module):
    """Results that eager PyTorch does not lay out contiguously."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return (x * 2 - 1).t(), torch.relu(x.t() - 1)


@case(
    "softmax",
    f.reductions,
    f.matmul,
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
    f.integers,
    samples=lambda make: {
        "forward": [tuple(make.integers(6, low=low, high=256, dtype=torch.uint8) for low in (128, 200)) for _ in "ab"]
    },
)
class WrapAround(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return (x + y) * 3 - y


@case(
    "booleans",
    f.booleans,
    samples=lambda make: {"forward": [(make.floats(6), make.booleans(6)) for _ in "ab"]},
)
class Booleans(torch.nn.Module):
    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        positive = (x > 0) & mask
        return positive ^ (x < -1), torch.where(mask, x, -x)


@case(
    "non_finite",
    f.non_finite,
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
    f.integers,
    samples=lambda make: {
        "forward": [(make.floats(3, 2), make.integers(3, 2), make.integers(2, dtype=torch.int32)) for _ in "ab"]
    },
)
class MixedDtypes(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        return x * y - z, (y - z) * 2


@case("several_outputs", f.several_outputs, samples=pairs(2, 3))
class SeveralOutputs(torch.nn.Module):
    """In another order than they are computed in, one of them twice."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        first, second, third = x - y, (x * 2).sum(0), torch.relu(y)
        return third, first, second, first * 3


@case("single_tuple", f.single_tuple, samples=pairs(2, 3))
class SingleTuple(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor]:
        return (mixed(x, y),)


@case("dictionary", f.nested_values, samples=pairs(2, 3))
class Dictionary(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> dict[str, Any]:
        return {"second": mixed(y, x), "first": [mixed(x, y), (x * 3,)], "none": None}


@case(
    "scalars",
    f.scalars,
    samples=lambda make: {"forward": [(make.floats(3), 3, 0.5, True), (make.floats(3), 3, 0.5, True)]},
)
class Scalars(torch.nn.Module):
    def forward(self, x: Tensor, count: int, factor: float, flag: bool) -> tuple[Tensor, int]:
        scaled = torch.relu(x * factor - count)
        return (scaled - x if flag else scaled + x), count + 1


@case("constants", f.elementwise, samples=pairs(3))
class Constants(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.tensor([1.0, -2.0, 3.0]) * x - torch.arange(3) * y + torch.ones(3)


@case("parameters", f.parameters, f.matmul, samples=pairs(2, 4))
class Parameters(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4, 4), requires_grad=False)
        self.register_buffer("offset", torch.randn(4))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.relu(x @ self.weight) - y * self.offset


@case(
    "network",
    f.parameters,
    f.submodules,
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


@case("in_place", f.in_place, samples=pairs(3))
class InPlace(torch.nn.Module):
    """On what is its own."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        z = x - y
        z.mul_(2)[1:] += 1
        return z - y.clone().relu_()


@case("writes_input", f.input_mutation, samples=pairs(3))
class WritesInput(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x.sub_(y).mul_(2)
        return x * 3 - y


@case("writes_slice", f.input_mutation, f.views, samples=pairs(4, 3))
class WritesSlice(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x[1:3, ::2] = y[:2, 1:] - 1
        return torch.relu(x) - y.sum()


@case("writes_buffer", f.input_mutation, f.mutable_state, samples=pairs(3))
class WritesBuffer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        self.total.add_(x - y)
        return self.total * 2 - torch.relu(y)


@case("returns_views", f.views, samples=pairs(4, 3))
class ReturnsViews(torch.nn.Module):
    """Of an argument, of one another, and an argument itself."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        z = torch.relu(x - y) * 2
        return x[1:], z, z.t(), y


@case("graph_break", samples=pairs(3))
class GraphBreak(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        z = torch.relu(x - y) * 2
        torch._dynamo.graph_break()
        return torch.tanh(z) - y / 2 * x


@case(
    "branch_on_data",
    f.control_flow,
    samples=lambda make: {"forward": [(make.positive(3), make.floats(3)), (-make.positive(3), make.floats(3))]},
)
class BranchOnData(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        z = x * 2 - y + y
        if z.sum() > 0:
            return torch.relu(y) - z * 2
        return z - y * 3


@case(
    "cond",
    f.control_flow,
    samples=lambda make: {"forward": [(make.positive(3), make.floats(3)), (-make.positive(3), make.floats(3))]},
)
class Cond(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        taken = torch.cond(x.sum() > 0, lambda a, b: torch.relu(b) - a * 2, lambda a, b: a - b * 3, (x, y))
        return taken * 2 - y


@case("loop", f.loops, samples=lambda make: {"forward": [(make.floats(3), make.floats(3), 3) for _ in "ab"]})
class Loop(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor, steps: int) -> Tensor:
        for step in range(steps):
            x = torch.tanh(x - y) * (step + 1)
        return x - y


@case(
    "lookup",
    f.integers,
    samples=lambda make: {"forward": [(make.floats(5, 3), make.integers(4, low=-5, high=5)) for _ in "ab"]},
)
class Lookup(torch.nn.Module):
    """Indices that count from the end as well; those beyond are errors."""

    def forward(self, table: Tensor, where: Tensor) -> Tensor:
        return torch.relu(table * 2)[where] - table[0]


def _rows_and_columns(make: Maker) -> dict[str, list[tuple[Any, ...]]]:
    """The same model at several sizes; the first two are lowered for first."""
    return {"forward": [(make.floats(size, 4), make.floats(size, 4)) for size in (6, 7, 3, 11, 5, 16, 2, 9)]}


@case("sizes", samples=_rows_and_columns)
class Sizes(torch.nn.Module):
    """What it computes depends on the size, not only how often."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.relu(x - y) * x.size(0) - y.sum(0)


@functools.cache
def twisted() -> Any:
    """An operator that no backend has heard of, whose backward asks for the size. Defined where a model needs it."""

    @torch.library.custom_op("conformance::twisted", mutates_args=())
    def operator(x: Tensor) -> Tensor:
        return x * 3 - 1

    def backward(context: Any, gradient: Tensor) -> Tensor:
        return gradient * 3 if gradient.size(0) > 8 else gradient * 3.0 + 0.0 * gradient.size(0) + 1

    operator.register_fake(torch.empty_like)
    operator.register_autograd(backward)
    return operator


@case("custom_operator", f.custom_operators, samples=pairs(3))
class CustomOperator(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.operator = twisted()

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.relu(self.operator(x * 2)) - y


@case(
    "sized_backward",
    f.custom_operators,
    f.training,
    samples=lambda make: {"forward": [(make.floats(size, 4), make.floats(size, 4)) for size in (12, 15, 5, 9)]},
)
class SizedBackward(CustomOperator):
    """A large size has another backward than a small one, which only the backward itself asks about."""


@case(
    "nonzero",
    f.unbacked_sizes,
    samples=lambda make: {"forward": [(make.floats(8) + shift, make.floats(8)) for shift in (0.0, 1.5, -1.5)]},
)
class Nonzero(torch.nn.Module):
    """A different number of elements in each sample."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.relu(y)[torch.nonzero(x > 0)] * 2 - 1
