"""Control flow, exceptions of the model itself, and what needs more than dataflow."""

from __future__ import annotations

from typing import List, Tuple  # noqa: UP035  (TorchScript resolves these names)

import torch
from torch import Tensor

from conformance.api import features as f
from conformance.toolchains.torchscript.cases import case


@case(
    "control_flow",
    f.control_flow,
    f.elementwise,
    f.reductions,
    samples=lambda make: {"forward": [(make.positive(3),), (-make.positive(3),), (make.positive(3) - 10.0,)]},
)
class ControlFlow(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            y = x * 2.0
        elif bool(x.min() < -5.0):
            y = x - 1.0
        else:
            y = -x
        return y + x


@case(
    "loops",
    f.loops,
    f.control_flow,
    f.elementwise,
    f.reductions,
    f.scalars,
    samples=lambda make: {
        "forward": [
            (make.positive(3), make.number()),
            (make.positive(4), 0),
            (make.positive(2), 1),
            (make.positive(2), 90),
        ]
    },
)
class Loops(torch.nn.Module):
    def forward(self, x: Tensor, count: int) -> Tensor:
        for i in range(count):
            if i == 3:
                continue
            x = x * 0.5 + i
        for _ in range(count):
            x = x - 0.25
        while bool(x.sum() < 20.0):
            x = x + 3.0
        return x


@case(
    "kept_in_training",
    f.control_flow,
    f.elementwise,
    f.submodules,
    samples=lambda make: {"forward": [(make.floats(3),), (make.floats(2, 4),)]},
)
class KeptInTraining(torch.nn.Module):
    """A part of it stays in training, as where dropout tells how sure a network is."""

    def __init__(self) -> None:
        super().__init__()
        self.part = _AsInTraining()

    def forward(self, x: Tensor) -> Tensor:
        return self.part(x) if not self.training else x


class _AsInTraining(torch.nn.Module):
    def train(self, mode: bool = True) -> _AsInTraining:
        return super().train(True)

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            return x * 2.0
        return x - 1.0


@case(
    "blocks",
    f.control_flow,
    f.loops,
    f.elementwise,
    f.reductions,
    everywhere=False,
    samples=lambda make: {"forward": [tuple(make.positive(2, 3) for _ in range(3)) for _ in range(2)]},
)
class Blocks(torch.nn.Module):
    """Whichever argument does not fit, an operator in another block fails."""

    def forward(self, x: Tensor, in_branch: Tensor, in_loop: Tensor) -> Tensor:
        if bool(x.sum() > -1.0):
            x = x + in_branch
        for _ in range(2):
            x = x - in_loop
        return x


@case(
    "lookup",
    f.views,
    f.several_outputs,
    everywhere=False,
    samples=lambda make: {
        "forward": [(make.floats(6, 3), torch.tensor([5, 0, 3])), (make.floats(7, 3), torch.tensor([2, 6]))]
    },
    touches=(f.integers,),
)
class Lookup(torch.nn.Module):
    """Reads rows by their numbers, of which there may be none."""

    def forward(self, table: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        return torch.index_select(table, 0, rows), torch.nn.functional.embedding(rows, table)


@case(
    "raising",
    f.raising,
    f.control_flow,
    f.reductions,
    samples=lambda make: {"forward": [(make.positive(3),), (make.positive(5),)]},
)
class Raising(torch.nn.Module):
    """Holds a raise that the sample inputs do not reach."""

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() < 0):
            raise ValueError("the sum is negative")
        return x + x


@case(
    "mutable_state",
    f.mutable_state,
    samples=lambda make: {"forward": [(make.floats(3),), (make.floats(3),)]},
)
class MutableState(torch.nn.Module):
    """Writes an attribute at every call; the result depends on this call alone, so that calls can be repeated."""

    def __init__(self) -> None:
        super().__init__()
        self.last = torch.zeros(1)

    def forward(self, x: Tensor) -> Tensor:
        self.last = x + 1.0
        return self.last - x


@case(
    "fork",
    f.fork,
    samples=lambda make: {"forward": [(make.floats(3), make.floats(3)) for _ in range(2)]},
)
class Fork(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        future = torch.jit.fork(_taken_away, x, y)
        return torch.jit.wait(future) + x


def _taken_away(x: Tensor, y: Tensor) -> Tensor:
    return x - y


@case(
    "bound_in_a_bound",
    f.scalars,
    f.control_flow,
    samples=lambda make: {"forward": [(make.floats(3), count) for count in (1, 3, 5, 7, 9)]},
)
class BoundInABound(torch.nn.Module):
    """Who is below five need not be below two; who is above four need not be above seven."""

    def forward(self, x: Tensor, count: int) -> Tensor:
        if count < 5:
            x = x + 1.0
            if count < 2:
                x = x + 10.0
        if count > 4:
            x = x - 1.0
            if count > 7:
                x = x - 10.0
        return x


@case(
    "draws",
    f.random_numbers,
    f.loops,
    f.reductions,
    f.booleans,
    samples=lambda make: {"forward": [(make.floats(3),) for _ in "ab"]},
    touches=(f.mixed_dtypes, f.zero_dim, f.broadcasting),
)
class Draws(torch.nn.Module):
    """Random numbers of which no part of the result is left, unless two draws are the same, of one turn or of two."""

    def forward(self, x: Tensor) -> Tensor:
        last = torch.zeros(50)
        for _ in range(2):
            drawn = torch.rand(50)
            x = x + (drawn == torch.rand(50)).all() + (drawn == last).all() + (drawn < 0).any() + (drawn >= 1).any()
            last = drawn
        return x


@case(
    "dropped_in_evaluation",
    f.random_numbers,
    f.elementwise,
    f.reductions,
    f.booleans,
    samples=lambda make: {"forward": [(make.positive(20, 30),) for _ in "ab"]},
    touches=(f.mixed_dtypes, f.zero_dim, f.broadcasting),
)
class DroppedInEvaluation(torch.nn.Module):
    """What drops outside of training too, as estimates over several runs do: of the result is left that it did."""

    def forward(self, x: Tensor) -> Tensor:
        dropped = torch.dropout(x, 0.5, True)
        return x + (dropped == 0).any() * 2.0 + (dropped > x).any()


@case(
    "temperatures",
    f.loops,
    f.matmul,
    f.parameters,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(5, 4),), (make.floats(2, 4),)]},
)
class Temperatures(torch.nn.Module):
    """What is computed once, ahead of a loop, and read by one operator in each of its iterations."""

    def __init__(self) -> None:
        super().__init__()
        self.head = torch.nn.Linear(4, 3)
        self.phase = torch.nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        scores, angles = self.head(x), self.phase(x)
        total = torch.zeros_like(scores)
        for step in range(3):
            total = total * 0.5 + torch.sigmoid(scores) * (step + 1) - angles * 2.5
        return total


