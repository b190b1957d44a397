"""Models that are quantised before they are lowered: a layer for each result, which so is off by one step at most; and
one that was quantised by others."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.toolchains.executorch.cases import case, twice


@case(
    "quantised_add",
    f.quantized,
    everywhere=False,
    samples=twice(lambda make: (make.floats(2, 3, 4, 4), 3.0 * make.floats(2, 3, 4, 4) + 1.0)),
)
class QuantisedAdd(torch.nn.Module):
    """Operands of unequal scales and zero points."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


@case(
    "quantised_linear",
    f.quantized,
    f.parameters,
    f.matmul,
    f.several_outputs,
    everywhere=False,
    samples=twice(lambda make: (make.floats(5, 8),)),
)
class QuantisedLinear(torch.nn.Module):
    """Weights whose rows are of very different sizes: one scale does not serve them all; one has as many columns."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.square = torch.nn.Linear(8, 4), torch.nn.Linear(8, 8)
        with torch.no_grad():
            self.linear.weight.mul_(torch.tensor([[1.0], [0.2], [3.0], [0.05]]))
            self.square.weight.mul_(torch.tensor([1.0, 0.2, 3.0, 0.05, 0.5, 2.0, 0.1, 1.5])[:, None])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.linear(x), self.square(x)


@case(
    "quantised_conv",
    f.quantized,
    f.parameters,
    f.convolution,
    f.views,
    f.several_outputs,
    everywhere=False,
    samples=twice(lambda make: (make.floats(1, 3, 8, 8),)),
)
class QuantisedConv(torch.nn.Module):
    """A result that begins at zero: its zero point is the least of its values. And one of a filter for each channel, of
    very different sizes: a scale for each of them. And one whose halves share a scale, of which one begins at zero."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1, stride=2)
        self.first, self.second = torch.nn.Conv2d(3, 4, 3), torch.nn.Conv2d(3, 2, 3)
        self.apart = torch.nn.Conv2d(3, 3, 3, padding=1, groups=3)
        with torch.no_grad():
            self.apart.weight.mul_(torch.tensor([0.2, 3.0, 0.05]).reshape(3, 1, 1, 1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        joined = torch.cat([functional.relu(self.first(x)), self.second(x)], dim=1)
        return functional.relu(self.conv(x)), self.apart(x), joined


@case(
    "seven_bits",
    f.quantized,
    f.elementwise,
    f.several_outputs,
    samples=twice(lambda make: (8.0 * make.floats(3, 8),)),
)
class SevenBits(torch.nn.Module):
    """Steps of a range that is narrower than the dtype that holds them, as a quantizer may choose for a device whose
    products add up in 16 bits: what is beyond the range is its end, which is not where an activation ends."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        signed = _stepped(_stepped(x, -64, 63, torch.int8).abs() + _stepped(x * 0.5, -64, 63, torch.int8), -64, 63)
        unsigned = _stepped(_stepped(x, 0, 127, torch.uint8).neg(), 0, 127, torch.uint8)
        return signed, unsigned, _stepped(functional.relu(_stepped(x * 0.5, -64, 63)), -64, 63)


def _stepped(x: Tensor, least: int, most: int, dtype: torch.dtype = torch.int8) -> Tensor:
    """The nearest steps of a scale that every computer can divide by exactly."""
    scheme = (0.125, (least + most) // 2, least, most, dtype)
    steps = torch.ops.quantized_decomposed.quantize_per_tensor(x, *scheme)
    nearest: Tensor = torch.ops.quantized_decomposed.dequantize_per_tensor(steps, *scheme)
    return nearest
