"""Models for torch.compile of what a compiler may combine: operators of a kind behind one another, or beside."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
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
