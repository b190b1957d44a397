"""Buffers that a method writes, which keep their values from call to call."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance.api import features as f
from conformance.toolchains.executorch.cases import case, twice


@case(
    "running_sum",
    f.mutable_state,
    f.parameters,
    samples=lambda make: {"forward": [(make.floats(3),) for _ in range(4)]},
)
class RunningSum(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.total.add_(x)
        return self.total + x


@case(
    "shifting_window",
    f.mutable_state,
    f.parameters,
    f.views,
    samples=lambda make: {"forward": [(make.floats(1, 3),) for _ in range(5)]},
)
class ShiftingWindow(torch.nn.Module):
    """The write is several steps after what is written was computed, and a read between them: the window moves by one
    row with each call."""

    window: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.zeros(3, 3))

    def forward(self, x: Tensor) -> Tensor:
        moved = torch.cat((self.window[1:], x), dim=0)
        change = moved - self.window * 0.5 - x
        self.window.copy_(moved)
        return change


@case(
    "wrapping_cache",
    f.mutable_state,
    f.parameters,
    f.views,
    f.integers,
    samples=lambda make: {
        "forward": [(make.floats(2, 3), torch.tensor(rows)) for rows in ([0, 1], [2, 3], [4, 0], [3, 1], [1, 0])]
    },
)
class WrappingCache(torch.nn.Module):
    """Rows are kept where each call says: after the last comes the first again, and they need be no neighbours."""

    kept: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kept", torch.zeros(5, 3))

    def forward(self, rows: Tensor, places: Tensor) -> Tensor:
        self.kept[places] = rows
        return self.kept * 2.0 - rows.sum(0)


@case(
    "two_moments",
    f.mutable_state,
    f.parameters,
    f.elementwise,
    samples=lambda make: {"forward": [(x,) for x in (make.floats(3), make.floats(3)) for _ in range(2)]},
)
class TwoMoments(torch.nn.Module):
    """Buffers that begin alike, and are two; and what is given twice gives something else the second time."""

    first: Tensor
    second: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("first", torch.zeros(3))
        self.register_buffer("second", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.first.copy_(self.first * 0.5 + x)
        self.second.copy_(self.second * 0.75 + x * x)
        return self.first / (self.second + 1.0)


@case(
    "state_of_two_parts",
    f.mutable_state,
    f.parameters,
    f.elementwise,
    f.reductions,
    samples=lambda make: {"forward": [(make.floats(3),) for _ in range(4)]},
)
class StateOfTwoParts(torch.nn.Module):
    """A buffer is read ahead of a scan, which most delegates leave to ExecuTorch, and behind it, and then written."""

    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        scanned = torch.cumsum((x + self.total) * 2.0, 0)
        result = scanned * 3.0 + self.total
        self.total.add_(x)
        return result


@case(
    "written_by_a_scan",
    f.mutable_state,
    f.parameters,
    f.elementwise,
    f.reductions,
    samples=lambda make: {"forward": [(make.floats(3),) for _ in range(4)]},
)
class WrittenByAScan(torch.nn.Module):
    """A buffer that a delegate may read is written by what it may leave to ExecuTorch."""

    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        result = (x + self.total) * 2.0
        self.total.copy_(torch.cumsum(x, 0))
        return result


@case(
    "centred_steps",
    f.mutable_state,
    f.parameters,
    f.elementwise,
    f.matmul,
    samples=lambda make: {"forward": [(make.floats(1, 4),) for _ in range(4)]},
)
class CentredSteps(torch.nn.Module):
    """One buffer never changes, and comes ahead of the one that does."""

    centre: Tensor
    hidden: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("centre", torch.rand(1, 4) + 0.5)
        self.register_buffer("hidden", torch.zeros(1, 4))
        self.new, self.old, self.out = (torch.nn.Linear(4, 4) for _ in range(3))
        self.requires_grad_(False)  # Autograd lets nobody write a result that has a history to a buffer

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.tanh(self.new(x - self.centre) + self.old(self.hidden))
        self.hidden.copy_(hidden)
        result: Tensor = self.out(hidden) - self.centre
        return result


@case(
    "old_and_new",
    f.mutable_state,
    f.parameters,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(3),) for _ in range(4)]},
)
class OldAndNew(torch.nn.Module):
    """What a buffer becomes is computed, and then the buffer is read once more: it still is what it was."""

    used: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("used", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        used = self.used + torch.relu(x)
        middle = (used + self.used) * 0.5
        self.used.copy_(used)
        return middle - 1.0


@case(
    "begun_alike",
    f.mutable_state,
    f.parameters,
    f.elementwise,
    f.booleans,
    samples=lambda make: {"forward": [(make.positive(3),) for _ in range(4)]},
)
class BegunAlike(torch.nn.Module):
    """A buffer that never changes begins with the numbers of one that does: they are two."""

    charge: Tensor
    rest: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("charge", torch.zeros(3))
        self.register_buffer("rest", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        charge = self.charge * 0.75 + x
        self.charge.copy_(torch.where(charge > 1.0, self.rest, charge))
        return charge - self.rest


@case(
    "computed_filter",
    f.parameters,
    f.convolution,
    samples=twice(lambda make: (make.floats(1, 1, 7),)),
)
class ComputedFilter(torch.nn.Module):
    """What two models differ in alone is computed when they are made, and in no checkpoint."""

    taps: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("taps", torch.randn(1, 1, 3), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return torch.nn.functional.conv1d(x, self.taps) - 1.0


@case(
    "adapted_taps",
    f.mutable_state,
    f.parameters,
    f.matmul,
    samples=lambda make: {"forward": [(make.floats(4, 6), make.floats(4, 6)) for _ in range(4)]},
)
class AdaptedTaps(torch.nn.Module):
    """The weights of a layer are no constants: each call writes them, and a layer reads them turned around."""

    taps: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.bands = torch.nn.Linear(6, 3, bias=False).requires_grad_(False)
        self.register_buffer("taps", torch.zeros(3, 3))

    def forward(self, far: Tensor, near: Tensor) -> Tensor:
        heard = self.bands(far)
        left = self.bands(near) - torch.nn.functional.linear(heard, self.taps)
        self.taps.add_(0.5 * left.t() @ heard / (1.0 + (heard * heard).sum()))
        return left


@case(
    "visited",
    f.mutable_state,
    f.parameters,
    f.integers,
    samples=lambda make: {"forward": [(make.integers(2, low=0, high=7), make.floats(2, 3)) for _ in range(4)]},
)
class Visited(torch.nn.Module):
    """Something is added up, and something looked up, which may fail."""

    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(7, 3)
        self.register_buffer("total", torch.zeros(2, 3))

    def forward(self, places: Tensor, x: Tensor) -> Tensor:
        self.total.add_(x)
        return torch.tanh(self.table(places)) + self.total
