"""Layers as networks join them, in the forms in which a kernel that was made for another form is wrong."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.toolchains.torchscript.cases import case


@case(
    "gated_halves",
    f.elementwise,
    f.views,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(2, 3, 6),) for _ in "ab"]},
)
class GatedHalves(torch.nn.Module):
    """Of two halves the second gates the first, the first the second, or each has an activation."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        value, gate = x.chunk(2, dim=-1)
        return value * functional.gelu(gate), functional.silu(value) * gate, torch.tanh(value) * torch.sigmoid(gate)


@case(
    "norm_ahead",
    f.convolution,
    f.elementwise,
    f.parameters,
    f.submodules,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(1, 3, 5, 4),) for _ in "ab"]},
)
class NormAhead(torch.nn.Module):
    """A norm ahead of a convolution whose padding is not normalised, with an activation in between, and without."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm2d(3)
        torch.nn.init.normal_(self.norm.bias)
        torch.nn.init.normal_(self.norm.get_buffer("running_mean"))
        self.first, self.second = torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.Conv2d(3, 2, 3, padding=1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.first(self.norm(x)), self.second(torch.relu(self.norm(x * 2)))


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
    "query_for_each",
    f.views,
    f.broadcasting,
    f.parameters,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(3, 2, 4),), (make.floats(2, 2, 4),)]},
)
class QueryForEach(torch.nn.Module):
    """A view alone says how many there are: what is added to it has none of them."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.place = torch.nn.Parameter(torch.randn(1, 2, 4)), torch.nn.Parameter(torch.randn(2, 4))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        queries = self.query.expand(x.size(0), -1, -1)
        return queries + self.place, (queries - self.place) + x


@case(
    "smallest_of_windows",
    f.convolution,
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(1, 2, 6, 4),) for _ in "ab"]},
)
class SmallestOfWindows(torch.nn.Module):
    """With a factor below zero the largest are the smallest, and what was kept is not."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        smallest = functional.max_pool2d(x * -1.0, 2) * -1.0
        return smallest, torch.relu(x * -1.0) + torch.relu(x), torch.clamp(x * -0.5, min=-0.25)


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
    "autoencoder",
    f.matmul,
    f.parameters,
    f.submodules,
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(3, 6),) for _ in "ab"]},
)
class Autoencoder(torch.nn.Module):
    """The weight of each second layer is that of the first, seen from the other side: one memory, and of the square one
    the same sizes, too."""

    def __init__(self) -> None:
        super().__init__()
        self.turn, self.narrow = torch.nn.Linear(6, 6), torch.nn.Linear(6, 4)
        self.back, self.wide = torch.nn.Linear(6, 6), torch.nn.Linear(4, 6)
        self.back.weight = torch.nn.Parameter(self.turn.weight.t())
        self.wide.weight = torch.nn.Parameter(self.narrow.weight.t())

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.back(torch.tanh(self.turn(x))), self.wide(torch.tanh(self.narrow(x)))


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
    "past_dropout",
    f.elementwise,
    f.matmul,
    f.parameters,
    f.submodules,
    samples=lambda make: {"forward": [(make.floats(3, 6),) for _ in "ab"]},
)
class PastDropout(torch.nn.Module):
    """What dropout gives back is activated, which in evaluation is what it was given, and that is added."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.dropout = torch.nn.Linear(6, 6), torch.nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        features = self.layer(x)
        return torch.relu(self.dropout(features)) + features


@case(
    "pairwise_distances",
    f.matmul,
    f.elementwise,
    f.reductions,
    f.views,
    f.broadcasting,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(5, 3), make.floats(5, 3)) for _ in "ab"]},
)
class PairwiseDistances(torch.nn.Module):
    """Rows against as many rows: a column that is added to their products has as many elements as a row."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        column, row = (x * x).sum(1, keepdim=True), (y * y).sum(1)
        return column + row - 2.0 * (x @ y.t()), torch.matmul(x, y.t()) + column


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
    "levels_of_a_pyramid",
    f.convolution,
    f.parameters,
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(1, 2, 6, 8), make.floats(1, 2, 3, 4)) for _ in "ab"]},
)
class LevelsOfAPyramid(torch.nn.Module):
    """One convolution for pictures of two sizes, and a norm for each: what is folded into a weight is not for both."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv2d(2, 3, 3, padding=1)
        norms = [torch.nn.BatchNorm2d(3), torch.nn.BatchNorm2d(3)]
        for norm in norms:
            torch.nn.init.normal_(norm.weight)
            torch.nn.init.normal_(norm.get_buffer("running_mean"))
        self.norms = torch.nn.ModuleList(norms)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return torch.relu(self.norms[0](self.convolution(x))), torch.relu(self.norms[1](self.convolution(y)))


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
