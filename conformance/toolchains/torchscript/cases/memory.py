"""Where memory is shared, kept, or written in place."""

from __future__ import annotations

from typing import Tuple  # noqa: UP035

import torch
from torch import Tensor

from conformance.api import features as f
from conformance.toolchains.torchscript.cases import case


@case(
    "in_place",
    f.in_place,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(3, 3), make.floats(3, 3)) for _ in range(2)]},
)
class InPlace(torch.nn.Module):
    """Changes an intermediate result in place, and the slice of one; the inputs stay as they were."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        z = x - y
        z.add_(x).relu_()
        z[0] += 1.0
        return z


@case(
    "parameters",
    f.parameters,
    samples=lambda make: {"forward": [(make.floats(3, 4),), (make.floats(2, 4),)]},
)
class Parameters(torch.nn.Module):
    """A parameter that requires grad and is every second element of its memory, a buffer that begins in the middle of
    its own, and a second name for the parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(8)[::2])
        self.register_buffer("offset", torch.randn(6)[2:])
        self.tied = self.weight

    def forward(self, x: Tensor) -> Tensor:
        return x - self.weight + self.offset - self.tied


@case(
    "weighted_pair",
    f.parameters,
    samples=lambda make: {"forward": [(make.floats(2, 3), make.floats(2, 3)), (make.floats(3), make.floats(3))]},
)
class WeightedPair(torch.nn.Module):
    """Two tensors of one shape, and weights: what other modules can hold beside another of the same class."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x - self.weight - y


@case(
    "submodules",
    f.submodules,
    f.parameters,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(2, 3),), (make.floats(4, 3),)]},
)
class Submodules(torch.nn.Module):
    """The same submodule twice and another of the same class: each keeps its own weights and numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = _Scale(0.5, 3)
        self.second = _Scale(-1.5, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.first(self.second(self.first(x))) + self.second.helper(x)


class _Scale(torch.nn.Module):
    def __init__(self, factor: float, shift: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3))
        self.factor = factor
        self.shift = shift

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight * self.factor + self.shift

    def helper(self, x: Tensor) -> Tensor:
        return x - self.weight


@case(
    "snapshots",
    f.in_place,
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(3, 3), make.floats(3, 3)) for _ in range(2)]},
)
class Snapshots(torch.nn.Module):
    """What was copied before it was written to, by way of the list, or the dictionary, that holds it."""

    def forward(self, x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor]:  # noqa: UP006
        states = [x * 2.0, y - 1.0]
        before = states[0].clone()
        states[0].add_(states[1])
        named = {"mean": x + y}
        earlier = named["mean"].clone()
        named["mean"].mul_(0.5)
        return states[0] - before, named["mean"] * 3.0 - earlier


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
    "tied_in_another_method",
    f.several_methods,
    f.matmul,
    f.parameters,
    f.submodules,
    methods=("forward",),
    samples=lambda make: {"forward": [(make.integers(4, low=0, high=5),) for _ in "ab"]},
    touches=(f.integers, f.elementwise, f.reductions),
)
class TiedInAnotherMethod(torch.nn.Module):
    """A table, and norms that are still alike, have the weights of layers that only another method needs, which is not
    lowered."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.head = torch.nn.Embedding(5, 4), torch.nn.Linear(4, 5, bias=False)
        self.head.weight = self.words.weight
        self.ahead, self.behind = (torch.nn.LayerNorm(4, elementwise_affine=True) for _ in "ab")
        for norm in (self.ahead, self.behind):
            torch.nn.init.constant_(norm.weight, 1.5)
            torch.nn.init.constant_(norm.bias, 0.25)

    def forward(self, ids: Tensor) -> Tensor:
        return torch.tanh(self.behind(self.words(ids)))

    @torch.jit.export
    def decode(self, states: Tensor) -> Tensor:
        return self.head(self.ahead(states))


@case(
    "sized_after_broadcast",
    f.views,
    f.broadcasting,
    f.elementwise,
    f.parameters,
    samples=lambda make: {"forward": [(make.floats(2, 3, 4),), (make.floats(3, 3, 4),)]},
    touches=(f.scalars, f.reductions),
)
class SizedAfterBroadcast(torch.nn.Module):
    """A sum is as large as the larger of two, be that the second."""

    def __init__(self) -> None:
        super().__init__()
        self.places, self.scale = torch.nn.Parameter(torch.randn(1, 3, 4)), torch.nn.Parameter(torch.randn(4))

    def forward(self, x: Tensor) -> Tensor:
        placed = self.places + x
        batch, length, width = placed.shape
        scaled = self.scale * placed
        return scaled.reshape(batch * length, width) * float(scaled.dim()) + float(scaled.size(0))
