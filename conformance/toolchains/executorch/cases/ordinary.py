"""Layers as networks join them, in the forms in which a kernel that was made for another form is wrong."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.toolchains.executorch.cases import case, twice


@case(
    "pictures_of_channels",
    f.views,
    f.several_outputs,
    samples=twice(lambda make: (make.floats(1, 8, 2, 3), make.floats(1, 2, 4, 6))),
)
class PicturesOfChannels(torch.nn.Module):
    """Channels become the places of larger pictures, two of them, and places become channels."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return functional.pixel_shuffle(x, 2), functional.pixel_unshuffle(y, 2)


@case(
    "scaled_layers",
    f.matmul,
    f.elementwise,
    f.parameters,
    f.several_outputs,
    samples=twice(lambda make: (make.floats(3, 4),)),
)
class ScaledLayers(torch.nn.Module):
    """A number that a layer is multiplied with, its bias too; and one for the product alone."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.other = torch.nn.Linear(4, 5), torch.nn.Linear(4, 5)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.layer(x) * 0.5, self.other(x * 2.0)


@case(
    "dilated",
    f.convolution,
    f.parameters,
    f.several_outputs,
    samples=twice(lambda make: (make.floats(1, 3, 7, 8),)),
)
class Dilated(torch.nn.Module):
    """Convolutions of one picture that differ in how far apart they look, and in no size."""

    def __init__(self) -> None:
        super().__init__()
        self.near, self.far = torch.nn.Conv2d(3, 2, 3, padding=1), torch.nn.Conv2d(3, 2, 3, padding=3, dilation=3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.near(x), self.far(x)


@case(
    "turned_kernels",
    f.convolution,
    f.parameters,
    f.several_outputs,
    samples=twice(lambda make: (make.floats(1, 3, 5, 4),)),
)
class TurnedKernels(torch.nn.Module):
    """Transposed convolutions, without strides and with them, whose kernels are the same from no two sides."""

    def __init__(self) -> None:
        super().__init__()
        self.plain = torch.nn.ConvTranspose2d(3, 2, 3, padding=1)
        self.strided = torch.nn.ConvTranspose2d(3, 2, (2, 3), stride=2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.plain(x), self.strided(x)


@case(
    "rows_of_a_cache",
    f.mutable_state,
    f.views,
    f.integers,
    samples=lambda make: {
        "forward": [(make.floats(3, 4), torch.tensor(places)) for places in ([4, 0, 2], [1, 3, 0], [2, 3, 4])]
    },
)
class RowsOfACache(torch.nn.Module):
    """Rows go to the places that they are given for, in whatever order, and wherever they lie."""

    cache: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(5, 4))

    def forward(self, x: Tensor, places: Tensor) -> Tensor:
        self.cache[places] = x
        return self.cache[places] * 1.0 - x + self.cache.index_select(0, places)


@case(
    "angles",
    f.elementwise,
    samples=twice(lambda make: (make.floats(8), make.floats(8))),
)
class Angles(torch.nn.Module):
    """Angles of the whole circle."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.atan2(x, y) + torch.atan2(x * 0.0, y - 0.5)


@case(
    "first_of_equals",
    f.reductions,
    f.integers,
    f.several_outputs,
    samples=twice(lambda make: (make.integers(3, 8, low=0, high=3).float(),)),
)
class FirstOfEquals(torch.nn.Module):
    """Of elements that are equally large, or small, the first is told."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x.argmax(1), x.argmin(0)


@case(
    "two_ways_to_divide",
    f.elementwise,
    f.several_outputs,
    samples=twice(lambda make: (make.floats(3, 4) * 8, make.floats(3, 4).abs() + 0.5)),
)
class TwoWaysToDivide(torch.nn.Module):
    """Of the same operands, and not the same: what differs is an option."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        down, towards_zero = (torch.div(x, y, rounding_mode=mode) for mode in ("floor", "trunc"))
        return down - towards_zero, torch.add(x, y) * torch.add(x, y, alpha=2)


@case(
    "before_and_after",
    f.mutable_state,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(4) + 1.0,) for _ in "abc"]},
)
class BeforeAndAfter(torch.nn.Module):
    """What a state was before it was changed is kept beside it."""

    mean: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        before = self.mean.clone()
        self.mean.mul_(0.75).add_(x * 0.25)
        return x - before


@case(
    "pictures_in_frames",
    f.convolution,
    f.parameters,
    samples=lambda make: {"forward": [(functional.pad(make.floats(1, 2, 4, 24), (4, 4, 2, 2)),) for _ in "abc"]},
)
class PicturesInFrames(torch.nn.Module):
    """One picture after the other that begin and end alike."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Conv2d(2, 3, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


@case(
    "bounded_activations",
    f.elementwise,
    f.several_outputs,
    samples=twice(lambda make: (make.floats(4, 6) * 6.0,)),
)
class BoundedActivations(torch.nn.Module):
    """Activations of models for small devices, on both sides of each bound."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        return (
            functional.relu6(x),
            functional.hardswish(x),
            functional.hardsigmoid(x),
            functional.hardtanh(x, -0.5, 2.0),
            functional.relu6(x + 3.0) * x / 6.0,
        )
