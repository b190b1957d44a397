"""Layers for torch.compile as networks join them, in the forms in which a kernel that was made for another form is
wrong."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.toolchains.dynamo.cases.models import case, pairs


@case(
    "dilated",
    f.convolution,
    f.parameters,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(1, 3, 7, 8),) for _ in "ab"]},
)
class Dilated(torch.nn.Module):
    """Convolutions of one picture that differ in how far apart they look, and in no size."""

    def __init__(self) -> None:
        super().__init__()
        self.near, self.far = torch.nn.Conv2d(3, 2, 3, padding=1), torch.nn.Conv2d(3, 2, 3, padding=3, dilation=3)
        self.between = torch.nn.Conv2d(3, 2, 3, padding=2, dilation=2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.near(x), self.between(x), self.far(x)


@case(
    "biased_attention",
    f.matmul,
    f.parameters,
    samples=lambda make: {"forward": [tuple(make.floats(2, 3, 4, 5) for _ in "qkv") for _ in "ab"]},
    touches=(f.broadcasting,),
)
class BiasedAttention(torch.nn.Module):
    """Attention with a table of how far apart places are, which is added to what is scaled already."""

    def __init__(self) -> None:
        super().__init__()
        self.apart = torch.nn.Parameter(torch.randn(3, 4, 4))

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=self.apart)


@case(
    "bins",
    f.elementwise,
    f.booleans,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.integers(12, low=-3, high=6),) for _ in "ab"]},
    touches=(
        f.integers,
        f.mixed_dtypes,
    ),
)
class Bins(torch.nn.Module):
    """Whole numbers that are compared with fractions, and put into bins, of which they are the bounds."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        bounds = torch.tensor([-1, 0, 2, 5])
        return torch.bucketize(x, bounds), torch.bucketize(x, bounds, right=True), x >= 0.5, x < 2.5


@case("sum_of_another_dtype", f.in_place, f.float64, f.mixed_dtypes, f.several_outputs, samples=pairs(3, 4))
class SumOfAnotherDtype(torch.nn.Module):
    """What is written to keeps its dtype, whatever is added to it."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        total = torch.zeros_like(x)
        total += y.double()
        product = x - 1.0
        product.mul_(y.double() + 1e-9)
        return total, product


@case(
    "weekdays",
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.integers(6, low=1_600_000_000, high=1_800_000_000),) for _ in "ab"]},
    touches=(f.integers,),
)
class Weekdays(torch.nn.Module):
    """Days, minutes and more of seconds since 1970, which are more than a float of 32 bits can count."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return (x // 86_400) % 7 + x // 60, (x % 86_400) // 3_600 + torch.div(x, 7, rounding_mode="floor")


@case(
    "fewer_places",
    f.views,
    samples=lambda make: {"forward": [(make.floats(3, 5, 4), make.integers(2, 2, 3, low=0, high=5)) for _ in "ab"]},
    touches=(f.integers,),
)
class FewerPlaces(torch.nn.Module):
    """Looks up fewer rows, and fewer columns, than the table has."""

    def forward(self, x: Tensor, places: Tensor) -> Tensor:
        return torch.gather(x * 2, 1, places)


@case(
    "view_outlives",
    f.elementwise,
    f.views,
    f.matmul,
    f.parameters,
    f.submodules,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(3, 6),) for _ in "ab"]},
)
class ViewOutlives(torch.nn.Module):
    """A view is read when what it is a view of has been used for the last time: a part of it, all of it in another
    shape, and one of several parts, as a recurrent cell has its gates."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(6, 6)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        features = self.layer(x)
        gate = features[:, :3]
        active = torch.relu(features)
        products = x - 1.0
        heads = products.view(3, 2, 3)
        weights = torch.sigmoid(products)
        gates = self.layer(x - 2.0)
        candidate = gates.chunk(3, 1)[2]
        written, kept, _ = torch.sigmoid(gates).chunk(3, 1)
        cell = written * torch.tanh(candidate) + kept
        return active[:, 3:] * torch.tanh(gate), (heads * 2.0).flatten(1) * weights, heads.sum(1), cell


@case("listed_numbers", f.elementwise, samples=pairs(4))
class ListedNumbers(torch.nn.Module):
    """Numbers of the model's own, of which AOT Autograd makes a constant: the graph's code does not show them."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return (x - torch.tensor([0.5, 0.4, 0.3, 2.0])) * y


@case("other_listed_numbers", f.elementwise, samples=pairs(4))
class OtherListedNumbers(torch.nn.Module):
    """The same with other numbers: one graph's code."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return (x - torch.tensor([0.25, 0.75, -1.0, 1.5])) * y


@case(
    "bounded_activations",
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(4, 6) * 6.0,) for _ in "ab"]},
)
class BoundedActivations(torch.nn.Module):
    """Activations of models for small devices, on both sides of each bound."""

    def __init__(self) -> None:
        super().__init__()
        self.hardtanh = torch.nn.Hardtanh(-0.5, 2.0)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        return (
            functional.relu6(x),
            functional.hardswish(x),
            functional.hardsigmoid(x),
            self.hardtanh(x),
            functional.relu6(x + 3.0) * x / 6.0,
        )
