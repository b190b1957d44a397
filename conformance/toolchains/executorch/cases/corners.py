"""What kernels get wrong at their edges, and weights that are not laid out as most are."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.toolchains.executorch.cases import case, twice


@case(
    "divisions",
    f.elementwise,
    f.integers,
    samples=twice(lambda make: (make.floats(4, 3), make.positive(4, 3), make.integers(4, 3, low=-9, high=9))),
)
class Divisions(torch.nn.Module):
    """Quotients of negative numbers, which are rounded down, or towards zero, as the model says."""

    def forward(self, x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        down = torch.div(x * 7, y, rounding_mode="floor")
        towards_zero = torch.div(x * 7, y, rounding_mode="trunc")
        return down, towards_zero, torch.div(z, 4, rounding_mode="floor"), torch.remainder(x * 7, y)


@case("outer_difference", f.broadcasting, f.views, samples=twice(lambda make: (make.floats(6),)))
class OuterDifference(torch.nn.Module):
    """Two operands with the same number of elements, and a result with many more."""

    def forward(self, x: Tensor) -> Tensor:
        return x[:, None] - x[None, :]


@case("pooled_borders", f.convolution, samples=twice(lambda make: (make.floats(1, 2, 6, 6),)))
class PooledBorders(torch.nn.Module):
    """Windows of negative numbers at a border: what pads them is less than any of these."""

    def forward(self, x: Tensor) -> Tensor:
        return functional.max_pool2d(-torch.exp(x), 3, stride=2, padding=1)


@case(
    "padded_pool",
    f.convolution,
    f.elementwise,
    f.views,
    f.several_outputs,
    samples=twice(lambda make: (make.floats(1, 2, 6, 6),)),
)
class PaddedPool(torch.nn.Module):
    """Zeros around negative numbers are more than any of these, and are counted in a mean: what pads a window by itself
    is neither."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        padded = functional.pad(-torch.exp(x), (1, 1, 1, 1))
        return functional.max_pool2d(padded, 3, stride=2), functional.avg_pool2d(padded, 2, count_include_pad=False)


@case("view_outlives", f.views, f.elementwise, f.reductions, samples=twice(lambda make: (make.floats(2, 6),)))
class ViewOutlives(torch.nn.Module):
    """A view is read when what it is a view of has been used for the last time, and others of its size have come."""

    def forward(self, x: Tensor) -> Tensor:
        squares = x * x
        rows = squares.view(3, 4)
        bounded = torch.tanh(torch.sigmoid(squares))
        return rows.sum(dim=1) + bounded.view(3, 4).sum(dim=1)


@case("read_again", f.elementwise, f.reductions, samples=twice(lambda make: (make.floats(3, 4),)))
class ReadAgain(torch.nn.Module):
    """What an activation is given is read again behind what delegates seldom take, by the next part."""

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.cumsum(torch.relu(x), 0)


