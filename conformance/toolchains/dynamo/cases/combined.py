"""Models for torch.compile of what a compiler may combine: operators of a kind behind one another, or beside."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.api.maker import Maker
from conformance.toolchains.dynamo.cases.models import case


@case(
    "formulas",
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(3, 4), make.positive(3, 4)) for _ in "ab"]},
)
class Formulas(torch.nn.Module):
    """What is subtracted is a sum, what is divided by is a product; and the root of a square is no number's own."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return x - (y + x * 2.0), x / (y * 3.0), x.square().sqrt() + (x - (y - 1.0))


@case(
    "sides_from_the_end",
    f.reductions,
    f.views,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(2, 3, 4, 5), make.floats(2, 600)) for _ in "ab"]},
)
class SidesFromTheEnd(torch.nn.Module):
    """Sides that are counted from the end, in any order; orders that do not change places; and a mean of more than one
    block, of which the last is shorter."""

    def forward(self, x: Tensor, rows: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        turned = x.permute(0, 2, 3, 1).transpose(1, 3) + 1.0
        return x.mean(dim=(-2, -1)), x.sum(dim=(-1, -3)), turned, rows.mean(dim=-1)


@case(
    "rows_for_three",
    f.matmul,
    f.parameters,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(2, 3, 4),) for _ in "ab"]},
)
class RowsForThree(torch.nn.Module):
    """Three layers of the same rows, as attention has them, of which one has no bias."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.value = (torch.nn.Linear(4, 4).requires_grad_(False) for _ in range(2))
        self.key = torch.nn.Linear(4, 4, bias=False).requires_grad_(False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.query(x), self.key(x), self.value(x)


@case(
    "layers_with_options",
    f.convolution,
    f.elementwise,
    f.views,
    f.parameters,
    f.in_place,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(1, 4, 5, 6),) for _ in "ab"]},
)
class LayersWithOptions(torch.nn.Module):
    """Kernels without a middle, an activation in place whose operand is read once more, a norm of two sides, and
    channels that are shuffled."""

    def __init__(self) -> None:
        super().__init__()
        self.same = torch.nn.Conv1d(4, 2, 4, padding="same").requires_grad_(False)
        self.apart = torch.nn.Conv2d(4, 8, 3, groups=4).requires_grad_(False)
        self.sides = torch.nn.LayerNorm([5, 6]).requires_grad_(False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        given = self.apart(x)
        activated = functional.relu(given, inplace=True)
        shuffled = x.view(1, 2, 2, 5, 6).transpose(1, 2).reshape(1, 4, 5, 6)
        return self.same(x[:, :, 0]), given + activated * 0.5, self.sides(x), shuffled * 2.0


@case(
    "path_around",
    f.elementwise,
    f.in_place,
    samples=lambda make: {"forward": [(make.floats(3, 4),) for _ in "ab"]},
)
class PathAround(torch.nn.Module):
    """What goes around an activation was computed before that wrote to its operand, and is used after it."""

    def forward(self, x: Tensor) -> Tensor:
        entered = x * 2.0 - 0.5
        around = entered * 3.0
        return functional.relu(entered, inplace=True) - around


@case(
    "other_bodies",
    f.control_flow,
    f.reductions,
    f.booleans,
    samples=lambda make: {"forward": [(make.positive(3), make.floats(3), flag) for flag in (True, False, True)]},
    touches=(f.zero_dim,),
)
class OtherBodies(torch.nn.Module):
    """Graphs that are alike but for what stands in their branches."""

    def forward(self, x: Tensor, y: Tensor, flag: bool) -> Tensor:
        if flag:
            return torch.cond(x.sum() > 0, lambda a, b: torch.relu(b) - a * 2, lambda a, b: a - b * 3, (x, y))
        return torch.cond(x.sum() > 0, lambda a, b: torch.relu(a) + b * 4, lambda a, b: a + b * 5, (x, y))


@case(
    "either_given",
    f.optionals,
    f.elementwise,
    samples=lambda make: {
        "forward": [
            (make.floats(3), make.floats(3), None),
            (make.floats(3), None, make.floats(3)),
            (make.floats(3), make.floats(3), make.floats(3)),
        ]
    },
)
class EitherGiven(torch.nn.Module):
    """Which of two options was given, where there are as many tensors either way."""

    def forward(self, x: Tensor, factor: Tensor | None, offset: Tensor | None) -> Tensor:
        if factor is not None:
            x = x * factor
        return x * 2.0 if offset is None else x - offset


@case(
    "far_apart",
    f.elementwise,
    f.reductions,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(3, 5) * 2000.0,) for _ in "ab"]},
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


@case(
    "order_of_everything",
    f.convolution,
    f.elementwise,
    f.reductions,
    f.views,
    f.parameters,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(1, 3, 4, 5),) for _ in "ab"]},
    touches=(f.integers, f.zero_dim),
)
class OrderOfEverything(torch.nn.Module):
    """Places are counted in the order of the sides, however a compiler lays out in memory what is counted."""

    def __init__(self) -> None:
        super().__init__()
        conv = torch.nn.Conv2d(3, 5, 3, padding=1).requires_grad_(False)
        self.conv = conv.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        x = self.conv(x)
        most = torch.relu(x)
        return most.argmax(), x.argmin(dim=1), most.flatten()[7:9] * 2.0, x.reshape(-1).cumsum(0)


@case(
    "activations_with_options",
    f.matmul,
    f.convolution,
    f.elementwise,
    f.views,
    f.parameters,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(3, 4),) for _ in "ab"]},
)
class ActivationsWithOptions(torch.nn.Module):
    """Activations behind layers, each with an option that is not the usual one."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = (torch.nn.Linear(4, 4).requires_grad_(False) for _ in range(3))
        self.conv = torch.nn.Conv1d(3, 2, 3).requires_grad_(False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return (
            functional.gelu(self.first(x), approximate="tanh"),
            functional.leaky_relu(self.second(x), 0.3),
            functional.softplus(self.third(x), beta=2.0),
            functional.gelu(self.conv(x.unsqueeze(0)), approximate="tanh"),
        )


def _taken(make: Maker) -> Tensor:
    """Which of 300 places are taken, as bytes: most of them."""
    return (make.integers(2, 300, low=0, high=20) > 0).to(torch.uint8)


@case(
    "long_masks",
    f.reductions,
    f.several_outputs,
    samples=lambda make: {"forward": [(_taken(make), make.integers(9, low=2, high=4, dtype=torch.int8)) for _ in "ab"]},
    touches=(f.integers, f.booleans, f.mixed_dtypes),
)
class LongMasks(torch.nn.Module):
    """More places than a byte can count are numbered by what says which are taken, and factors of a byte multiplied."""

    def forward(self, taken: Tensor, factors: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        places = torch.cumsum(taken, dim=-1)
        return places - 1, torch.cumsum(taken > 0, dim=-1), taken.sum(dim=-1), torch.cumprod(factors, dim=0)


@case(
    "energies",
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(3, 5),) for _ in "ab"]},
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


