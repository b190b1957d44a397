"""Models for torch.compile about the corners of PyTorch's semantics: which of several is taken, how numbers round and
are promoted, what NaN, negative zero and nothing at all become."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from conformance.api import features as f
from conformance.api.maker import Maker
from conformance.toolchains.dynamo.cases.models import case, pairs

NAN, INF = float("nan"), float("inf")


def _unusual(make: Maker) -> dict[str, list[tuple[Any, ...]]]:
    """Rows with ties, with NaN first and last, with zeros of both signs, and with infinities."""
    rows = torch.tensor(
        [
            [1.0, 3.0, 3.0, -2.0, 3.0],
            [NAN, 1.0, 2.0, 2.0, -1.0],
            [0.0, -1.0, 5.0, 5.0, NAN],
            [0.0, -0.0, 0.0, -0.0, -0.0],
            [INF, -INF, INF, 1.0, -INF],
        ]
    )
    return {"forward": [(rows.roll(shift, 1), make.floats(5, 5)) for shift in (0, 1)]}


@case("extremes", f.non_finite, f.reductions, f.elementwise, f.several_outputs, samples=_unusual, touches=(f.integers,))
class Extremes(torch.nn.Module):
    """NaN is the largest and the smallest, and stays; of several that are equal the first is meant, and a stable sort
    keeps their order."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        order = torch.sort(x, dim=1, stable=True).indices
        return x.argmax(1), x.argmin(1), order, x.amax(1), x.clamp(-1, 2), torch.minimum(x, y), x.clamp(min=y)


@case("signed_zeros", f.non_finite, f.elementwise, f.several_outputs, samples=_unusual)
class SignedZeros(torch.nn.Module):
    """By the sign of a zero infinities differ."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return 1 / x, 1 / (x * 0.0 - 0.0), torch.copysign(y, -x)


@case(
    "integer_division",
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {
        "forward": [(make.integers(30, low=-40, high=40), make.integers(30, low=0, high=2) * 10 - 7) for _ in "ab"]
    },
    touches=(f.integers, f.mixed_dtypes),
)
class IntegerDivision(torch.nn.Module):
    """Of numbers of both signs: rounded down, towards zero, and not at all; with the remainders that belong to it."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return x // y, x % y, torch.div(x, y, rounding_mode="trunc"), torch.fmod(x, y), x / y, x // -3, x % 2.5


@case(
    "beyond_53_bits",
    f.integers,
    f.reductions,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.integers(9) + 2**60, make.integers(9) - 2**61) for _ in "ab"]},
    touches=(f.zero_dim,),
)
class BeyondFiftyThreeBits(torch.nn.Module):
    """float64 cannot hold them."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return x - y, x.sum(), y.amin(), torch.relu(x) * 3 - y


@case(
    "boolean_sums",
    f.booleans,
    f.reductions,
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.booleans(4, 300), make.booleans(4, 300)) for _ in "ab"]},
    touches=(f.integers, f.mixed_dtypes),
)
class BooleanSums(torch.nn.Module):
    """They are counted in int64; a sum of two is a boolean, and a product with a number is none."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return x.sum(1), (x + y), x * y, x * 3, x * 0.5, x.any(1), y.all(0), x.to(torch.uint8).sum(1)


@case(
    "promotion",
    f.mixed_dtypes,
    f.zero_dim,
    f.half_precision,
    f.float64,
    f.several_outputs,
    samples=lambda make: {
        "forward": [
            (make.floats(3), make.integers(3, dtype=torch.int32), make.doubles(), make.positive(3).to(torch.bfloat16))
            for _ in "ab"
        ]
    },
    touches=(f.integers,),
)
class Promotion(torch.nn.Module):
    """A tensor without dimensions, and a Python number, count for less than one with dimensions of the same kind."""

    def forward(self, x: Tensor, count: Tensor, scale: Tensor, half: Tensor) -> tuple[Tensor, ...]:
        return x * scale, count * 2, count * 0.5, count * scale, half * 2.5, half * scale, half * x, count + True


