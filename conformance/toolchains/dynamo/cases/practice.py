"""Models for torch.compile as they are written in practice, each with what a pass over its graph takes for granted:
that equal numbers are equal, that nobody else sees a value, that a layer has one use."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.toolchains.dynamo.cases.models import case, pairs


@case(
    "equal_numbers",
    f.several_outputs,
    samples=lambda make: {"forward": [(make.integers(5),) for _ in "ab"]},
    touches=(f.integers, f.mixed_dtypes),
)
class EqualNumbers(torch.nn.Module):
    """``2 == 2.0``, and yet one gives integers and the other floats, also of what is only a step on the way."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        return x * 2, x * 2.0, x - 1.0, (x + 1) // 2, (x + 1.0) // 2


@case("logits_and_scores", f.elementwise, f.several_outputs, samples=pairs(4, 3))
class LogitsAndScores(torch.nn.Module):
    """A classifier gives what it computed its scores of, too."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        logits, kept = x * 2 - y, x - y
        return logits, torch.sigmoid(logits), kept * torch.relu(kept)


@case(
    "narrow_differences",
    f.elementwise,
    samples=lambda make: {
        "forward": [tuple(make.integers(12, low=0, high=200, dtype=torch.uint8) for _ in "xy") for _ in "ab"]
    },
    touches=(f.integers, f.mixed_dtypes),
)
class NarrowDifferences(torch.nn.Module):
    """Images of bytes: what wraps around has done so before it becomes a float."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return (x - y).float() * 0.5 + (x + y).float()


@case(
    "masked_row",
    f.matmul,
    f.booleans,
    samples=lambda make: {"forward": [(make.floats(2, 4, 3), torch.arange(16).reshape(4, 4) > 5) for _ in "ab"]},
    touches=(f.non_finite, f.broadcasting),
)
class MaskedRow(torch.nn.Module):
    """Attention; of a row that may look at nothing nothing comes, and no NaN."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return torch.nn.functional.scaled_dot_product_attention(x * 2, x, x, attn_mask=mask) - 1


@case("last_of_few", f.views, f.elementwise, samples=pairs(2, 3))
class LastOfFew(torch.nn.Module):
    """The last five of what may be fewer, all but them, and all but the first of them: bounds stop at the ends."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.cat([x[:, -5:] * 2, y[:, :-5], (x - y)[:, 1:100], x[:, -5:][:, 1:] - 1], dim=1)


@case(
    "alike_names",
    f.matmul,
    f.parameters,
    samples=lambda make: {"forward": [(make.floats(2, 3),) for _ in "ab"]},
)
class AlikeNames(torch.nn.Module):
    """Names of weights that are told apart by their dots alone."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.layer_0 = torch.nn.Sequential(torch.nn.Linear(3, 3)), torch.nn.Linear(3, 3)
        self.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.layer(x)) - self.layer_0(x) * 0.5


@case(
    "impossible_states",
    f.non_finite,
    f.reductions,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(4, 3), torch.arange(12).reshape(4, 3) > 4) for _ in "ab"]},
    touches=(f.booleans, f.elementwise),
)
class ImpossibleStates(torch.nn.Module):
    """What is summed is nothing but zeros, whose logarithms are minus infinity, and that is the sum's as well."""

    def forward(self, x: Tensor, possible: Tensor) -> tuple[Tensor, Tensor]:
        scores = x.masked_fill(~possible, float("-inf"))
        return torch.logsumexp(scores, dim=1), torch.logaddexp(scores[0], scores[1])


