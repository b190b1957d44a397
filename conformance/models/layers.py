"""Layers as networks join them, in the forms in which what was made for another form is wrong."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.models import everyday


@everyday(
    "autoencoder",
    f.matmul,
    f.parameters,
    f.submodules,
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.floats(3, 6),),
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


@everyday(
    "rows_for_three",
    f.matmul,
    f.parameters,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 3, 4),),
)
class RowsForThree(torch.nn.Module):
    """Three layers of the same rows, as attention has them, of which one has no bias."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.value = (torch.nn.Linear(4, 4).requires_grad_(False) for _ in range(2))
        self.key = torch.nn.Linear(4, 4, bias=False).requires_grad_(False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.query(x), self.key(x), self.value(x)


@everyday(
    "past_dropout",
    f.elementwise,
    f.matmul,
    f.parameters,
    f.submodules,
    inputs=lambda make: (make.floats(3, 6),),
)
class PastDropout(torch.nn.Module):
    """What dropout gives back is activated, which in evaluation is what it was given, and that is added."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.dropout = torch.nn.Linear(6, 6), torch.nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        features = self.layer(x)
        return torch.relu(self.dropout(features)) + features


@everyday(
    "norm_ahead",
    f.convolution,
    f.elementwise,
    f.parameters,
    f.submodules,
    f.several_outputs,
    inputs=lambda make: (make.floats(1, 3, 5, 4),),
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


@everyday(
    "shared_convolution",
    f.convolution,
    f.parameters,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 3, 5, 4),),
)
class SharedConvolution(torch.nn.Module):
    """A convolution with a norm behind it, and once more without."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.norm = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)
        self.norm.running_var = torch.rand(4) * 3.0 + 1.0
        self.norm.running_mean = torch.rand(4)
        self.requires_grad_(False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        first = self.convolution(x)
        return torch.relu(self.norm(first)) - first.mean(), self.convolution(x * 0.5)


@everyday(
    "levels_of_a_pyramid",
    f.convolution,
    f.parameters,
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.floats(1, 2, 6, 8), make.floats(1, 2, 3, 4)),
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
        self.requires_grad_(False)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return torch.relu(self.norms[0](self.convolution(x))), torch.relu(self.norms[1](self.convolution(y)))


@everyday(
    "padded_on_one_side",
    f.convolution,
    f.views,
    f.parameters,
    inputs=lambda make: (make.floats(1, 2, 7),),
)
class PaddedOnOneSide(torch.nn.Module):
    """A pad of zeros on one side, which is no padding of the convolution's own: that has as much on both."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv1d(2, 3, 3).requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.convolution(functional.pad(x, (2, 0))))


@everyday(
    "uneven_windows",
    f.convolution,
    f.elementwise,
    f.views,
    f.parameters,
    f.submodules,
    f.several_outputs,
    inputs=lambda make: (make.floats(1, 2, 7, 10),),
)
class UnevenWindows(torch.nn.Module):
    """Windows of more than one size; zeros around a picture, which are no minus infinity, by a function and by layers;
    and as many places as a transposed convolution is told to compute beyond its own."""

    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1, output_padding=1).requires_grad_(False)
        self.around = torch.nn.Sequential(torch.nn.ZeroPad2d(1), torch.nn.MaxPool2d(3, 2))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        padded = functional.pad(-x.abs() - 0.5, (1, 1, 1, 1))
        largest = functional.max_pool2d(padded, 3, 2)
        return functional.adaptive_avg_pool2d(x, (5, 4)), largest, self.around(-x.abs() - 0.5), self.up(x)


@everyday(
    "windows_that_hang_over",
    f.convolution,
    f.several_outputs,
    inputs=lambda make: (make.floats(1, 2, 8, 7),),
)
class WindowsThatHangOver(torch.nn.Module):
    """The last window lies partly outside: what is outside counts where it is padding, and nowhere else."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return (
            functional.avg_pool2d(x, 2, ceil_mode=True),
            functional.avg_pool2d(x, 3, stride=2, ceil_mode=True),
            functional.avg_pool2d(x, 3, stride=2, padding=1, ceil_mode=True),
            functional.max_pool2d(x - 9.0, 3, stride=2, padding=1, ceil_mode=True),
        )


@everyday(
    "smallest_of_windows",
    f.convolution,
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.floats(1, 2, 6, 4),),
)
class SmallestOfWindows(torch.nn.Module):
    """With a factor below zero the largest are the smallest, and what was kept is not."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        smallest = functional.max_pool2d(x * -1.0, 2) * -1.0
        return smallest, torch.relu(x * -1.0) + torch.relu(x), torch.clamp(x * -0.5, min=-0.25)
