"""Models of what a compiler may combine: operators of a kind behind one another, beside one another, in two methods, or
in two branches."""

from __future__ import annotations

from typing import Optional, Tuple  # noqa: UP035  (TorchScript resolves these names)

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.toolchains.torchscript.cases import case


@case(
    "formulas",
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(3, 4), make.positive(3, 4)) for _ in "ab"]},
)
class Formulas(torch.nn.Module):
    """What is subtracted is a sum, what is divided by is a product; and the root of a square is no number's own."""

    def forward(self, x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor, Tensor]:  # noqa: UP006
        return x - (y + x * 2.0), x / (y * 3.0), (x * x).sqrt() + (x - (y - 1.0))


@case(
    "whole_between",
    f.elementwise,
    f.views,
    f.mixed_dtypes,
    samples=lambda make: {"forward": [(make.floats(3, 4),) for _ in "ab"]},
    touches=(f.integers,),
)
class WholeBetween(torch.nn.Module):
    """What becomes a whole number and a float again has lost what was behind its point."""

    def forward(self, x: Tensor) -> Tensor:
        return (x * 10.0).int().float() / 10.0 - x


@case(
    "other_branch",
    f.control_flow,
    f.elementwise,
    f.reductions,
    f.views,
    samples=lambda make: {"forward": [(make.floats(5, 4),), (make.floats(2, 4),)]},
)
class OtherBranch(torch.nn.Module):
    """What one branch computes cannot be computed where the other one is taken."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.sum(0)
        if x.size(0) > 3:
            y = x[3] * 2.0
        return y


@case(
    "in_steps",
    f.loops,
    f.elementwise,
    f.reductions,
    f.views,
    samples=lambda make: {"forward": [(make.floats(10, 3),), (make.floats(8, 3),)]},
)
class InSteps(torch.nn.Module):
    """Windows that do not divide a sequence: the last turn is one like the others."""

    def forward(self, x: Tensor) -> Tensor:
        y = x[0] * 0.0
        for i in range(0, x.size(0), 4):
            y = y * 0.5 + x[i : i + 4].sum(0)
        for j in range(7, 1, -4):
            y = y * 0.5 + x[j]
        return y


@case(
    "pieces_written",
    f.in_place,
    f.elementwise,
    f.views,
    samples=lambda make: {"forward": [(make.floats(3, 6),) for _ in "ab"]},
)
class PiecesWritten(torch.nn.Module):
    """Nobody reads the piece that is written to, and everybody the whole."""

    def forward(self, x: Tensor) -> Tensor:
        y = x + 1.0
        first, second = y.chunk(2, 1)
        first.mul_(2.0)
        second.split(1, 1)[2].add_(3.0)
        return y


@case(
    "listed_tables",
    f.elementwise,
    f.mixed_dtypes,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.integers(3), make.floats(3)) for _ in "ab"]},
    touches=(f.integers,),
)
class ListedTables(torch.nn.Module):
    """Tensors in a list are an attribute, of more than one dtype."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = [torch.tensor([3, 5, 2**40]), torch.randn(3), torch.randn(3).double()]

    def forward(self, count: Tensor, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:  # noqa: UP006
        return count * self.tables[0], x * self.tables[1], x + self.tables[2]


@case(
    "scaled_in_methods",
    f.several_methods,
    f.matmul,
    f.elementwise,
    f.parameters,
    methods=("forward", "scores"),
    samples=lambda make: {method: [(make.floats(3, 4),) for _ in "ab"] for method in ("forward", "scores")},
)
class ScaledInMethods(torch.nn.Module):
    """A layer is scaled in either method, and is one layer."""

    def __init__(self) -> None:
        super().__init__()
        self.query = torch.nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.query(x) * 0.5

    @torch.jit.export
    def scores(self, x: Tensor) -> Tensor:
        return torch.relu(self.query(x) * 0.5) - self.query(x)


@case(
    "layers_with_options",
    f.convolution,
    f.elementwise,
    f.views,
    f.parameters,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(1, 4, 5, 6),) for _ in "ab"]},
)
class LayersWithOptions(torch.nn.Module):
    """Kernels without a middle, more filters than channels in a group, a norm behind a transposed convolution of as
    many channels as it is given, a norm of two sides, and channels that are shuffled."""

    def __init__(self) -> None:
        super().__init__()
        self.same = torch.nn.Conv1d(4, 2, 4, padding="same")
        self.apart = torch.nn.Conv2d(4, 8, 3, groups=4)
        self.up, self.norm = torch.nn.ConvTranspose2d(4, 4, 3, stride=2), torch.nn.BatchNorm2d(4)
        self.sides = torch.nn.LayerNorm([5, 6])
        self.norm.running_mean.uniform_(-1.0, 1.0)  # type: ignore[union-attr]
        self.norm.running_var.uniform_(0.5, 2.0)  # type: ignore[union-attr]

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # noqa: UP006
        shuffled = x.view(1, 2, 2, 5, 6).transpose(1, 2).reshape(1, 4, 5, 6)
        return (
            self.same(x[:, :, 0]),
            functional.relu(self.apart(x)),
            functional.relu(self.norm(self.up(x))),
            self.sides(x),
            shuffled * 2.0,
        )


@case(
    "either_given",
    f.optionals,
    f.control_flow,
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
    """Which of two options was given, where there are as many arguments either way."""

    def forward(self, x: Tensor, factor: Optional[Tensor], offset: Optional[Tensor]) -> Tensor:  # noqa: UP045
        if factor is not None:
            x = x * factor
        return x * 2.0 if offset is None else x - offset


@case(
    "no_turn_at_all",
    f.elementwise,
    f.reductions,
    f.control_flow,
    f.loops,
    f.scalars,
    samples=lambda make: {"forward": [(make.positive(3) * 0.1, 0), (make.positive(3) + 4.0, 2)]},
)
class NoTurnAtAll(torch.nn.Module):
    """What a condition is false for at its beginning is not done once."""

    def forward(self, x: Tensor, count: int) -> Tensor:
        turn = 0
        while turn < count:
            x = x - 0.5
            turn += 1
        while bool(x.max() > 1.0):
            x = x * 0.5
        return x + 0.25


@case(
    "views_in_their_place",
    f.elementwise,
    f.views,
    f.parameters,
    f.several_outputs,
    samples=lambda make: {"forward": [tuple(make.floats(3, 4) for _ in "xyz") for _ in "ab"]},
)
class ViewsInTheirPlace(torch.nn.Module):
    """What is computed of a view of an argument, or of a weight, has memory of its own, although nothing else in the
    model needs what it is a view of."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(-1.0, 1.0, 8).reshape(2, 4))

    def forward(self, x: Tensor, y: Tensor, z: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:  # noqa: UP006
        return (
            torch.relu(x[1:]),
            torch.sigmoid(y.flatten()),
            torch.tanh(z.transpose(0, 1)),
            torch.exp(self.weight[0]),
        )


class Reaching(torch.nn.Module):
    """Adds, or not, what lies so many places further on."""

    def __init__(self, weight: float) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor(weight))

    def forward(self, x: Tensor, places: int, adds: bool = True) -> Tensor:
        y = torch.roll(x, places, 0) * self.weight
        return y + x if adds else y


@case(
    "called_each_its_way",
    f.submodules,
    f.parameters,
    f.control_flow,
    f.scalars,
    f.views,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(5),) for _ in "ab"]},
)
class CalledEachItsWay(torch.nn.Module):
    """Parts of one class, each of which is always called with the same numbers, and these are not the other's."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Reaching(0.5), Reaching(-2.0)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(x, 1), 2, False) + self.first(x, 1)