@case(
    "sums_of_halves",
    f.half_precision,
    f.reductions,
    f.several_outputs,
    samples=lambda make: {"forward": [((make.positive(4, 300) * 400.0).half().float(),) for _ in "ab"]},
    touches=(f.mixed_dtypes,),
)
class SumsOfHalves(torch.nn.Module):
    """What is added up in another dtype is converted first: a sum of halves is beyond what a half holds. What comes is
    what halves hold: compilers leave it unrounded, as PyTorch's own does."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        halves = x.half()
        return halves.sum(dim=1, dtype=torch.float32), functional.softmax(halves / 400, dim=1, dtype=torch.float32)


@case(
    "nearly_attention",
    f.matmul,
    f.reductions,
    f.views,
    f.several_outputs,
    samples=lambda make: {"forward": [tuple(make.floats(1, 3, 4, 3) for _ in "qkv") for _ in "ab"]},
)
class NearlyAttention(torch.nn.Module):
    """A softmax along the columns, as a function and as a layer, and keys of which other sides change places: no
    attention that a kernel has."""

    def __init__(self) -> None:
        super().__init__()
        self.softmax = torch.nn.Softmax(dim=2)

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        scores = query @ key.transpose(-1, -2) / 2.0
        columns = torch.softmax(scores, dim=-2) @ value
        slots = self.softmax(torch.matmul(query, key.transpose(-1, -2)) / 2.0) @ value
        return columns, slots, torch.softmax(query @ key.permute(0, 3, 1, 2) / 2.0, dim=-1) @ value


@case(
    "resized",
    f.views,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(1, 2, 8, 5),) for _ in "ab"]},
    touches=(f.convolution, f.integers),
)
class Resized(torch.nn.Module):
    """Pictures of another size, which is no multiple and no part of theirs: each place takes the element below it, and
    not the nearest to its middle."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        exact = functional.interpolate(x, size=(5, 8), mode="nearest-exact")
        return functional.interpolate(x, size=(3, 7)), functional.interpolate(x, size=(12, 3)), exact


@case(
    "not_less",
    f.booleans,
    f.non_finite,
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(3, 4).clamp(min=-1.0).sub(0.5).sqrt(),) for _ in "ab"]},
)
class NotLess(torch.nn.Module):
    """Of a number that is none neither is true: that it is less, and that it is not."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return torch.where(~(x < 1.0), x * 2, -1.0), torch.where(torch.logical_not(x >= 0.5), 3.0, x)


@case(
    "gated",
    f.matmul,
    f.parameters,
    f.elementwise,
    f.views,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(2, 6), make.floats(2, 4)) for _ in "ab"]},
)
class Gated(torch.nn.Module):
    """Steps of recurrent layers, whose gates have a bias of the input's and one of the state's."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = torch.nn.GRUCell(6, 4)
        self.lstm = torch.nn.LSTMCell(6, 4)

    def forward(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.gru(x, state), *self.lstm(x, (state, state * 2))


@case(
    "grouped",
    f.convolution,
    f.parameters,
    f.views,
    samples=lambda make: {"forward": [(make.floats(2, 4, 5, 6),) for _ in "ab"]},
    touches=(f.elementwise, f.reductions),
)
class Grouped(torch.nn.Module):
    """Channels in groups of neighbours, fewer groups than channels and more than one."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv2d(4, 6, 3, groups=2)
        self.norm = torch.nn.GroupNorm(3, 6)
        torch.nn.init.normal_(self.norm.weight)
        torch.nn.init.normal_(self.norm.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.convolution(x))


@case(
    "quotients",
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.integers(12),), (make.integers(12, dtype=torch.int32),)]},
    touches=(f.integers,),
)
class Quotients(torch.nn.Module):
    """Quotients of whole numbers below zero and their remainders, rounded down and towards zero."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        towards_zero, below = torch.div(x, 4, rounding_mode="trunc"), torch.div(x, 4, rounding_mode="floor")
        return towards_zero, below, torch.fmod(x, 4), x % 4 + x // 8


@case(
    "rescaled",
    f.views,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(1, 2, 8, 5),) for _ in "ab"]},
    touches=(f.convolution, f.integers),
)
class Rescaled(torch.nn.Module):
    """Pictures that are so many times as large: places are told by the factor, and not by the sizes, which are rounded
    down."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        smooth = functional.interpolate(x, scale_factor=1.7, mode="bilinear", align_corners=False)
        by_sizes = functional.interpolate(x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True)
        return smooth, by_sizes, functional.interpolate(x, scale_factor=(0.4, 2.3))


@case(
    "counted_tokens",
    f.in_place,
    f.matmul,
    f.parameters,
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(2, 3, 4),) for _ in "ab"]},
)
class CountedTokens(torch.nn.Module):
    """Layers with activations, on more sides than two and without a bias, behind what counts the calls: who finds out
    late that a kernel takes neither must not count twice."""

    calls: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))
        self.wide, self.narrow = torch.nn.Linear(4, 6), torch.nn.Linear(4, 3, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.calls.add_(1)
        return torch.relu(self.wide(x)) * self.calls, functional.gelu(self.narrow(x[0]))
