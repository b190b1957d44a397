"""Layers as networks join them, in the forms in which a kernel that was made for another form is wrong."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.toolchains.torchscript.cases import case


@case(
    "dilated",
    f.convolution,
    f.parameters,
    f.submodules,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(1, 3, 7, 8),) for _ in "ab"]},
)
class Dilated(torch.nn.Module):
    """Convolutions of one picture that differ in how far apart they look, and in no size."""

    def __init__(self) -> None:
        super().__init__()
        self.near, self.far = torch.nn.Conv2d(3, 2, 3, padding=1), torch.nn.Conv2d(3, 2, 3, padding=3, dilation=3)
        self.between = torch.nn.Conv2d(3, 2, 3, padding=2, dilation=2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.near(x), self.between(x), self.far(x)


@case(
    "both_ways",
    f.recurrent,
    f.parameters,
    f.submodules,
    f.views,
    f.scalars,
    f.control_flow,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(4, 2, 6),) for _ in "ab"]},
)
class BothWays(torch.nn.Module):
    """A sequence that is read from both ends, each of which ends at the other: the last states of both."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.LSTM(6, 3, bidirectional=True)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        _, (hidden, state) = self.layer(x)
        return torch.cat([hidden[-2], hidden[-1]], dim=1), state


@case(
    "votes",
    f.booleans,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.integers(12, low=-3, high=4),) for _ in "ab"]},
    touches=(f.integers,),
)
class Votes(torch.nn.Module):
    """Whole numbers that are compared with fractions."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return x >= 0.5, x < 2.5, x > -0.5, x <= -1.5


@case(
    "fewer_places",
    f.views,
    samples=lambda make: {"forward": [(make.floats(3, 5, 4), make.integers(2, 2, 3, low=0, high=5)) for _ in "ab"]},
    touches=(f.integers,),
)
class FewerPlaces(torch.nn.Module):
    """Looks up fewer rows, and fewer columns, than the table has."""

    def forward(self, x: Tensor, places: Tensor) -> Tensor:
        return torch.gather(x, 1, places)


@case(
    "sum_of_another_dtype",
    f.in_place,
    f.elementwise,
    f.float64,
    f.mixed_dtypes,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(3, 4), make.doubles(3, 4)) for _ in "ab"]},
)
class SumOfAnotherDtype(torch.nn.Module):
    """What is written to keeps its dtype, whatever is added to it."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        total = torch.zeros_like(x)
        total += y
        product = x - 1.0
        product.mul_(y)
        return total, product


@case(
    "brightest_first",
    f.reductions,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.integers(9, low=0, high=3, dtype=torch.uint8),) for _ in "ab"]},
    touches=(f.integers,),
)
class BrightestFirst(torch.nn.Module):
    """Bytes in order, the largest first: none has a negative, and of zeros there are some."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        places = torch.sort(x, dim=0, descending=True, stable=True)[1]
        return torch.sort(x, dim=0, descending=True)[0], places


@case(
    "view_outlives",
    f.elementwise,
    f.views,
    f.matmul,
    f.parameters,
    f.submodules,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(3, 6),) for _ in "ab"]},
)
class ViewOutlives(torch.nn.Module):
    """A view is read when what it is a view of has been used for the last time: a part of it, all of it in another
    shape, and one of several parts, as a recurrent cell has its gates."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(6, 6)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        features = self.layer(x)
        gate = features[:, :3]
        active = torch.relu(features)
        products = x - 1.0
        heads = products.view(3, 2, 3)
        weights = torch.sigmoid(products)
        gates = self.layer(x - 2.0)
        candidate = gates.chunk(3, 1)[2]
        written, kept, _ = torch.sigmoid(gates).chunk(3, 1)
        cell = written * torch.tanh(candidate) + kept
        return active[:, 3:] * torch.tanh(gate), (heads * 2.0).flatten(1) * weights, heads.sum(1), cell


@case(
    "bounded_activations",
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(4, 6) * 6.0,) for _ in "ab"]},
)
class BoundedActivations(torch.nn.Module):
    """Activations of models for small devices, on both sides of each bound."""

    def __init__(self) -> None:
        super().__init__()
        self.hardtanh = torch.nn.Hardtanh(-0.5, 2.0)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        return (
            functional.relu6(x),
            functional.hardswish(x),
            functional.hardsigmoid(x),
            self.hardtanh(x),
            functional.relu6(x + 3.0) * x / 6.0,
        )


@case(
    "best_of_few",
    f.reductions,
    f.views,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(2, size),) for size in (9, 5, 3)]},
)
class BestOfFew(torch.nn.Module):
    """The five largest, or all where there are fewer: a slice may be longer than what it is of."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        best = x.sort(-1, descending=True)[0][..., :5]
        return best, best.mean(-1)
