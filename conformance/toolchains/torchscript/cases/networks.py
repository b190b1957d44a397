"""Small networks as people ship them, with random weights."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.toolchains.torchscript.cases import case


@case(
    "linear",
    f.matmul,
    f.parameters,
    f.submodules,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(2, 8),), (make.floats(5, 8),)]},
)
class Linear(torch.nn.Module):
    """The weight of the first layer lies transposed in memory, as one that is tied to another layer's does."""

    def __init__(self) -> None:
        super().__init__()
        first = torch.nn.Linear(8, 16)
        first.weight = torch.nn.Parameter(torch.randn(8, 16).t())
        self.layers = torch.nn.Sequential(first, torch.nn.GELU(), torch.nn.Linear(16, 4))

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.layers(x), dim=-1)


@case(
    "given_weights",
    f.matmul,
    f.parameters,
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(5, 4), make.floats(3, 6), make.floats(3)) for _ in range(3)]},
)
class GivenWeights(torch.nn.Module):
    """The last layer is the caller's: what is packed of its weights is so for a single call."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 6)

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        features = torch.tanh(self.first(x))
        return functional.linear(features, weight, bias), features


@case(
    "conv_net",
    f.convolution,
    f.matmul,
    f.parameters,
    f.submodules,
    f.elementwise,
    f.views,
    f.scalars,
    samples=lambda make: {"forward": [(make.floats(1, 3, 16, 16),), (make.floats(2, 3, 16, 16),)]},
)
class ConvNet(torch.nn.Module):
    """Stride, dilation and padding differ by direction, and the classifier's input lies transposed in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, stride=(2, 1), padding=1, bias=False),
            _used_batch_norm(8),
            torch.nn.ReLU(inplace=True),
            torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(8, 16, 3, padding=(1, 2), dilation=(1, 2), groups=2),
            torch.nn.ReLU6(),
            torch.nn.AdaptiveAvgPool2d((1, 3)),
        )
        self.dropout = torch.nn.Dropout(0.5)
        self.classifier = torch.nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        regions = torch.flatten(self.features(x), 2).transpose(1, 2)
        return self.classifier(self.dropout(regions))


def _used_batch_norm(channels: int) -> torch.nn.BatchNorm2d:
    """With statistics, weight and bias of its own: a fresh one leaves its input as it is."""
    norm = torch.nn.BatchNorm2d(channels)
    norm.running_mean = torch.randn(channels)
    norm.running_var = torch.rand(channels) + 0.5
    torch.nn.init.uniform_(norm.weight, 0.5, 2.0)
    torch.nn.init.normal_(norm.bias)
    return norm


class _Adder(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


class _Subtractor(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + x - y  # what fails is not the first in its line


@case(
    "even_weights",
    f.parameters,
    f.matmul,
    everywhere=False,
    samples=lambda make: {"forward": [(make.floats(2, 300),), (make.floats(1, 300),)]},
)
class EvenWeights(torch.nn.Module):
    """350 KiB of weights which are all alike: no sequence of bytes is in them by accident."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((300, 300), 0.5))

    def forward(self, x: Tensor) -> Tensor:
        return torch.matmul(x, self.weight)


@case(
    "two_branches",
    f.submodules,
    samples=lambda make: {"forward": [tuple(make.floats(2, 3) for _ in range(4)) for _ in range(2)]},
)
class TwoBranches(torch.nn.Module):
    """Whichever argument does not fit, another submodule fails: two of them are of one class, in the same line."""

    def __init__(self) -> None:
        super().__init__()
        self.left = _Adder()
        self.right = _Subtractor()
        self.again = _Adder()

    def forward(self, x: Tensor, for_left: Tensor, for_right: Tensor, for_again: Tensor) -> Tensor:
        left = self.left(x, for_left)
        right = self.right(x, for_right)
        again = self.again(x, for_again)
        return left - right - again


@case(
    "behind_lists",
    f.submodules,
    f.views,
    everywhere=False,
    samples=lambda make: {"forward": [tuple(make.floats(2, 3) for _ in range(3)) for _ in range(2)]},
)
class BehindLists(torch.nn.Module):
    """The same, behind lists of sizes, which are made in one line and are no work of an operator."""

    def __init__(self) -> None:
        super().__init__()
        self.left = _Adder()
        self.right = _Subtractor()

    def forward(self, x: Tensor, for_left: Tensor, for_right: Tensor) -> Tensor:
        turned = x.reshape(x.size(0), 1, 3).transpose(0, 1).reshape(x.size(0), 3)
        return self.right(self.left(turned, for_left), for_right)


@case(
    "lstm",
    f.recurrent,
    f.parameters,
    f.submodules,
    f.views,
    f.scalars,
    f.control_flow,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(2, 5, 6),), (make.floats(3, 2, 6),)]},
)
class Lstm(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(6, 4, num_layers=2, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        outputs, (hidden, _) = self.lstm(x)
        return outputs, hidden


@case(
    "gated",
    f.recurrent,
    f.parameters,
    f.submodules,
    f.views,
    f.scalars,
    f.control_flow,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(3, 2, 6), make.floats(2, 6)) for _ in "ab"]},
)
class Gated(torch.nn.Module):
    """A layer and a single step, whose gates have a bias of the input's and one of the state's."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.GRU(6, 4)
        self.step = torch.nn.GRUCell(6, 4)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        rows, last = self.layer(x)
        return rows, self.step(y, last[0])


@case(
    "grouped",
    f.convolution,
    f.parameters,
    f.submodules,
    f.views,
    f.scalars,
    f.control_flow,
    samples=lambda make: {"forward": [(make.floats(2, 4, 5, 6),) for _ in "ab"]},
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
    "rescaled",
    f.convolution,
    f.scalars,
    f.control_flow,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(1, 2, 8, 5),) for _ in "ab"]},
)
class Rescaled(torch.nn.Module):
    """Pictures of another size, and so many times as large: then places are told by the factor, and not by the sizes,
    which are rounded down."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        sized = functional.interpolate(x, size=[3, 7])
        smooth = functional.interpolate(x, scale_factor=1.7, mode="bilinear", align_corners=False)
        return sized, smooth, functional.interpolate(x, scale_factor=[0.4, 2.3])