@case(
    "norms_of_channels",
    f.reductions,
    f.elementwise,
    f.parameters,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(2, 4, 4, 4),) for _ in "ab"]},
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


@case(
    "frames_with_checksums",
    f.reductions,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.integers(3, 9, low=-9000, high=9000),) for _ in "ab"]},
    touches=(f.integers, f.mixed_dtypes, f.booleans),
)
class FramesWithChecksums(torch.nn.Module):
    """Sums that are kept in as many bits as a frame has for them: what is beyond is lost, and the rest stays."""

    def forward(self, frame: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        total = frame.sum(dim=-1)
        checksum = total.to(torch.uint8)
        return checksum, total.to(torch.int16), 255 - checksum.to(torch.int64), total.to(torch.int8) > 0


@case(
    "quieter",
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.integers(3, 6, low=-30, high=30, dtype=torch.int16),) for _ in "ab"]},
    touches=(f.integers, f.mixed_dtypes),
)
class Quieter(torch.nn.Module):
    """Whole numbers, half of them below zero, are divided by a power of two, in each way: a shift is one of them."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        towards_zero = torch.div(x, 4, rounding_mode="trunc")
        return towards_zero, torch.div(x, 4, rounding_mode="floor"), torch.remainder(x, 4), torch.fmod(x, 4), x / 4


@case(
    "smallest_first",
    f.reductions,
    f.several_outputs,
    samples=lambda make: {
        "forward": [
            (
                torch.tensor([7, 0, 200, 3], dtype=torch.uint8),
                torch.tensor([5, -128, 127, 0], dtype=torch.int8),
                torch.tensor([2.0, float("nan"), -1.0, float("inf"), 0.5]),
            )
            for _ in "ab"
        ]
    },
    touches=(f.integers, f.mixed_dtypes, f.non_finite),
)
class SmallestFirst(torch.nn.Module):
    """The smallest are not the largest of the negative: not of bytes, not of the least integer, and not beside NaN."""

    def forward(self, counts: Tensor, steps: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        few, places = torch.topk(counts, 2, largest=False)
        lowest, _ = torch.topk(x, 3, largest=False)
        return few, places, torch.topk(steps, 2, largest=False)[0], lowest, torch.sort(x, descending=True)[0]
