"""More models for torch.compile: memory that is written to or shared, control flow, sizes, operators of one's own."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch._higher_order_ops.while_loop import while_loop
from torch.nn import functional

from conformance.api import features as f
from conformance.api.maker import Maker
from conformance.toolchains.dynamo.cases.models import case, pairs


@case("in_place", f.in_place, f.views, samples=pairs(3))
class InPlace(torch.nn.Module):
    """On what is its own."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        z = x - y
        z.mul_(2)[1:] += 1
        return z - y.clone().relu_()


@case("writes_input", f.input_mutation, samples=pairs(3))
class WritesInput(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x.sub_(y).mul_(2)
        return x * 3 - y


@case("writes_slice", f.input_mutation, f.views, samples=pairs(4, 3))
class WritesSlice(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x[1:3, ::2] = y[:2, 1:] - 1
        return torch.relu(x) * 2 - y


@case("writes_buffer", f.input_mutation, f.parameters, samples=pairs(3))
class WritesBuffer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        self.total.add_(x - y)
        return self.total * 2 - torch.relu(y)


@case(
    "clipped_rows",
    f.input_mutation,
    f.parameters,
    f.matmul,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.integers(5, low=0, high=7),) for _ in "ab"]},
    touches=(f.integers,),
)
class ClippedRows(torch.nn.Module):
    """Rows that are looked up, and too long, are made shorter in the table itself, which is used once more."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(7, 3, max_norm=0.8)

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        found = torch.relu(self.table(rows) * 2)
        return found - 1, found @ self.table.weight.t()


@case("returns_views", f.views, f.several_outputs, samples=pairs(4, 3))
class ReturnsViews(torch.nn.Module):
    """Of an argument, of one another, and an argument itself."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        z = torch.relu(x - y) * 2
        return x[1:], z, z.t(), y