@case(
    "one_loop_after_another",
    f.loops,
    f.in_place,
    f.views,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(4, 3),) for _ in "ab"]},
)
class OneLoopAfterAnother(torch.nn.Module):
    """The second loop reads all that the first one has written, and not what its turn did."""

    def forward(self, x: Tensor) -> Tensor:
        table = torch.zeros_like(x)
        kept, total = [x[0]], x[0] * 2.0
        for i in range(4):
            table[i] = x[i] * i + 1.0
            kept.append(kept[i] * 0.5 + i)
        for i in range(4):
            total = total * 0.5 + table[3 - i] - kept[4 - i]
        return total


@case(
    "asked_first",
    f.control_flow,
    f.loops,
    f.nested_values,
    f.scalars,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(3), sizes) for sizes in ([3], [0, 2], [1, 7, 4])]},
)
class AskedFirst(torch.nn.Module):
    """Look-ups and divisions that are made only where a condition ahead of them says that they can be."""

    def forward(self, x: Tensor, sizes: List[int]) -> Tensor:  # noqa: UP006
        gains = {"scale": 2.0}
        gain = gains["gain"] if "gain" in gains else gains["scale"]
        width = sizes[1] if len(sizes) > 1 else 1
        rest = 12 // sizes[0] if sizes[0] != 0 else 5
        place = 0
        while place < len(sizes) and sizes[place] != 7:
            place += 1
        return x * width + gain * rest + place


@case(
    "grown_lists",
    f.loops,
    f.nested_values,
    f.scalars,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(size, 2),) for size in (3, 1)]},
)
class GrownLists(torch.nn.Module):
    """A list that is longer by what is added to another leaves that one as it was, for whoever reads it again."""

    def forward(self, x: Tensor) -> Tuple[Tensor, List[List[int]]]:  # noqa: UP006
        paths = [[0], [7]]
        for step in range(x.size(0)):
            grown: List[List[int]] = []  # noqa: UP006
            for i in range(len(paths)):
                for token in range(x.size(1)):
                    grown.append(paths[i] + [token])
            paths = [grown[step], grown[3 - step]]
        return x * sum(paths[0]), paths
