"""What methods take and return: several methods, tuples, lists, dictionaries, numbers, strings, nothing."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple  # noqa: UP035  (TorchScript resolves these names)

import torch
from torch import Tensor

from conformance.api import features as f
from conformance.toolchains.torchscript.cases import case


@case(
    "two_methods",
    f.several_methods,
    methods=("forward", "difference"),
    samples=lambda make: {
        "forward": [(make.floats(3), make.floats(3)) for _ in range(2)],
        "difference": [(make.floats(3), make.floats(3), make.floats(3)) for _ in range(2)],
    },
)
class TwoMethods(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y

    @torch.jit.export
    def difference(self, first: Tensor, second: Tensor, third: Tensor) -> Tensor:
        return first - second - third


@case(
    "numbers_of_methods",
    f.several_methods,
    f.elementwise,
    methods=("forward", "other"),
    samples=lambda make: {method: [(make.floats(3),) for _ in range(2)] for method in ("forward", "other")},
)
class NumbersOfMethods(torch.nn.Module):
    """Graphs that are alike to the names of their values, and have other numbers."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.sigmoid(x * 2.5 + 1.0)

    @torch.jit.export
    def other(self, x: Tensor) -> Tensor:
        return torch.sigmoid(x * 0.25 + 3.0)


@case(
    "without_forward",
    f.several_methods,
    methods=("encode", "decode"),
    samples=lambda make: {
        "encode": [(make.floats(4), make.floats(4)) for _ in range(2)],
        "decode": [(make.floats(4), make.floats(4)) for _ in range(2)],
    },
)
class WithoutForward(torch.nn.Module):
    """The forward that nn.Module has is not in the spec, and so is no method of the lowered module."""

    @torch.jit.export
    def encode(self, message: Tensor, key: Tensor) -> Tensor:
        return message + key

    @torch.jit.export
    def decode(self, message: Tensor, key: Tensor) -> Tensor:
        return message - key