@case(
    "rounding",
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(torch.arange(-3.5, 4.0, 0.5) * sign, make.floats(15)) for sign in (1.0, -1.0)]},
    touches=(f.integers,),
)
class Rounding(torch.nn.Module):
    """Halves go to the even neighbour; a cast to integers drops what is behind the point."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return torch.round(x), torch.floor(x), torch.trunc(x) - y, x.to(torch.int32), torch.frac(x), x % 2, x // 2


@case(
    "empty_reductions",
    f.empty,
    f.reductions,
    f.views,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(3, 0), make.floats(3, 2)) for _ in "ab"]},
    touches=(f.zero_dim, f.non_finite, f.booleans),
)
class EmptyReductions(torch.nn.Module):
    """Of nothing the sum is 0, the product 1, the mean NaN."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return x.sum(), x.prod(1), x.mean(1), torch.cat([x, y, x], 1) * 2, (x > 0).all(1), y[:0].sum(0)


@case(
    "wide_inputs",
    f.mixed_dtypes,
    f.float64,
    f.parameters,
    f.non_contiguous,
    f.matmul,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.doubles(3, 4), make.floats(3, 4)) for _ in "ab"]},
)
class WideInputs(torch.nn.Module):
    """float64 beside weights in float32, which lie in their memory transposed, with steps, and expanded."""

    weight: Tensor
    row: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.randn(8)[::2], requires_grad=False)
        self.register_buffer("weight", torch.randn(5, 4).t())
        self.register_buffer("row", torch.randn(3, 1).expand(3, 4))

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return x * self.scale - self.row, y @ self.weight, torch.relu(y * self.row) - self.scale


@case(
    "many_threads",
    f.large,
    f.reductions,
    f.booleans,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(3, 300_007), make.floats(3, 300_007)) for _ in "ab"]},
    touches=(f.integers,),
)
class ManyThreads(torch.nn.Module):
    """More than one thread's share, in no round number; what is reduced is exact in any order."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return torch.relu(x - y) * 2, x.argmax(1), (x > y).sum(1), y.amin(0)


@case(
    "channels_last",
    f.parameters,
    f.convolution,
    f.non_contiguous,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(2, 3, 6, 5).to(memory_format=torch.channels_last),) for _ in "ab"]},
)
class ChannelsLast(torch.nn.Module):
    """The layout of the images goes on through the network."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.requires_grad_(False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return torch.relu(self.convolution(x)) * 2, x * 3 - 1


@case(
    "unused_results",
    f.several_outputs,
    f.reductions,
    f.views,
    samples=lambda make: {"forward": [(make.floats(4, 6), make.floats(4, 6)) for _ in "ab"]},
    touches=(f.integers, f.zero_dim),
)
class UnusedResults(torch.nn.Module):
    """Of what operators give a part is used; between the results stand nothing, numbers and a text."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Any, ...]:
        _, where = x.max(1)
        largest, _ = y.sort(1, descending=True)
        _, second, _ = (x - y).split(2, 1)
        return None, where, 2.5, largest[:, 0], x.size(0), second * 2, "text", True, torch.ones(2), y[0, 0] - 1


@case("kept_then_written", f.input_mutation, f.parameters, samples=pairs(4, 3))
class KeptThenWritten(torch.nn.Module):
    """A buffer keeps an argument as it was before a write to it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kept", torch.zeros(4, 3))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        z = x - y
        self.kept.copy_(x)
        x[1:].mul_(2)
        return z


@case("adds_nothing", samples=pairs(3))
class AddsNothing(torch.nn.Module):
    """The results are new tensors, whatever is added to an argument."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + torch.zeros_like(y)


@case("negative_view", f.parameters, samples=pairs(3))
class NegativeView(torch.nn.Module):
    """A weight whose memory has its negative: `torch.Tensor.is_neg`."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.complex(torch.zeros(3), torch.randn(3)).conj().imag)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x * self.weight - y


@case("split_and_joined", f.views, samples=pairs(4, 6))
class SplitAndJoined(torch.nn.Module):
    """Parts of a slice, joined along a dimension that is counted from the end."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        first, second = torch.split((x - y)[:, :4], [1, 3], dim=-2)
        return torch.cat([first, second], dim=-2)
