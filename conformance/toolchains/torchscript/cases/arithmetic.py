"""One addition, and what tensors can be like: their shapes, strides and special values."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.api import features as f
from conformance.toolchains.torchscript.cases import case


@case(
    "add",
    samples=lambda make: {"forward": [(make.floats(2, 3), make.floats(2, 3)) for _ in range(3)]},
)
class Add(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


@case(
    "add_sub",
    samples=lambda make: {"forward": [(make.floats(4), make.floats(4)), (make.floats(3, 2), make.floats(3, 2))]},
)
class AddSub(torch.nn.Module):
    """Not commutative: swapped arguments show."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return (x - y) + x


@case(
    "elementwise",
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(3, 5), make.positive(3, 5)) for _ in range(2)]},
)
class Elementwise(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        z = torch.relu(x * y) / y - torch.sigmoid(x)
        return torch.where(z > 0.25, torch.exp(z), torch.tanh(z)).clamp(-2.0, 2.0)


@case(
    "broadcast",
    f.broadcasting,
    samples=lambda make: {
        "forward": [
            (make.floats(4, 1, 3), make.floats(2, 1)),
            (make.floats(1), make.floats(5, 2)),
        ]
    },
)
class Broadcast(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x - y


@case(
    "zero_dim",
    f.zero_dim,
    samples=lambda make: {"forward": [(make.floats(), make.floats()) for _ in range(2)]},
)
class ZeroDim(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x - y


@case(
    "empty",
    f.empty,
    samples=lambda make: {
        "forward": [
            (make.floats(0), make.floats(0)),
            (make.floats(2, 0, 3), make.floats(2, 0, 3)),
            (make.floats(4, 0)[1:], make.floats(3, 0)),
        ]
    },
)
class Empty(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x - y


@case(
    "non_contiguous",
    f.non_contiguous,
    samples=lambda make: {
        "forward": [
            (make.floats(3, 5).t(), make.floats(5, 3)),
            (make.floats(6, 8)[::2, 1::3], make.floats(3, 3).t()),
            (make.floats(4, 1).expand(4, 5), make.floats(4, 5)),
            (make.floats(2, 3, 4).permute(2, 0, 1), make.floats(4, 2, 3)),
            (make.floats(2, 3, 4, 5).to(memory_format=torch.channels_last), make.floats(2, 3, 4, 5)),
            (make.floats(7, 1)[::3], make.floats(3, 4)[:, 2:3]),
        ]
    },
)
class NonContiguous(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x - y


@case(
    "large",
    f.large,
    samples=lambda make: {
        "forward": [(make.floats(300, 1001), make.floats(300, 1001)), (make.floats(262_147), make.floats(262_147))]
    },
)
class Large(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x - y


@case(
    "non_finite",
    f.non_finite,
    samples=lambda make: {
        "forward": [
            (
                torch.tensor([float("nan"), float("inf"), float("inf"), -0.0, 1.0]),
                torch.tensor([1.0, float("inf"), -1.0, 0.0, float("nan")]),
            ),
            (torch.tensor([float("-inf"), 3e38, -0.0]), torch.tensor([0.0, -3e38, 0.0])),
        ]
    },
)
class NonFinite(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x - y


@case(
    "reductions",
    f.reductions,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(3, 7),), (make.floats(2, 5, 4),)]},
)
class Reductions(torch.nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        largest, where = x.max(dim=1)
        return x.sum(dim=-1), x.mean() + largest.sum(), where


@case(
    "views",
    f.views,
    samples=lambda make: {"forward": [(make.floats(4, 6),), (make.floats(2, 10),)]},
)
class Views(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        left, right = x.chunk(2, dim=1)
        return torch.cat([right, left.flip(0)], dim=1).reshape(-1, x.size(0)).t()[:, 1:].contiguous() + 1.0
