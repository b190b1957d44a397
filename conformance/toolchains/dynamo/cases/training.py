"""Models for torch.compile that are trained, or draw random numbers. Only the clauses that name them try them."""

from __future__ import annotations

import functools

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.toolchains.dynamo.cases.models import case as everywhere
from conformance.toolchains.dynamo.cases.models import mixed, pairs

case = functools.partial(everywhere, everywhere=False)


@case(
    "trained",
    f.parameters,
    f.matmul,
    f.elementwise,
    samples=pairs(6, 4),
    touches=(f.integers, f.reductions, f.views),
)
class TrainedLayers(torch.nn.Module):
    """Two layers whose parameters require grad, one of them frozen in part, and offsets that begin where their slope
    changes. A classifier's loss is added to each element, so that going back comes to it with another gradient than
    one, and to what is turned with one that lies in another order. An activation is straight through: it is there going
    forward, and not going back."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 5), torch.nn.Linear(5, 4)
        self.first.bias.requires_grad_(False)
        self.offsets = torch.nn.Parameter(torch.tensor([0.0, 1.0, -1.0, 2.0]))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        offsets = self.offsets.clamp(0.0, 1.0) + functional.hardtanh(self.offsets, -1.0, 2.0) + torch.relu(self.offsets)
        scores = self.second(torch.relu(self.first(x)) * 2) + offsets * 0.25
        loss = functional.cross_entropy(scores, y.argmax(dim=1)) + functional.smooth_l1_loss(scores, y, beta=0.25)
        through = scores + (torch.sigmoid(scores) - scores).detach()
        return torch.tanh(scores).t() + through.t() - y.t() + loss * 0.5


@case("weighted", f.parameters, samples=pairs(3, 4))
class Weighted(torch.nn.Module):
    """The floor of operators, and a parameter that requires grad."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 4))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.relu(x - y) * self.weight - y / (1 + x * x)


@case(
    "convolved",
    f.parameters,
    f.convolution,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(1, 3, 20, 18),) for _ in "ab"]},
    touches=(f.reductions, f.views, f.broadcasting),
)
class Convolved(torch.nn.Module):
    """A convolution whose weights require grad, a norm of frozen statistics, and windows that overlap, so that several
    take the same element; windows of a picture of more places than eight bits can count, and a norm of rows whose
    weights differ."""

    mean: Tensor
    variance: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv2d(3, 4, 3, padding=1, stride=2)
        self.scale, self.shift = torch.nn.Parameter(torch.rand(4) + 0.5), torch.nn.Parameter(torch.randn(4))
        self.register_buffer("mean", torch.randn(4) * 0.1)
        self.register_buffer("variance", torch.rand(4) + 0.5)
        self.norm = torch.nn.LayerNorm(9)
        torch.nn.init.uniform_(self.norm.weight, 0.2, 2.0)

    def forward(self, x: Tensor) -> Tensor:
        rows = self.convolution(x[..., :6, :5])
        rows = functional.batch_norm(rows, self.mean, self.variance, self.scale, self.shift)
        pooled = self.norm(torch.max_pool2d(x, 3, 2, 1))[:, :1, -2:, -2:]
        return torch.tanh(torch.max_pool2d(torch.relu(rows) * 2 - 1, 2, 1)) + pooled


@case(
    "activated",
    f.parameters,
    f.matmul,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(3, 4),) for _ in "ab"]},
)
class Activated(torch.nn.Module):
    """Activations whose way back reads what they were given: who goes back again needs that once more."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = (torch.nn.Linear(4, 4) for _ in "abc")

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.third(functional.silu(self.second(functional.gelu(self.first(x))))))


@case(
    "products",
    f.parameters,
    f.matmul,
    samples=lambda make: {"forward": [(make.positive(3, 5), make.positive(3, 5)) for _ in "ab"]},
)
class Products(torch.nn.Module):
    """Of positive numbers: nothing cancels, so that lower precision costs no more than a part of the result. Autocast
    gives it a dtype that none of the arguments has."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(5, 4), requires_grad=False)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.relu(x @ self.weight) * 2 + y @ self.weight


@case("steep", f.float64, samples=pairs(5, dtype=torch.float64))
class Steep(torch.nn.Module):
    """Its gradients are small differences of large numbers, of which float32 keeps nothing."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return (x * (y + 2.0**20) - x * 2.0**20) * 2


@case("inner_no_grad", f.several_outputs, f.elementwise, f.parameters, samples=pairs(3, 4))
class InnerNoGrad(torch.nn.Module):
    """Factors that no gradient goes through: one of the inputs, and one of nothing but a weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(4))

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        z = torch.relu(x - y) * 2 + x * self.weight
        with torch.no_grad():
            factor = torch.tanh(x * 3) + y
            size = torch.tanh(self.weight * 2) + 2
        return z * factor / size - y, factor * 2 - 1


