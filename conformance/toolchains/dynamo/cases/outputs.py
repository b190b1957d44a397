"""Models for torch.compile whose results are other things than fresh tensors, or that write to what is not theirs."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from conformance.api import features as f
from conformance.toolchains.dynamo.cases.models import case as in_every_clause
from conformance.toolchains.dynamo.cases.models import pairs

case = functools.partial(in_every_clause, everywhere=False)


@case("takes_nothing", f.elementwise, samples=pairs(3))
class TakesNothing(torch.nn.Module):
    """Needs none of its arguments: the graph that is compiled has no inputs."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.arange(4.0) * 2 + torch.ones(4)


@case("repeats_outputs", f.several_outputs, f.parameters, samples=pairs(2, 3), everywhere=True)
class RepeatsOutputs(torch.nn.Module):
    """One result twice, an argument, a parameter, a buffer, a number, and nothing."""

    offset: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(2, 3), requires_grad=False)
        self.register_buffer("offset", torch.randn(2, 3))

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, int, None]:
        z = torch.relu(x - y) * self.weight
        return z, y, z, self.weight, self.offset, 3, None


@case("returns_clones", f.elementwise, f.views, f.several_outputs, samples=pairs(3, 4))
class ReturnsClones(torch.nn.Module):
    """Copies of an argument, of a view of it, and of what it computed: a caller may write to them."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        z = torch.relu(x - y)
        return x.clone(), x.t().clone(), z, z.clone()


@case("writes_view", f.input_mutation, f.views, f.several_outputs, samples=pairs(4, 3), everywhere=True)
class WritesView(torch.nn.Module):
    """To a view of an argument, which it returns beside another view of it."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        part = x[1:3]
        part.mul_(2).sub_(y[:2])
        return part, x.t(), torch.relu(x) - y


@case("writes_and_returns", f.input_mutation, f.several_outputs, samples=pairs(3, 4))
class WritesAndReturns(torch.nn.Module):
    """It returns the argument that it writes to, and what it computed before."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        before = torch.relu(x - y) * 2
        x.add_(y).mul_(3)
        return x, before


@case(
    "normalised",
    f.input_mutation,
    f.parameters,
    f.convolution,
    samples=lambda make: {"forward": [(make.floats(4, 3, 5, 2),) for _ in "abc"]},
)
class Normalised(torch.nn.Module):
    """Batch normalisation as a network in training uses it: each call moves the running mean and variance."""

    mean: Tensor
    variance: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("variance", torch.ones(3))
        self.weight = torch.nn.Parameter(torch.randn(3), requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        scaled = torch.nn.functional.batch_norm(x, self.mean, self.variance, self.weight, training=True, momentum=0.3)
        return torch.relu(scaled) * 2 - x


@case("drawn_constants", samples=pairs(3, 4))
class DrawnConstants(torch.nn.Module):
    """Two of them have graphs that differ in numbers and in the order of a subtraction, and in nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.factor, self.shift = torch.randint(2, 1000, (2,)).tolist()
        self.reverse = self.factor % 2 == 0

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        difference = y - x if self.reverse else x - y
        return torch.relu(difference) * self.factor - y / self.shift
