"""Formulas as models write them out, each with what a pass over its graph takes for granted."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.models import everyday


@everyday(
    "gated_halves",
    f.elementwise,
    f.views,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 3, 6),),
)
class GatedHalves(torch.nn.Module):
    """Of two halves the second gates the first, the first the second, or each has an activation."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        value, gate = x.chunk(2, dim=-1)
        return value * functional.gelu(gate), functional.silu(value) * gate, torch.tanh(value) * torch.sigmoid(gate)


@everyday(
    "pairwise_distances",
    f.matmul,
    f.elementwise,
    f.reductions,
    f.views,
    f.broadcasting,
    f.several_outputs,
    inputs=lambda make: (make.floats(5, 3), make.floats(5, 3)),
)
class PairwiseDistances(torch.nn.Module):
    """Rows against as many rows: a column that is added to their products has as many elements as a row."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        column, row = (x * x).sum(1, keepdim=True), (y * y).sum(1)
        return column + row - 2.0 * (x @ y.t()), torch.matmul(x, y.t()) + column


@everyday(
    "query_for_each",
    f.views,
    f.broadcasting,
    f.parameters,
    f.several_outputs,
    inputs=lambda make: (make.floats(3, 2, 4),),
)
class QueryForEach(torch.nn.Module):
    """A view alone says how many there are: what is added to it has none of them."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.place = torch.nn.Parameter(torch.randn(1, 2, 4)), torch.nn.Parameter(torch.randn(2, 4))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        queries = self.query.expand(x.size(0), -1, -1)
        return queries + self.place, (queries - self.place) + x


@everyday(
    "path_around",
    f.elementwise,
    f.in_place,
    inputs=lambda make: (make.floats(3, 4),),
)
class PathAround(torch.nn.Module):
    """What goes around an activation was computed before that wrote to its operand, and is used after it."""

    def forward(self, x: Tensor) -> Tensor:
        entered = x * 2.0 - 0.5
        around = entered * 3.0
        return functional.relu(entered, inplace=True) - around


@everyday(
    "rows_that_see_nothing",
    f.matmul,
    f.booleans,
    f.reductions,
    inputs=lambda make: (make.floats(2, 3, 4), torch.tensor([[True, True, False], [False, False, False]])),
    touches=(f.elementwise, f.views, f.broadcasting),
)
class RowsThatSeeNothing(torch.nn.Module):
    """Attention written out: where all scores are the same, however small, each value counts as much as the others."""

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        scores = torch.matmul(x, x.transpose(-2, -1)) / 2.0
        scores = scores.masked_fill(~seen[:, None], -1e9)
        return torch.matmul(torch.softmax(scores, dim=-1), x)


@everyday(
    "norms_of_channels",
    f.reductions,
    f.elementwise,
    f.parameters,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 4, 4, 4),),
)
class NormsOfChannels(torch.nn.Module):
    """A layer norm written out, along the channels and along the rows of pictures that have as many of each."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = torch.nn.Parameter(torch.rand(4) + 0.5), torch.nn.Parameter(torch.randn(4))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        by_channel = x - x.mean(1, keepdim=True)
        by_channel = by_channel / torch.sqrt(by_channel.pow(2).mean(1, keepdim=True) + 1e-6)
        by_row = x - x.mean(-1, keepdim=True)
        by_row = by_row / torch.sqrt((by_row * by_row).mean(-1, keepdim=True) + 1e-6)
        return self.weight[:, None, None] * by_channel + self.bias[:, None, None], self.weight * by_row + self.bias


@everyday(
    "sides_from_the_end",
    f.reductions,
    f.views,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 3, 4, 5), make.floats(2, 600)),
)
class SidesFromTheEnd(torch.nn.Module):
    """Sides that are counted from the end, in any order; orders behind one another, which do not change places; and a
    mean of more than one block, of which the last is shorter."""

    def forward(self, x: Tensor, rows: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        turned = x.permute(0, 2, 3, 1).transpose(1, 3) + 1.0
        heads = x.permute(0, 2, 1, 3).permute(1, 3, 0, 2)
        means = x.mean(dim=(-2, -1))
        return means, x.sum(dim=(-1, -3)), x.amax(dim=(-1, -2)), turned, heads * 2.0, rows.mean(dim=-1)


@everyday(
    "energies",
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.floats(3, 5),),
)
class Energies(torch.nn.Module):
    """Powers of powers: what was squared has no sign any more, and its root is no longer what it was."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return (
            (x**2) ** 0.3,
            torch.sqrt(x * x) - x,
            torch.pow(torch.pow(x, 3), 2) + x.pow(2).pow(0.5),
            (x + 9.0) ** -0.5,
        )


@everyday(
    "far_apart",
    f.elementwise,
    f.reductions,
    f.several_outputs,
    inputs=lambda make: (make.floats(3, 5) * 2000.0,),
)
class FarApart(torch.nn.Module):
    """Logarithms of what would be zero, and of what would be infinite, if it was computed first."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return (
            functional.log_softmax(x, dim=-1),
            torch.logsumexp(x, dim=0),
            functional.logsigmoid(x),
            functional.softplus(-x),
        )
