"""One addition, and single operators of every kind."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.api import features as f
from conformance.toolchains.executorch.cases import case, twice


@case("add", samples=lambda make: {"forward": [(make.floats(2, 3), make.floats(2, 3)) for _ in range(3)]})
class Add(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


@case("add_sub", samples=twice(lambda make: (make.floats(4), make.floats(4))))
class AddSub(torch.nn.Module):
    """Not commutative: swapped arguments show."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return (x - y) + x


@case("elementwise", f.elementwise, samples=twice(lambda make: (make.floats(3, 5), make.positive(3, 5))))
class Elementwise(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        z = torch.relu(x * y) / y - torch.sigmoid(x)
        return torch.where(z > 0.25, torch.exp(z), torch.tanh(z)).clamp(-2.0, 2.0)


@case("broadcast", f.broadcasting, samples=twice(lambda make: (make.floats(4, 1, 3), make.floats(2, 1))))
class Broadcast(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x - y


@case("reductions", f.reductions, f.elementwise, samples=twice(lambda make: (make.floats(3, 4, 5),)))
class Reductions(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.sum(dim=(1, 2)) + x.mean(dim=-1)[:, 0] * torch.amax(x, dim=(1, 2))


@case("views", f.views, samples=twice(lambda make: (make.floats(2, 3, 4), make.floats(2, 12))))
class Views(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        flat = torch.cat((x.reshape(2, 12), y), dim=0)
        return flat.transpose(0, 1)[2:9, ::2].unsqueeze(0).expand(2, 7, 2) + x.permute(0, 2, 1)[:, :1, :2]


@case("indexing", f.views, samples=twice(lambda make: (make.floats(5, 3), make.integers(4, low=0, high=5))))
class Indexing(torch.nn.Module):
    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        return x.index_select(0, index) - x[0]


@case("zero_dim", f.zero_dim, samples=twice(lambda make: (make.floats(), make.floats())))
class ZeroDim(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x - y


@case("empty", f.empty, samples=twice(lambda make: (make.floats(0, 3), make.floats(0, 3))))
class Empty(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


@case(
    "non_finite",
    f.non_finite,
    f.elementwise,
    samples=lambda make: {
        "forward": [
            (torch.tensor([float("inf"), float("-inf"), float("nan"), -0.0, 1.0]), torch.tensor(values))
            for values in ([1.0, 1.0, 1.0, 0.0, float("inf")], [float("-inf"), 2.0, 0.0, -0.0, float("nan")])
        ]
    },
)
class NonFinite(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return x + y, torch.maximum(x, y)


@case("large", f.large, samples=twice(lambda make: (make.floats(300, 401), make.floats(300, 401))))
class Large(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x - y


@case("left_over", f.elementwise, f.reductions, samples=twice(lambda make: (make.floats(4, 3), make.floats(4, 3))))
class LeftOver(torch.nn.Module):
    """Delegates know cumsum seldom: then it is left to ExecuTorch's kernel, between two parts that are theirs."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.cumsum(x + y, dim=0) - y


@case("sandwich", f.elementwise, f.reductions, f.parameters, samples=twice(lambda make: (make.floats(4, 3),)))
class Sandwich(torch.nn.Module):
    """Several parts of one kind with what delegates seldom know between them; each is used again later. The first two
    differ in their weights alone."""

    near: Tensor
    far: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("near", torch.randn(3))
        self.register_buffer("far", torch.randn(3))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        first = x + self.near
        second = torch.cumsum(first, dim=0) + self.far
        third = torch.cumsum(second, dim=1) + first
        return third - second, first + third


@case("only_left_over", f.reductions, samples=twice(lambda make: (make.floats(4, 3),)))
class OnlyLeftOver(torch.nn.Module):
    """Nothing but what delegates seldom know."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cumsum(x, dim=0)


@case(
    "equal_numbers",
    f.elementwise,
    f.several_outputs,
    f.integers,
    f.mixed_dtypes,
    samples=twice(lambda make: (make.integers(5),)),
)
class EqualNumbers(torch.nn.Module):
    """``2 == 2.0``, and yet one gives integers and the other floats, also of what is only a step on the way."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return x * 2, x * 2.0, (x + 1) // 2, (x + 1.0) // 2


@case(
    "rows_from_the_end",
    f.views,
    f.integers,
    f.several_outputs,
    samples=twice(lambda make: (make.floats(5, 3), make.integers(4, low=-5, high=5))),
)
class RowsFromTheEnd(torch.nn.Module):
    """Numbers of rows that are below zero count from the last one."""

    def forward(self, rows: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        return rows[places] * 2.0, rows[:, places[:2].clamp(-3, 2)]


@case("enlarged", f.views, f.convolution, f.several_outputs, samples=twice(lambda make: (make.floats(1, 2, 5, 7),)))
class Enlarged(torch.nn.Module):
    """Pictures by one and a half, of sizes that this does not divide: where samples lie is told by the factor."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        smooth = torch.nn.functional.interpolate(x, scale_factor=1.5, mode="bilinear", align_corners=False)
        return smooth, torch.nn.functional.interpolate(x, scale_factor=1.5, mode="nearest")
