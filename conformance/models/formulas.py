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


@everyday(
    "windows_of_positions",
    f.elementwise,
    f.reductions,
    f.booleans,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 5, 5), make.integers(2, low=1, high=6), make.floats(2, 5, 3)),
    touches=(f.integers, f.broadcasting, f.views, f.mixed_dtypes),
)
class WindowsOfPositions(torch.nn.Module):
    """What may be seen is told by positions, of which the last that may be is one; and means of that alone."""

    def forward(self, scores: Tensor, lengths: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        steps = torch.arange(5)
        kept = steps < lengths.unsqueeze(1)
        near = (steps.unsqueeze(1) - steps).abs() <= 1
        past = steps.unsqueeze(1) >= steps
        local = torch.softmax(scores.masked_fill(~(near & kept.unsqueeze(1)), -1e4), -1)
        counted = kept.unsqueeze(-1).to(torch.float32)
        mean = (states * counted).sum(1) / counted.sum(1).clamp(min=1e-9)
        return local, torch.softmax(scores.masked_fill(~past, -1e4), -1), mean


@everyday(
    "small_divisors",
    f.elementwise,
    f.reductions,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 4) * torch.tensor([[1.0], [3e-4]]), make.floats(3, 4) * 200.0),
    touches=(f.broadcasting,),
)
class SmallDivisors(torch.nn.Module):
    """What keeps a divisor from zero counts where that is small, and comes ahead of a root; and a softmax by hand."""

    def forward(self, x: Tensor, scores: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        scaled = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        share = x / x.abs().sum(-1, keepdim=True).clamp(min=1e-2)
        powers = torch.exp(scores - scores.amax(-1, keepdim=True))
        return torch.sqrt(x * x + 1e-3), scaled, share, powers / powers.sum(-1, keepdim=True)


@everyday(
    "pressures",
    f.reductions,
    f.several_outputs,
    inputs=lambda make: (make.floats(5, 8) * 0.7 + 1013.0,),
    touches=(f.elementwise, f.broadcasting, f.views, f.matmul),
)
class Pressures(torch.nn.Module):
    """Small differences of large numbers: their variance is no difference of squares, nor is their distance."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        apart = torch.cdist(x, x[:2], compute_mode="donot_use_mm_for_euclid_dist")
        return x.var(-1, unbiased=False), torch.std(x, dim=0), apart


@everyday(
    "normalised_pressures",
    f.reductions,
    f.parameters,
    inputs=lambda make: (make.floats(5, 8) * 0.7 + 500.0,),
    touches=(f.elementwise, f.broadcasting),
)
class NormalisedPressures(torch.nn.Module):
    """A norm of small differences of large numbers, of which only as many digits are asked for as any way to it has."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(8).requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.norm(x)) * 0.01


@everyday(
    "small_returns",
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.floats(3, 6) * 3e-6,),
)
class SmallReturns(torch.nn.Module):
    """Logarithms of one and a little, and powers less one: the little is lost where one is added."""

    def forward(self, returns: Tensor) -> tuple[Tensor, Tensor]:
        logarithms = torch.log1p(returns)
        return logarithms * 1e4, torch.expm1(logarithms * 2.0) * 1e4


@everyday(
    "forward_variables",
    f.elementwise,
    f.reductions,
    f.several_outputs,
    inputs=lambda make: (make.floats(5) - 250.0, make.floats(5, 2)),
    touches=(f.views,),
)
class ForwardVariables(torch.nn.Module):
    """Sums of probabilities that are too small for any number but their logarithms."""

    def forward(self, alpha: Tensor, arcs: Tensor) -> tuple[Tensor, Tensor]:
        stays, moves = alpha + arcs[:, 0], torch.roll(alpha, 1, 0) + arcs[:, 1]
        return torch.logaddexp(stays, moves), torch.logcumsumexp(alpha, 0)


@everyday(
    "squares_of_products",
    f.matmul,
    f.parameters,
    f.several_outputs,
    inputs=lambda make: (make.floats(4, 4),),
    touches=(f.elementwise, f.broadcasting, f.reductions, f.views),
)
class SquaresOfProducts(torch.nn.Module):
    """Products of squares: with the first turned, turned themselves, and with a factor for each of their columns."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = torch.nn.Parameter(torch.randn(4, 4)), torch.nn.Parameter(torch.randn(4, 4) * 2.0)
        self.gain = torch.nn.Parameter(torch.tensor([0.2, 1.0, 3.0, 2.0]))
        self.requires_grad_(False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        scores = torch.softmax((x @ self.weight) * 0.25 + self.bias, -1)
        return x.t() @ x, (x @ self.weight).t() + x, (x @ self.weight) * self.gain, scores


@everyday(
    "there_and_back_again",
    f.views,
    f.reductions,
    f.parameters,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 5), make.floats(2, 12), make.floats(2, 4, 4, 4)),
    touches=(f.elementwise, f.broadcasting),
)
class ThereAndBackAgain(torch.nn.Module):
    """What is turned, split into groups or put last, and back: something was done meanwhile that saw it that way."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(4).requires_grad_(False)

    def forward(self, rewards: Tensor, logits: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        to_come = rewards.flip(1).cumsum(1).flip(1)
        groups = torch.softmax(logits.view(2, 3, 4), -1).view(2, 12)
        among = torch.softmax(logits.view(2, 3, 4).transpose(1, 2), 1)
        return to_come, groups, among, self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2) + 1.0


@everyday(
    "excited_channels",
    f.reductions,
    f.elementwise,
    f.convolution,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 3, 4, 4),),
    touches=(f.broadcasting,),
)
class ExcitedChannels(torch.nn.Module):
    """What is averaged and then activated is not what is activated and then averaged; nor is the largest of negatives
    the negative of the largest."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        gate = torch.sigmoid(x.mean([2, 3], keepdim=True))
        level = torch.relu(functional.avg_pool2d(x, 2))
        return x * gate, level, torch.relu(x) + 0.5, x.amax(1) * -2.0, torch.tanh(x.mean(1))


@everyday(
    "guarded_divisions",
    f.elementwise,
    f.booleans,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 4), torch.tensor([[0.0, 1.0, 4.0, 0.0], [2.0, 0.0, 0.0, 8.0]])),
    touches=(f.non_finite, f.reductions),
)
class GuardedDivisions(torch.nn.Module):
    """What is infinite or no number where it is not chosen leaves nothing behind, which a factor of zero does."""

    def forward(self, x: Tensor, counts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        ratio = torch.where(counts > 0.0, x / counts, torch.zeros_like(x))
        logarithm = torch.log(counts).masked_fill(counts == 0.0, 0.0)
        return ratio, logarithm, torch.where(counts > 0.0, 1.0 - torch.log(counts), counts).sum(-1)