@case(
    "more_than_bytes",
    f.booleans,
    f.reductions,
    f.several_outputs,
    samples=twice(lambda make: (make.floats(2, 300),)),
    touches=(f.integers,),
)
class MoreThanBytes(torch.nn.Module):
    """How many of some hundreds: no byte counts as far."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return (x > -4).sum(dim=1), (x == x).sum()


@case(
    "logits_and_scores",
    f.parameters,
    f.matmul,
    f.convolution,
    f.elementwise,
    f.views,
    f.several_outputs,
    samples=twice(lambda make: (make.floats(4, 3),)),
)
class LogitsAndScores(torch.nn.Module):
    """What an activation is given is a result too, so that a layer with its activation in it does not do."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 5)
        self.conv = torch.nn.Conv2d(1, 2, 2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        logits, maps = self.linear(x), self.conv(x[None, None])
        return torch.relu(logits), logits * 0.5, torch.relu(maps), maps


@case(
    "small_spread",
    f.parameters,
    f.reductions,
    samples=twice(lambda make: (torch.cat([make.floats(3, 8) * 1e-3, torch.full((1, 8), 0.5)]),)),
)
class SmallSpread(torch.nn.Module):
    """A normalisation of values that its epsilon decides about, one row without any spread, and a norm that one guards
    from zero."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(8, eps=1e-12)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        length = (x * x).sum(dim=1, keepdim=True).sqrt()
        return self.norm(x), x * 1e-6 / (length * 1e-6 + 1e-8)


@case("scattered_twice", f.views, samples=twice(lambda make: (make.floats(5, 3), make.floats(4, 3))))
class ScatteredTwice(torch.nn.Module):
    """A row that is written to twice gets both."""

    index: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("index", torch.tensor([1, 3, 1, 1]))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.index_put(x, (self.index,), y, accumulate=True)


@case(
    "nothing_cached", f.empty, f.views, f.reductions, samples=twice(lambda make: (make.floats(0, 3), make.floats(2, 3)))
)
class NothingCached(torch.nn.Module):
    """What joins nothing and something is something, and the sum of nothing is zero."""

    def forward(self, cache: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        return torch.cat((cache, x)), cache.sum(dim=0)


@case(
    "roots_and_powers",
    f.elementwise,
    f.non_finite,
    samples=lambda make: {
        "forward": [
            (torch.tensor([float("nan"), float("inf"), 0.0, 4.0]),),
            (torch.tensor([1.0, 0.25, float("inf"), float("nan")]),),
        ]
    },
)
class RootsAndPowers(torch.nn.Module):
    """Where a function has no finite result: what is NaN stays NaN, what is infinite is no NaN."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return torch.exp(x), torch.sqrt(x), torch.rsqrt(x), torch.log(x)


@case("exact_gelu", f.elementwise, samples=twice(lambda make: (make.floats(4, 8) * 2,)))
class ExactGelu(torch.nn.Module):
    """The exact function, and the approximation beside it."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return functional.gelu(x), functional.gelu(x, approximate="tanh")


@case("first_softmax", f.reductions, samples=twice(lambda make: (make.floats(3, 4, 5),)))
class FirstSoftmax(torch.nn.Module):
    """Along a dimension that is not the last one."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return torch.softmax(x, dim=1), torch.log_softmax(x, dim=0)


@case("depthwise", f.convolution, f.parameters, samples=twice(lambda make: (make.floats(1, 3, 6, 6),)))
class Depthwise(torch.nn.Module):
    """Two filters for each channel, at a distance."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 6, 3, groups=3, padding=2, dilation=2)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x)


@case("tied_filters", f.convolution, f.parameters, samples=twice(lambda make: (make.floats(1, 3, 5, 5),)))
class TiedFilters(torch.nn.Module):
    """The weight of a convolution, all of whose sizes are the same, in other places besides: turned, and by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 3, 3, 3) / 9)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        there = torch.relu(functional.conv2d(x, self.weight, padding=1))
        return functional.conv2d(there, self.weight.transpose(0, 1), padding=1), self.weight * 2


@case(
    "one_channel",
    f.convolution,
    f.parameters,
    f.non_finite,
    samples=lambda make: {
        "forward": [
            (torch.tensor([[[[1.0, 2.0, 3.0, 4.0, 5.0, float("inf"), 7.0, 8.0]]]]),),
            (torch.tensor([[[[float("nan"), 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, float("nan")]]]]),),
        ]
    },
)
class OneChannel(torch.nn.Module):
    """Each element by itself, as a convolution: what is not finite in one belongs to no other."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x)


@case("row_of_a_filter", f.convolution, f.parameters, f.views, samples=twice(lambda make: (make.floats(1, 1, 4, 4),)))
class RowOfAFilter(torch.nn.Module):
    """A convolution of a view, and a row of its weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(1, 1, 2, 2))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        image = x.reshape(1, 1, 2, -1)
        return functional.conv2d(image, self.weight), self.weight.reshape(2, 2)[0] * 2


@case("laid_out_weights", f.parameters, f.matmul, samples=twice(lambda make: (make.floats(4, 5),)))
class LaidOutWeights(torch.nn.Module):
    """Constants that do not lie row by row: one transposed, one that is a part of another."""

    turned: Tensor
    part: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("turned", torch.randn(3, 5).t())
        self.register_buffer("part", torch.randn(4, 6)[:, ::2])

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.turned - self.part


