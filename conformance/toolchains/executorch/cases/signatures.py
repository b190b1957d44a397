"""What goes in and what comes out: several values, the same value twice, other methods, dynamic sizes, branches."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from conformance.api import features as f
from conformance.toolchains.executorch.cases import case, twice


@case(
    "three_in_three_out",
    f.several_outputs,
    samples=twice(lambda make: (make.floats(2, 3), make.floats(2, 3), make.floats(2, 3))),
)
class ThreeInThreeOut(torch.nn.Module):
    """All of one shape, each result another."""

    def forward(self, x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return x - y, y - z, (z - x) + z


@case(
    "twelve_in_twelve_out",
    f.nested_values,
    f.several_outputs,
    f.elementwise,
    samples=twice(lambda make: ([make.floats(3) for _ in range(12)],)),
)
class TwelveInTwelveOut(torch.nn.Module):
    """More of one shape than are named by one digit each: sorted as text, the eleventh comes before the third."""

    def forward(self, values: list[Tensor]) -> list[Tensor]:
        return [each * (number + 1) for number, each in enumerate(values)]


@case("nested", f.nested_values, f.several_outputs, samples=twice(lambda make: ([make.floats(2), make.floats(2)],)))
class Nested(torch.nn.Module):
    """A list goes in, a mapping comes out; a program has the tensors alone."""

    def forward(self, values: list[Tensor]) -> dict[str, Any]:
        return {"sum": values[0] + values[1], "both": (values[1] - values[0], values[0])}


@case("input_returned", f.several_outputs, samples=twice(lambda make: (make.floats(3), make.floats(3))))
class InputReturned(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return x, x + y


@case("output_twice", f.several_outputs, samples=twice(lambda make: (make.floats(3), make.floats(3))))
class OutputTwice(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        z = x - y
        return z, z


@case("unused_input", samples=twice(lambda make: (make.floats(3), make.floats(2), make.floats(3))))
class UnusedInput(torch.nn.Module):
    def forward(self, x: Tensor, unused: Tensor, y: Tensor) -> Tensor:
        return x - y


@case("single_tuple", f.single_tuple, samples=twice(lambda make: (make.floats(3), make.floats(3))))
class SingleTuple(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor]:
        return (x - y,)


@case("constant_returned", f.several_outputs, f.parameters, samples=twice(lambda make: (make.floats(3),)))
class ConstantReturned(torch.nn.Module):
    constant: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("constant", torch.randn(3))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x - self.constant, self.constant


@case(
    "two_methods",
    f.several_methods,
    f.parameters,
    methods=("forward", "inverse"),
    samples=lambda make: {
        "forward": [(make.floats(2, 4),) for _ in range(2)],
        "inverse": [(make.floats(3, 3), make.floats(3, 3)) for _ in range(2)],
    },
)
class TwoMethods(torch.nn.Module):
    """Methods of other shapes and weights, which are of one size."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4))
        self.other = torch.nn.Parameter(torch.randn(3))

    def forward(self, x: Tensor) -> Tensor:
        return x - self.weight

    def inverse(self, x: Tensor, y: Tensor) -> Tensor:
        return (x - y) + self.other


@case(
    "same_signatures",
    f.several_methods,
    f.parameters,
    methods=("forward", "other"),
    samples=lambda make: {name: [(make.floats(2, 32),) for _ in range(2)] for name in ("forward", "other")},
)
class SameSignatures(torch.nn.Module):
    """Methods of one shape that differ in their numbers alone: weights, and constants, which have one name in each, and
    are long enough to be worth keeping once."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(32))
        self.second = torch.nn.Parameter(torch.randn(32))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.tensor([0.5, -1.0, 2.0, 0.25] * 8) - self.weight

    def other(self, x: Tensor) -> Tensor:
        return x * torch.tensor([3.0, 0.25, -0.5, 1.5] * 8) - self.second


@case(
    "dynamic_rows",
    f.dynamic_shapes,
    samples=lambda make: {"forward": [(make.floats(rows, 3), make.floats(rows, 3)) for rows in (4, 2, 16, 5, 15, 3)]},
)
class DynamicRows(torch.nn.Module):
    """Sizes go up and down between the bounds, which are among them."""

    dynamic: ClassVar[Any] = {"forward": ({0: ("rows", 2, 16)}, {0: ("rows", 2, 16)})}

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return (x - y) + x


@case(
    "dynamic_linear",
    f.dynamic_shapes,
    f.parameters,
    f.matmul,
    samples=lambda make: {"forward": [(make.floats(rows, 4),) for rows in (3, 1, 8, 7, 2, 8)]},
)
class DynamicLinear(torch.nn.Module):
    dynamic: ClassVar[Any] = {"forward": ({0: ("rows", 1, 8)},)}

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.linear(x))


@case(
    "dynamic_scores",
    f.dynamic_shapes,
    f.parameters,
    f.matmul,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(rows, 4),) for rows in (5, 2, 16, 9, 3)]},
)
class DynamicScores(torch.nn.Module):
    """Scores of as many rows as come, which end in a softmax."""

    dynamic: ClassVar[Any] = {"forward": ({0: ("rows", 2, 16)},)}

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.linear(x), dim=-1)


@case(
    "dynamic_conv",
    f.dynamic_shapes,
    f.convolution,
    f.parameters,
    samples=lambda make: {"forward": [(make.floats(rows, 3, 6, width),) for rows, width in ((2, 8), (1, 5), (4, 12))]},
)
class DynamicConv(torch.nn.Module):
    """A batch and a width of any size."""

    dynamic: ClassVar[Any] = {"forward": ({0: ("rows", 1, 4), 3: ("width", 5, 12)},)}

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.conv(x)).mean(dim=(2, 3))


@case(
    "cond",
    f.control_flow,
    f.reductions,
    samples=lambda make: {
        "forward": [(sign * make.positive(3), make.floats(3)) for sign in (1.0, -1.0, -1.0, 1.0)],
    },
)
class Cond(torch.nn.Module):
    """Both branches, in both orders; both have what delegates take."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda x, y: x + y, lambda x, y: (x - y) - y, (x, y))
