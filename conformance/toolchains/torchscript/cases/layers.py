"""What layers have now and then, and those of a delegate may lack: windows that hang over, buffers of the same numbers,
activations in place, and rows that see nothing."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
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