@case(
    "padded_tables",
    f.parameters,
    f.views,
    samples=twice(lambda make: (make.integers(4, low=0, high=20), make.integers(4, low=0, high=20))),
)
class PaddedTables(torch.nn.Module):
    """Two tables of one size that begin alike: their first rows are padding."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(20, 32, padding_idx=0)
        self.places = torch.nn.Embedding(20, 32, padding_idx=0)

    def forward(self, words: Tensor, places: Tensor) -> Tensor:
        return self.words(words) - self.places(places)


@case(
    "dynamic_mean",
    f.dynamic_shapes,
    f.reductions,
    samples=lambda make: {"forward": [(make.floats(rows, 3),) for rows in (4, 9, 2, 4)]},
)
class DynamicMean(torch.nn.Module):
    """A mean over as many rows as come."""

    dynamic: ClassVar[Any] = {"forward": ({0: ("rows", 2, 16)},)}

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x.mean(dim=0), x - x.mean(dim=0)


@case(
    "dynamic_sides",
    f.dynamic_shapes,
    f.reductions,
    f.broadcasting,
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(*sides),) for sides in ((3, 5), (5, 3), (2, 8), (8, 2), (4, 4))]},
)
class DynamicSides(torch.nn.Module):
    """As many elements as before, in another shape."""

    dynamic: ClassVar[Any] = {"forward": ({0: ("rows", 2, 8), 1: ("columns", 2, 8)},)}

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x - x.sum(dim=1, keepdim=True), x * 2.0


@case(
    "dynamic_tokens",
    f.dynamic_shapes,
    f.parameters,
    f.integers,
    samples=lambda make: {"forward": [(make.integers(1, length, low=0, high=11),) for length in (5, 12, 3, 5)]},
)
class DynamicTokens(torch.nn.Module):
    """As many tokens as come, looked up: a table's rows, and what becomes of them."""

    dynamic: ClassVar[Any] = {"forward": ({1: ("tokens", 2, 16)},)}

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(11, 6)
        self.linear = torch.nn.Linear(6, 6)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        rows = self.table(tokens)
        return self.linear(rows) + rows, rows.sum(dim=1)


@case(
    "dynamic_tags",
    f.dynamic_shapes,
    f.parameters,
    f.integers,
    f.elementwise,
    samples=lambda make: {"forward": [(make.integers(length, low=0, high=11),) for length in (5, 12, 3, 5)]},
)
class DynamicTags(torch.nn.Module):
    """As many tokens as come, of one sentence, and how likely each tag is for each: nothing else has their number."""

    dynamic: ClassVar[Any] = {"forward": ({0: ("tokens", 2, 16)},)}

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(11, 6)
        self.hidden, self.tags = torch.nn.Linear(6, 6), torch.nn.Linear(6, 5)

    def forward(self, tokens: Tensor) -> Tensor:
        return torch.log_softmax(self.tags(torch.tanh(self.hidden(self.table(tokens)))), dim=-1)


@case(
    "dynamic_heads",
    f.dynamic_shapes,
    f.parameters,
    f.matmul,
    f.views,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(sentences, 4, 6),) for sentences in (3, 2, 5, 3)]},
)
class DynamicHeads(torch.nn.Module):
    """A view of a view is read for the last time, and what it is a view of is read once more."""

    dynamic: ClassVar[Any] = {"forward": ({0: ("sentences", 2, 6)},)}

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.leave = torch.nn.Linear(6, 8), torch.nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        sentences, words, _ = x.shape
        table = torch.tanh(self.enter(x.view(sentences * words, 6)))
        heads = table.view(sentences, words, 8).view(sentences, words, 2, 4)
        mixed = torch.softmax(heads, dim=-1) * heads.amax(dim=1, keepdim=True)
        return table + torch.relu(self.leave(mixed.view(sentences * words, 8)))
