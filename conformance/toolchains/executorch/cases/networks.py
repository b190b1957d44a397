"""Layers with weights, and small networks."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.toolchains.executorch.cases import case, twice


@case("linear", f.parameters, f.matmul, samples=twice(lambda make: (make.floats(5, 4),)))
class Linear(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)


@case("matmul", f.matmul, samples=twice(lambda make: (make.floats(2, 3, 4), make.floats(2, 4, 5))))
class MatMul(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.bmm(x, y)


@case("parameters", f.parameters, samples=twice(lambda make: (make.floats(3, 4),)))
class Parameters(torch.nn.Module):
    """A parameter and a buffer of one shape, which are no commutative matter."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4))
        self.register_buffer("offset", torch.randn(4))

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.weight) + (x - self.offset) - self.offset


@case("tied_weights", f.parameters, f.reductions, samples=twice(lambda make: (make.floats(4, 4),)))
class TiedWeights(torch.nn.Module):
    """One weight on both sides of what delegates seldom know, and in it."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4, 4))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cumsum(x + self.weight, dim=0) - torch.cumsum(self.weight, dim=1) + self.weight


@case("conv", f.convolution, f.parameters, samples=twice(lambda make: (make.floats(1, 3, 8, 8),)))
class Conv(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.conv(x))


@case("conv_net", f.convolution, f.parameters, f.matmul, samples=twice(lambda make: (make.floats(2, 3, 8, 8),)))
class ConvNet(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Conv2d(3, 6, 3, padding=1),
            torch.nn.BatchNorm2d(6),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(6, 6, 3, groups=2),
            torch.nn.AdaptiveAvgPool2d(1),
            torch.nn.Flatten(),
        )
        self.head = torch.nn.Linear(6, 5)

    def forward(self, x: Tensor) -> Tensor:
        return functional.softmax(self.head(self.body(x)), dim=-1)


@case("attention", f.matmul, f.views, f.reductions, f.parameters, samples=twice(lambda make: (make.floats(1, 6, 8),)))
class Attention(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(8)
        self.project = torch.nn.Linear(8, 24)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.project(self.norm(x)).chunk(3, dim=-1)
        return x + functional.scaled_dot_product_attention(query, key, value)


@case("embedding", f.parameters, f.integers, samples=twice(lambda make: (make.integers(2, 5, low=0, high=7),)))
class Embedding(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(7, 3)

    def forward(self, index: Tensor) -> Tensor:
        return self.table(index)


@case("submodules", f.parameters, f.matmul, f.submodules, samples=twice(lambda make: (make.floats(3, 4),)))
class Submodules(torch.nn.Module):
    """One layer that is called twice, and one that is called once."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.first(torch.relu(self.second(self.first(x))))


@case(
    "channels_last",
    f.convolution,
    f.parameters,
    f.non_contiguous,
    f.several_outputs,
    samples=twice(lambda make: (make.floats(2, 3, 6, 8).to(memory_format=torch.channels_last),)),
)
class ChannelsLast(torch.nn.Module):
    """Channels vary fastest in memory, in what goes in and in what comes out; not in a copy of that, nor in rows."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        maps = functional.relu(self.conv(x))
        return maps, maps.contiguous() * 2.0, maps.flatten(1) - 1.0


@case(
    "pooled_channels_last",
    f.convolution,
    f.non_contiguous,
    samples=twice(lambda make: (make.floats(1, 2, 5, 5).to(memory_format=torch.channels_last),)),
)
class PooledChannelsLast(torch.nn.Module):
    """A kernel that chooses how its result lies in memory, which may be otherwise than the program planned."""

    def forward(self, x: Tensor) -> Tensor:
        return functional.avg_pool2d(x, 2, ceil_mode=True)


@case("inverted_residual", f.convolution, f.parameters, samples=twice(lambda make: (make.floats(1, 4, 7, 7),)))
class InvertedResidual(torch.nn.Module):
    """The block that mobile networks are built of."""

    def __init__(self) -> None:
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Conv2d(4, 12, 1, bias=False),
            torch.nn.BatchNorm2d(12),
            torch.nn.Hardswish(),
            torch.nn.Conv2d(12, 12, 3, padding=1, groups=12, bias=False),
            torch.nn.BatchNorm2d(12),
            torch.nn.ReLU6(),
            torch.nn.Conv2d(12, 4, 1),
        )
        self.gate = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Conv2d(4, 4, 1), torch.nn.Hardsigmoid())

    def forward(self, x: Tensor) -> Tensor:
        y = self.body(x)
        return x + y * self.gate(y)


@case("transposed_conv", f.convolution, f.parameters, samples=twice(lambda make: (make.floats(1, 3, 5, 6),)))
class TransposedConv(torch.nn.Module):
    """Sizes that only the output padding tells, and a dilated convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1)
        self.wide = torch.nn.Conv2d(4, 2, 3, dilation=2)

    def forward(self, x: Tensor) -> Tensor:
        return self.wide(functional.leaky_relu(self.up(x), 0.1))