@case(
    "partly_differentiable",
    f.several_outputs,
    f.reductions,
    f.booleans,
    samples=pairs(3, 4),
    touches=(f.integers,),
)
class PartlyDifferentiable(torch.nn.Module):
    """Outputs that depend on both arguments, on one, on both without a gradient, and that are no real numbers."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        z = mixed(x, y)
        return z, torch.relu(y) * 3 - 1, z.detach() + y.detach(), (x > y).sum(0)


@case("dropout", f.random_numbers, f.elementwise, samples=lambda make: {"forward": [(make.positive(40, 50),)] * 2})
class Dropout(torch.nn.Module):
    """No element of the input is zero, so that a zero in the result has been dropped."""

    def forward(self, x: Tensor) -> Tensor:
        return functional.dropout(torch.sqrt(x) * 2 + 1, 0.25, training=True) * 3


@case(
    "dropped_zeros",
    f.random_numbers,
    f.elementwise,
    everywhere=False,
    samples=lambda make: {"forward": [(torch.zeros(40, 50),)] * 2},
)
class DroppedZeros(torch.nn.Module):
    """Zeros, as of a layer that begins with them: the result, which is kept, does not tell which were dropped."""

    def forward(self, x: Tensor) -> Tensor:
        rest = functional.dropout(x * 2, 0.25, training=True)
        return rest * rest + rest


@case(
    "noisy",
    f.random_numbers,
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.positive(40, 50),)] * 2},
)
class Noisy(torch.nn.Module):
    """A step of a sampler: normal and uniform numbers, and some that are zero or one."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        kept = torch.bernoulli(torch.full_like(x, 0.5))
        return torch.randn_like(x) * 0.5 + x, torch.rand_like(x) * x, torch.randn(40, 50) - kept


@case(
    "dropped_twice",
    f.random_numbers,
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.positive(40, 50),)] * 2},
)
class DroppedTwice(torch.nn.Module):
    """The same dropout twice, as where a loss is averaged over several: two draws that look alike."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return functional.dropout(x, 0.25, training=True) * 2, functional.dropout(x, 0.25, training=True) * 2


@case(
    "root_where_there_is_one",
    f.control_flow,
    f.reductions,
    f.booleans,
    f.elementwise,
    samples=lambda make: {"forward": [(make.positive(3),), (-make.positive(3),)]},
    touches=(f.zero_dim,),
)
class RootWhereThereIsOne(torch.nn.Module):
    """The gradient of the branch that is not taken is NaN, and nobody goes back through it."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cond((x > 0).all(), lambda x: torch.sqrt(x) * 2, lambda x: x * 3 - 1, (x,)) + x


@case(
    "dropped_by_hand",
    f.random_numbers,
    f.elementwise,
    samples=lambda make: {"forward": [(make.positive(40, 50),)] * 2},
)
class DroppedByHand(torch.nn.Module):
    """What is dropped is drawn as a number of its own, which is cheap to draw, and is yet another one the next time."""

    def forward(self, x: Tensor) -> Tensor:
        kept = torch.floor(0.75 + torch.rand(40, 50))
        return (torch.sqrt(x) * 2 + 1) / 0.75 * kept


@case(
    "rare_words",
    f.parameters,
    f.matmul,
    samples=lambda make: {"forward": [(make.floats(2, 6, 3),) for _ in "ab"]},
    touches=(f.integers,),
)
class RareWords(torch.nn.Module):
    """Tables whose gradients count each word once, however often it occurs, or leave one out."""

    def __init__(self) -> None:
        super().__init__()
        self.by_frequency = torch.nn.Embedding(5, 3, scale_grad_by_freq=True)
        self.padded = torch.nn.Embedding(5, 3, padding_idx=-2)
        self.register_buffer("words", torch.tensor([[3, 1, 3, 0, 3, 1], [2, 4, 3, 1, 3, 3]]))

    def forward(self, factors: Tensor) -> Tensor:
        return self.by_frequency(self.words) * factors + self.padded(self.words) * torch.relu(factors)


@case(
    "nearest_neighbours",
    f.reductions,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(6, 3),) for _ in "ab"]},
    touches=(f.integers, f.views, f.broadcasting),
)
class NearestNeighbours(torch.nn.Module):
    """What is near to several is looked up several times: its gradient comes from all of them."""

    def forward(self, x: Tensor) -> Tensor:
        near = torch.topk((x[:, None] - x).pow(2).sum(-1), 3, largest=False)[1]
        return (torch.tanh(x)[near] - x[:, None]).pow(2).sum(1)
