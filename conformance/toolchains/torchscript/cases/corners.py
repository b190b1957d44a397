"""The corners of PyTorch's semantics: which of several is taken, how numbers are divided and promoted, what NaN and
nothing at all become."""

from __future__ import annotations

from typing import Any, Tuple  # noqa: UP035  (TorchScript resolves these names)

import torch
from torch import Tensor

from conformance.api import features as f
from conformance.api.maker import Maker
from conformance.toolchains.torchscript.cases import case

NAN, INF = float("nan"), float("inf")


def _unusual(make: Maker) -> dict[str, list[tuple[Any, ...]]]:
    """Rows with ties, with NaN first and last, with zeros of both signs, and with infinities."""
    rows = torch.tensor(
        [
            [1.0, 3.0, 3.0, -2.0, 3.0],
            [NAN, 1.0, 2.0, 2.0, -1.0],
            [0.0, -1.0, 5.0, 5.0, NAN],
            [0.0, -0.0, 0.0, -0.0, -0.0],
            [INF, -INF, INF, 1.0, -INF],
        ]
    )
    return {"forward": [(rows.roll(shift, 1), make.floats(5, 5)) for shift in (0, 1)]}


@case("extremes", f.non_finite, f.reductions, f.elementwise, f.several_outputs, samples=_unusual)
class Extremes(torch.nn.Module):
    """NaN is the largest and the smallest, and stays; of several that are equal the first is meant."""

    def forward(self, x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:  # noqa: UP006
        order = torch.argsort(x, dim=1, stable=True)
        return x.argmax(1), x.argmin(1), order, x.clamp(-1.0, 2.0), torch.minimum(x, y), 1.0 / x


@case(
    "integer_division",
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {
        "forward": [(make.integers(30, low=-40, high=40), make.integers(30, low=0, high=2) * 10 - 7) for _ in range(2)]
    },
    touches=(f.integers, f.mixed_dtypes),
)
class IntegerDivision(torch.nn.Module):
    """Of numbers of both signs: rounded down, towards zero, and not at all; with the remainders that belong to it."""

    def forward(self, x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # noqa: UP006
        towards_zero = torch.div(x, y, rounding_mode="trunc")
        return x // y, x % y, towards_zero, torch.fmod(x, y), x / y


@case(
    "promotion",
    f.mixed_dtypes,
    f.zero_dim,
    f.float64,
    f.booleans,
    f.reductions,
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {
        "forward": [
            (make.floats(3), make.integers(3, dtype=torch.int32), make.doubles(), make.booleans(3)) for _ in range(2)
        ]
    },
    touches=(f.integers,),
)
class Promotion(torch.nn.Module):
    """A tensor without dimensions, and a number, count for less than one with dimensions of the same kind; booleans are
    counted in int64."""

    def forward(
        self, x: Tensor, count: Tensor, scale: Tensor, mask: Tensor
    ) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:  # noqa: UP006
        return x * scale, count * 2, count * 0.5, count * scale, mask.sum(), mask * 3


@case(
    "empty_reductions",
    f.empty,
    f.reductions,
    f.views,
    f.non_finite,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(3, 0), make.floats(3, 2)), (make.floats(1, 0), make.floats(1, 4))]},
)
class EmptyReductions(torch.nn.Module):
    """Of nothing the sum is 0, the product 1, the mean NaN."""

    def forward(self, x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:  # noqa: UP006
        return x.sum(), x.prod(1), x.mean(1), torch.cat([x, y, x], 1) + 1.0