@case("pooling", f.convolution, f.views, samples=twice(lambda make: (make.floats(1, 2, 7, 9),)))
class Pooling(torch.nn.Module):
    """Windows that overhang the edge, or the padding, padding that is counted and that is not, and padding alone."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        largest = functional.max_pool2d(x, 3, stride=2, padding=1, ceil_mode=True)
        uncounted = functional.avg_pool2d(x, 2, stride=2, ceil_mode=True, count_include_pad=False)
        counted = functional.avg_pool2d(x, 4, stride=2, padding=1, ceil_mode=True)
        overhanging = functional.avg_pool2d(x, 2, ceil_mode=True)
        return largest, uncounted, counted, overhanging, functional.pad(x, (1, 2, 0, 1), value=-3.0)


@case("activations", f.elementwise, samples=twice(lambda make: (make.floats(3, 8),)))
class Activations(torch.nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return functional.gelu(x), functional.elu(x), functional.softmax(x, dim=0), functional.log_softmax(x, dim=-1)


@case("upsampled", f.convolution, f.views, samples=twice(lambda make: (make.floats(1, 2, 4, 5),)))
class Upsampled(torch.nn.Module):
    """Both ways to place the corners."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        corners = functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)
        return corners, functional.interpolate(x, size=(7, 8), mode="bilinear", align_corners=False)


@case("recurrent", f.recurrent, f.parameters, f.matmul, samples=twice(lambda make: (make.floats(3, 2, 4),)))
class Recurrent(torch.nn.Module):
    """A cell that is called for each step, with a state that goes through them."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(4, 5)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        outputs, (hidden, _) = self.lstm(x)
        return outputs, hidden


@case("heavy", f.parameters, f.matmul, everywhere=False, samples=twice(lambda make: (make.floats(1, 512),)))
class Heavy(torch.nn.Module):
    """A mebibyte of weights: what is kept of it shows."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(512, 512)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)


@case(
    "nearly_attention",
    f.matmul,
    f.views,
    samples=twice(lambda make: tuple(make.floats(1, 3, 4, 3) for _ in "qkv")),
)
class NearlyAttention(torch.nn.Module):
    """A softmax along the columns, and keys of which other sides change places: no attention that a kernel has."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        columns = torch.softmax(query @ key.transpose(-1, -2) / 2.0, dim=-2) @ value
        return columns, torch.softmax(query @ key.permute(0, 3, 1, 2) / 2.0, dim=-1) @ value


@case(
    "norms_between",
    f.matmul,
    f.parameters,
    f.elementwise,
    f.reductions,
    samples=twice(lambda make: (make.floats(5, 8),)),
)
class NormsBetween(torch.nn.Module):
    """Layers whose activations end in norms, which delegates of few operators leave out: three parts, each of which
    ends otherwise, and the last in what may be negative."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = torch.nn.Linear(8, 6), torch.nn.Linear(6, 6), torch.nn.Linear(6, 4)
        self.norm, self.other = torch.nn.LayerNorm(6), torch.nn.LayerNorm(6)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(functional.relu(self.first(x)))
        return self.last(self.other(functional.hardtanh(self.second(x), -0.5, 0.25)))


@case(
    "residual_blocks",
    f.convolution,
    f.parameters,
    f.elementwise,
    f.reductions,
    f.matmul,
    samples=twice(lambda make: (make.floats(1, 2, 5, 6),)),
)
class ResidualBlocks(torch.nn.Module):
    """What an activation gives goes on inside a block, and past it to a sum that delegates of few operators leave."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.last = torch.nn.Conv2d(2, 3, 3), torch.nn.Linear(3, 2)
        self.bodies = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Conv2d(3, 3, 3, padding=1), torch.nn.BatchNorm2d(3), torch.nn.ReLU())
            for _ in "ab"
        )

    def forward(self, x: Tensor) -> Tensor:
        x = torch.tanh(self.stem(x))
        for body in self.bodies:
            x = functional.relu(x + body(x))
        return self.last(x.mean((2, 3)))


@case("denormalised", f.matmul, f.parameters, f.elementwise, samples=twice(lambda make: (make.floats(3, 4),)))
class Denormalised(torch.nn.Module):
    """What a layer predicts is brought to the scale of what it predicts, by numbers that the model has."""

    spread: Tensor
    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.register_buffer("spread", torch.rand(3) + 2.0)
        self.register_buffer("mean", torch.randn(3) * 5.0)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x) * self.spread + self.mean