@case("graph_break", samples=pairs(3))
class GraphBreak(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        z = torch.relu(x - y) * 2
        torch._dynamo.graph_break()
        return torch.relu(z - 1) - y / 2 * x


@case(
    "branch_on_data",
    f.reductions,
    f.booleans,
    samples=lambda make: {"forward": [(make.positive(3), make.floats(3)), (-make.positive(3), make.floats(3))]},
    touches=(f.zero_dim,),
)
class BranchOnData(torch.nn.Module):
    """The branch is Dynamo's, which breaks the graph there."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        z = x * 2 - y + y
        if z.sum() > 0:
            return torch.relu(y) - z * 2
        return z - y * 3


@case(
    "cond",
    f.control_flow,
    f.reductions,
    f.booleans,
    samples=lambda make: {"forward": [(make.positive(3), make.floats(3)), (-make.positive(3), make.floats(3))]},
    touches=(f.zero_dim,),
)
class Cond(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        taken = torch.cond(x.sum() > 0, lambda a, b: torch.relu(b) - a * 2, lambda a, b: a - b * 3, (x, y))
        return taken * 2 - y


@case(
    "cond_in_a_cond",
    f.control_flow,
    f.reductions,
    f.booleans,
    samples=lambda make: {
        "forward": [(sign * make.positive(3), other * make.positive(3)) for sign in (1, -1) for other in (1, -1)]
    },
    touches=(f.zero_dim,),
)
class CondInACond(torch.nn.Module):
    """Both branches branch again, each with bodies of its own."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        def positive(a: Tensor, b: Tensor) -> Tensor:
            return torch.cond(b.sum() > 0, lambda a, b: a * 2 - b, lambda a, b: a + b * 3, (a, b))

        def negative(a: Tensor, b: Tensor) -> Tensor:
            return torch.cond(b.sum() > 0, lambda a, b: torch.relu(b) - a, lambda a, b: b - a * 4, (a, b))

        return torch.cond(x.sum() > 0, positive, negative, (x, y)) * 2


@case(
    "while_loop",
    f.control_flow,
    f.booleans,
    f.integers,
    samples=lambda make: {"forward": [(make.floats(3), torch.tensor(turns)) for turns in (3, 0, 5)]},
    touches=(f.zero_dim, f.mixed_dtypes),
)
class WhileLoop(torch.nn.Module):
    """A loop that stays one in the graph, and may end before its first turn."""

    def forward(self, x: Tensor, turns: Tensor) -> Tensor:
        begun = (torch.zeros((), dtype=torch.int64), torch.relu(x), turns)
        ended = while_loop(lambda i, y, most: i < most, lambda i, y, most: (i + 1, y * 0.5 + 1.0, most.clone()), begun)
        return ended[1] * 2 - ended[0]


@case("loop", samples=lambda make: {"forward": [(make.floats(3), make.floats(3), 3) for _ in "ab"]})
class Loop(torch.nn.Module):
    """Dynamo unrolls it."""

    def forward(self, x: Tensor, y: Tensor, steps: int) -> Tensor:
        for step in range(steps):
            x = torch.relu(x - y) * (step + 1)
        return x - y


@case(
    "lookup",
    f.views,
    samples=lambda make: {"forward": [(make.floats(5, 3), make.integers(4, low=-5, high=5)) for _ in "ab"]},
    touches=(f.integers, f.broadcasting),
)
class Lookup(torch.nn.Module):
    """Indices that count from the end as well; those beyond are errors, after which something would still be read."""

    def forward(self, table: Tensor, where: Tensor) -> Tensor:
        rows = table * 2
        return torch.relu(rows + 1)[where] - rows[0]


def _rows_and_columns(make: Maker) -> dict[str, list[tuple[Any, ...]]]:
    """The same model at several sizes; the first two are lowered for first."""
    return {"forward": [(make.floats(size, 4), make.floats(size, 4)) for size in (6, 7, 3, 11, 5, 16, 2, 9)]}


@case("sizes", f.reductions, f.views, f.broadcasting, samples=_rows_and_columns)
class Sizes(torch.nn.Module):
    """What it computes depends on the size, not only how often: by a factor, by the numbers of the rows and the share
    of all that they are, by what a mean is divided by, and by what fills the rows up to a multiple of four."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        rows = x.size(0)
        places = torch.arange(rows, dtype=x.dtype)
        changed = torch.relu(x - y) * rows - y / (1 + x * x) + (places + places / rows).unsqueeze(1)
        fours = functional.pad(changed, (0, 0, 0, -rows % 4), value=1.0)
        return changed + (x * y).mean(0) + fours.sum(0) / -(-rows // 4)


@case(
    "each_with_each",
    f.matmul,
    f.reductions,
    f.views,
    samples=lambda make: {"forward": [(make.floats(rows, 3), make.floats(rows, 3)) for rows in (5, 3, 11)]},
)
class EachWithEach(torch.nn.Module):
    """The rows are the columns too: rows that are added to a batch to fill it up are not only cut off."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.softmax(x @ y.t(), dim=1) * 2.0


@functools.cache
def twisted() -> Any:
    """An operator that no backend has heard of, whose backward asks for the size. Defined where a model needs it."""

    @torch.library.custom_op("conformance::twisted", mutates_args=())
    def operator(x: Tensor) -> Tensor:
        return x * 3 - 1

    def backward(context: Any, gradient: Tensor) -> Tensor:
        return gradient * 3 if gradient.size(0) > 8 else gradient * 3.0 + 0.0 * gradient.size(0) + 1

    operator.register_fake(torch.empty_like)
    operator.register_autograd(backward)
    return operator


@case("custom_operator", f.custom_operators, samples=pairs(3))
class CustomOperator(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.operator = twisted()

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.relu(self.operator(x * 2)) - y


@case(
    "sized_backward",
    f.custom_operators,
    samples=lambda make: {"forward": [(make.floats(size, 4), make.floats(size, 4)) for size in (12, 15, 5, 9)]},
)
class SizedBackward(CustomOperator):
    """A large size has another backward than a small one, which only the backward itself asks about."""


def _with_positives(make: Maker, count: int) -> Tensor:
    return (make.floats(8).abs() + 0.25) * torch.where(torch.arange(8) < count, 1.0, -1.0)


@case(
    "nonzero",
    f.unbacked_sizes,
    f.booleans,
    f.views,
    samples=lambda make: {"forward": [(_with_positives(make, count), make.floats(8)) for count in (3, 7, 1, 0)]},
    touches=(f.integers, f.empty),
)
class Nonzero(torch.nn.Module):
    """A different number of elements in each sample: more than at first, one, and none."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.relu(y)[torch.nonzero(x > 0)] * 2 - 1


@case(
    "cached_tokens",
    f.reductions,
    f.views,
    samples=lambda make: {"forward": [(make.floats(4, 9), position) for position in (3, 5, 2, 6)]},
    touches=(f.elementwise, f.dynamic_shapes),
)
class CachedTokens(torch.nn.Module):
    """A number says how much of a cache is read, whose size is always the same."""

    def forward(self, cache: Tensor, position: int) -> Tensor:
        return cache[:, :position].sum(-1) * 2 - cache[:, position - 1 : position + 2].mean(-1)


@case(
    "counted_lookups",
    f.in_place,
    f.integers,
    samples=lambda make: {"forward": [(make.floats(4, 2), make.integers(3, low=0, high=4)) for _ in "ab"]},
    everywhere=False,
)
class CountedLookups(torch.nn.Module):
    """Counts its calls before it looks something up."""

    calls: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, table: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        self.calls.add_(1.0)
        return table[places] * 2 - 1, self.calls * 1.0