@case(
    "some_methods",
    f.several_methods,
    methods=("forward",),
    samples=lambda make: {"forward": [(make.floats(3), make.floats(3)) for _ in range(2)]},
)
class SomeMethods(torch.nn.Module):
    """Has an exported method that the spec does not name: it must not be exposed."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.helper(x, y) - y

    @torch.jit.export
    def helper(self, x: Tensor, y: Tensor) -> Tensor:
        return x - y


@case(
    "several_outputs",
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(2, 2), make.floats(2, 2)) for _ in range(2)]},
)
class SeveralOutputs(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor, Tensor]:  # noqa: UP006
        return x + y, x - y, y - x


@case(
    "single_tuple",
    f.single_tuple,
    samples=lambda make: {"forward": [(make.floats(2, 2), make.floats(2, 2)) for _ in range(2)]},
)
class SingleTuple(torch.nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tuple[Tensor]:  # noqa: UP006
        return (x - y,)


@case(
    "scalars",
    f.scalars,
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {
        "forward": [
            (make.floats(3), make.number() + 2**40, 0.1, True),
            (make.floats(2, 2), -make.number(), -1.0 / 3.0, False),
            (make.floats(2, 2), make.number() + 2**33, 2.0 / 3.0, True),
        ]
    },
)
class Scalars(torch.nn.Module):
    def forward(self, x: Tensor, count: int, scale: float, flag: bool) -> Tuple[Tensor, int, float, bool]:  # noqa: UP006
        # by so much that what is left of 0.1 in 32 bits is seen
        return x * scale + count, count + x.dim(), scale * 2.0 + (scale - 0.1) * 1e9, not flag


@case(
    "integer_result",
    f.scalars,
    samples=lambda make: {"forward": [(make.floats(3, 5),), (make.floats(2),)]},
)
class IntegerResult(torch.nn.Module):
    def forward(self, x: Tensor) -> int:
        return x.numel() + 1


@case(
    "nested_values",
    f.nested_values,
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {
        "forward": [
            ([make.floats(2), make.floats(2)], {"scale": make.floats(2)}),
            ([make.floats(3), make.floats(3), make.floats(3)], {"scale": make.floats(3)}),
        ]
    },
)
class NestedValues(torch.nn.Module):
    """The factors are an attribute that is a list."""

    def __init__(self) -> None:
        super().__init__()
        self.factors = [3.0, 2.0]

    def forward(self, xs: List[Tensor], named: Dict[str, Tensor]) -> Tuple[List[Tensor], Dict[str, Tensor]]:  # noqa: UP006
        first = xs[0] * named["scale"]
        return [xs[1] * self.factors[0], first], {"first": first, "last": xs[-1] * self.factors[1]}


@case(
    "numbers_in_containers",
    f.nested_values,
    f.scalars,
    f.elementwise,
    f.views,
    samples=lambda make: {
        "forward": [
            (make.floats(4, 4), [3, 2], {"scale": 0.5}, (1, True)),
            (make.floats(4, 4), [2, 3], {"scale": 0.5}, (1, True)),
            (make.floats(4, 4), [2, 3], {"scale": -1.5}, (1, True)),
            (make.floats(4, 4), [2, 3], {"scale": -1.5}, (0, False)),
        ]
    },
)
class NumbersInContainers(torch.nn.Module):
    """What changes from one call to the next is not how many there are, nor under which names."""

    def forward(self, x: Tensor, size: List[int], named: Dict[str, float], place: Tuple[int, bool]) -> Tensor:  # noqa: UP006
        part = x[: size[0], : size[1]] * named["scale"]
        return part + x[place[0], 0] if place[1] else part - x[place[0], 0]


@case(
    "strings",
    f.strings,
    f.scalars,
    f.several_outputs,
    samples=lambda make: {
        "forward": [(make.floats(2), "left"), (make.floats(3), "ünïcode"), (make.floats(3), "right")]
    },
)
class Strings(torch.nn.Module):
    """What is added is an attribute that is a string."""

    def __init__(self) -> None:
        super().__init__()
        self.ending = "!"

    def forward(self, x: Tensor, name: str) -> Tuple[Tensor, str]:  # noqa: UP006
        return x + 1, name + self.ending


@case(
    "tokens",
    f.strings,
    f.loops,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(3), "ab\na"), (make.floats(2), " \rb\n")]},
)
class Tokens(torch.nn.Module):
    """A vocabulary as a model of characters has it: line breaks, a space and nothing at all are among its tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = ["a", "\n", "b", " ", "\r", ""]
        self.numbers = {"\n": 2, "a": 5, " ": 7, "b": -3, "\r": 11}

    def forward(self, x: Tensor, text: str) -> Tensor:
        for place in range(len(text)):
            x = x * 0.5 + self.numbers[text[place]]
        for place in range(len(self.tokens)):
            if self.tokens[place] == "":
                x = x - place
        return x


@case(
    "hour_of_the_day",
    f.scalars,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(3), 1_700_000_123.75), (make.floats(3), 1_716_239_022.5)]},
)
class HourOfTheDay(torch.nn.Module):
    """Seconds since 1970, which a float of 32 bits knows to two minutes: a Python number has 64."""

    def forward(self, x: Tensor, seconds: float) -> Tensor:
        return x + (seconds % 86400.0) / 3600.0


@case(
    "optionals",
    f.optionals,
    f.control_flow,
    samples=lambda make: {"forward": [(make.floats(3), make.floats(3)), (make.floats(3), None)]},
)
class Optionals(torch.nn.Module):
    def forward(self, x: Tensor, y: Optional[Tensor]) -> Tensor:  # noqa: UP045
        if y is not None:
            return x - y
        return x + x


@case(
    "default_arguments",
    f.scalars,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(3), 0.1), (make.floats(3), -1.0 / 3.0)]},
)
class DefaultArguments(torch.nn.Module):
    """PyTorch drops the default when it lowers: every call gives the argument."""

    def forward(self, x: Tensor, scale: float = 1.0) -> Tensor:
        return x * scale


@case(
    "turned_off",
    f.optionals,
    f.scalars,
    f.control_flow,
    f.elementwise,
    samples=lambda make: {
        "forward": [(make.floats(3) * 3.0, most, times) for most in (0.5, None) for times in (3, None)]
    },
)
class TurnedOff(torch.nn.Module):
    """None turns off what is on by default: it was given, and was not left out."""

    def forward(self, x: Tensor, most: Optional[float] = 1.0, times: Optional[int] = 2) -> Tensor:  # noqa: UP045
        kept = x + 1.0 if most is None else torch.clamp(x, max=most)
        return kept if times is None else kept * times
