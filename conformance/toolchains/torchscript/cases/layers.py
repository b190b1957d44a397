"""What layers have now and then, and those of a delegate may lack: windows that hang over, buffers of the same numbers,
activations in place, rows that see nothing, and masks that are longer than their bytes count."""

from __future__ import annotations

from typing import Tuple  # noqa: UP035  (TorchScript resolves these names)

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.api.maker import Maker
from conformance.toolchains.torchscript.cases import case


@case(
    "windows_that_hang_over",
    f.convolution,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(1, 2, 8, 7),), (make.floats(1, 2, 7, 6),)]},
)
class WindowsThatHangOver(torch.nn.Module):
    """The last window lies partly outside: what is outside counts where it is padding, and nowhere else."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return (
            functional.avg_pool2d(x, 2, ceil_mode=True),
            functional.avg_pool2d(x, 3, stride=2, padding=1, ceil_mode=True),
            functional.max_pool2d(x - 9.0, 3, stride=2, padding=1, ceil_mode=True),
        )


@case(
    "rows_and_columns",
    f.parameters,
    f.broadcasting,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(4, 4),) for _ in "ab"]},
)
class RowsAndColumns(torch.nn.Module):
    """The same numbers as a row, as a column and, of the same bits, whole ones: three buffers, and none is another."""

    def __init__(self) -> None:
        super().__init__()
        numbers = torch.arange(4.0)
        self.register_buffer("row", numbers[None])
        self.register_buffer("column", numbers[:, None].clone())
        self.register_buffer("bits", numbers.view(torch.int32).clone())

    def forward(self, x: Tensor) -> Tensor:
        return x * (self.row - self.column) + self.bits % 7


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
    "rows_that_see_nothing",
    f.matmul,
    f.booleans,
    f.views,
    f.reductions,
    samples=lambda make: {
        "forward": [(make.floats(2, 3, 4), torch.tensor([[True, True, False], [False, False, False]])) for _ in "ab"]
    },
)
class RowsThatSeeNothing(torch.nn.Module):
    """Attention written out: where all scores are the same, however small, each value counts as much as the others."""

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        scores = torch.matmul(x, x.transpose(-2, -1)) / 2.0
        scores = scores.masked_fill(~seen[:, None], -1e9)
        return torch.matmul(torch.softmax(scores, dim=-1), x)


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

    def forward(self, taken: Tensor, factors: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:  # noqa: UP006
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

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:  # noqa: UP006
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

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:  # noqa: UP006
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

    def forward(self, frame: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:  # noqa: UP006
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

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # noqa: UP006
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

    def forward(self, counts: Tensor, steps: Tensor, x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # noqa: UP006
        few, places = torch.topk(counts, 2, largest=False)
        lowest, _ = torch.topk(x, 3, largest=False)
        return few, places, torch.topk(steps, 2, largest=False)[0], lowest, torch.sort(x, descending=True)[0]
