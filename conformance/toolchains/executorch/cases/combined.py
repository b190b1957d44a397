"""Models of what a delegate may combine: operators of a kind behind one another, a layer and its norm, a view and what
it is a view of."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.toolchains.executorch.cases import case, twice


@case("formulas", f.elementwise, f.views, samples=twice(lambda make: (make.floats(2, 3, 4), make.positive(2, 3, 4))))
class Formulas(torch.nn.Module):
    """What is subtracted is a sum, what is divided by is a product; and orders that do not change places."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return x - (y + x * 2.0), x / (y * 3.0), x.permute(1, 2, 0).transpose(0, 1) + 1.0


@case(
    "whole_between",
    f.elementwise,
    f.views,
    f.mixed_dtypes,
    samples=twice(lambda make: (make.floats(3, 4) * 10.0,)),
    touches=(f.integers,),
)
class WholeBetween(torch.nn.Module):
    """What becomes a whole number and a float again has lost what was behind its point."""

    def forward(self, x: Tensor) -> Tensor:
        return x - x.to(torch.int32).to(torch.float32)


@case(
    "turned_masks",
    f.elementwise,
    f.booleans,
    f.non_finite,
    samples=twice(lambda make: (make.floats(3, 4), make.booleans(3, 4))),
)
class TurnedMasks(torch.nn.Module):
    """What is not in a mask; and logarithms that are not chosen, which are no numbers."""

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        return x.masked_fill(~mask, 0.5), torch.where(x > 0.0, torch.log(x), torch.zeros_like(x))


@case(
    "layers_with_options",
    f.convolution,
    f.elementwise,
    f.views,
    f.reductions,
    f.parameters,
    samples=twice(lambda make: (make.floats(1, 4, 5, 6),)),
)
class LayersWithOptions(torch.nn.Module):
    """A norm behind a transposed convolution of as many channels as it is given, more filters than channels in a group
    with an activation behind, a norm of two sides, and a view of what a convolution gives."""

    def __init__(self) -> None:
        super().__init__()
        self.apart = torch.nn.Conv2d(4, 8, 3, groups=4)
        self.up, self.norm = torch.nn.ConvTranspose2d(4, 4, 3, stride=2), torch.nn.BatchNorm2d(4)
        self.sides = torch.nn.LayerNorm([5, 6])
        for tensor, least, most in ((self.norm.running_mean, -1.0, 1.0), (self.norm.running_var, 0.5, 2.0)):
            assert isinstance(tensor, Tensor)
            tensor.uniform_(least, most)
        with torch.no_grad():
            self.norm.weight.uniform_(0.5, 2.0)
            self.norm.bias.uniform_(-1.0, 1.0)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        given = self.apart(x)
        heads = torch.softmax(given.view(1, 2, 4, -1), dim=2)
        return functional.relu(given), functional.relu(self.norm(self.up(x))), self.sides(x), heads


@case("shuffled_channels", f.convolution, f.views, f.parameters, samples=twice(lambda make: (make.floats(1, 4, 5, 5),)))
class ShuffledChannels(torch.nn.Module):
    """Channels are shuffled between two convolutions of groups: a view, another order, and a view back."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Conv2d(4, 8, 1, groups=2), torch.nn.Conv2d(8, 8, 3, padding=1, groups=4)

    def forward(self, x: Tensor) -> Tensor:
        wide = self.first(x)
        return self.second(wide.view(1, 2, 4, 5, 5).transpose(1, 2).reshape(1, 8, 5, 5))


@case("nothing_yet", f.empty, f.reductions, samples=twice(lambda make: (make.floats(1, 0, 4), make.floats(1, 1, 4))))
class NothingYet(torch.nn.Module):
    """A sum of what has not come yet is zero, and what it is added to is there."""

    def forward(self, past: Tensor, new: Tensor) -> Tensor:
        return past.sum(1, keepdim=True) + new


@case("idioms", f.elementwise, f.matmul, f.parameters, samples=twice(lambda make: (make.floats(4, 6) * 2.0,)))
class Idioms(torch.nn.Module):
    """An activation that is written out, a bound on one side alone, a weight that is as long as it is wide, an
    activation with an option, and angles' sides as two pieces of one table."""

    sides: Tensor
    others: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.square = torch.nn.Parameter(torch.linspace(-1.0, 2.0, 36).reshape(6, 6))
        sides, others = torch.linspace(0.5, 2.5, 12).chunk(2)
        self.register_buffer("sides", sides)
        self.register_buffer("others", others)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        inner = 0.7978845608 * (x + 0.044715 * torch.pow(x, 3.0))
        return (
            0.5 * x * (1.0 + torch.tanh(inner)),
            torch.clamp(x, max=0.25),
            torch.relu(x @ self.square),
            functional.softplus(x, beta=2.0),
            x * self.sides + self.others,
        )


@case(
    "one_way_in_time",
    f.convolution,
    f.elementwise,
    f.views,
    f.reductions,
    f.parameters,
    f.booleans,
    samples=twice(lambda make: (make.floats(1, 4, 10),)),
)
class OneWayInTime(torch.nn.Module):
    """Zeros on one side alone ahead of a convolution, a mask of what was seen whose bits fill no whole words, a value
    that comes twice in what is joined, and one that is needed again behind what no delegate may know."""

    seen: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv1d(4, 3, 3)
        self.register_buffer("seen", torch.ones(10, 10).tril() > 0)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        scores = x.transpose(1, 2) @ x
        angles = x * 0.5
        grown = torch.exp(x)
        return (
            self.conv(functional.pad(x, (2, 0))),
            scores.masked_fill(~self.seen, -4.0),
            torch.cat([angles, angles], dim=-1) + 1.0,
            torch.cumsum(grown, dim=-1) - x,
        )


@case(
    "messages",
    f.elementwise,
    f.parameters,
    f.integers,
    samples=twice(lambda make: (make.floats(5, 3),)),
)
class Messages(torch.nn.Module):
    """What is added at equal places is added up."""

    places: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("places", torch.tensor([[1], [0], [1], [2], [1]]).expand(5, 3).contiguous())

    def forward(self, x: Tensor) -> Tensor:
        return torch.scatter_add(x * 2.0, 0, self.places, x)


@case(
    "padded_sentences",
    f.matmul,
    f.views,
    f.booleans,
    samples=twice(
        lambda make: (make.floats(2, 4, 3), torch.tensor([[True, True, True, False], [True, False, False, False]]))
    ),
)
class PaddedSentences(torch.nn.Module):
    """Attention that is masked: where the mask says no, nothing is seen, and where it says yes, nothing is added."""

    def forward(self, x: Tensor, there: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(x, x * 2.0, x, attn_mask=there[:, None, :])


@case(
    "boxes_and_scores",
    f.matmul,
    f.elementwise,
    f.parameters,
    f.several_outputs,
    samples=twice(lambda make: (make.floats(3, 4),)),
)
class BoxesAndScores(torch.nn.Module):
    """The second of two results is activated, and the first is not; then the other way round."""

    def __init__(self) -> None:
        super().__init__()
        self.boxes, self.scores = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        boxes, scores = self.boxes(x), self.scores(x)
        return boxes, torch.sigmoid(scores), torch.relu(boxes - 0.5), scores * 2.0


@case(
    "shared_heads",
    f.matmul,
    f.views,
    samples=twice(lambda make: (make.floats(1, 4, 3, 2), make.floats(1, 2, 3, 2))),
)
class SharedHeads(torch.nn.Module):
    """Each head of the keys serves two queries next to each other: copies that are interleaved, and not tiled."""

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        repeated = keys[:, :, None].expand(1, 2, 2, 3, 2).reshape(1, 4, 3, 2)
        return queries @ repeated.transpose(-1, -2)


@case(
    "rising_curves",
    f.matmul,
    f.elementwise,
    f.reductions,
    f.parameters,
    samples=twice(lambda make: (make.floats(2, 4),)),
)
class RisingCurves(torch.nn.Module):
    """A part ends in an activation, a scan that most delegates leave to ExecuTorch follows, and a part without one."""

    def __init__(self) -> None:
        super().__init__()
        self.steps, self.mix = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        mixed: Tensor = self.mix(torch.cumsum(torch.relu(self.steps(x)), dim=-1)) - 1.0
        return mixed


@case(
    "looked_up_apart",
    f.views,
    f.elementwise,
    f.broadcasting,
    samples=twice(lambda make: (make.floats(2, 3, 4, 3),)),
    touches=(f.integers,),
)
class LookedUpApart(torch.nn.Module):
    """Indices with a slice in between: what they look up comes first, and side by side it stays where it is."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("rows", torch.tensor([2, 0, 1]))
        self.register_buffer("columns", torch.tensor([0, 2, 2]))

    def forward(self, x: Tensor) -> Tensor:
        rows, columns = self.get_buffer("rows"), self.get_buffer("columns")
        return x[:, rows, :, columns] + x[:, :, rows, columns][:, 0].transpose(0, 1).unsqueeze(-1)


@case(
    "expanded_alike",
    f.elementwise,
    f.reductions,
    f.views,
    f.broadcasting,
    samples=twice(lambda make: (make.floats(3, 4),)),
)
class ExpandedAlike(torch.nn.Module):
    """Two values that are made larger alike and meet: of their expansions one may go, and not both."""

    def forward(self, x: Tensor) -> Tensor:
        loud = torch.sigmoid(x).unsqueeze(1).expand(-1, 5, -1)
        return torch.relu(x.unsqueeze(1).expand(-1, 5, -1) * loud).sum(dim=1)


@case(
    "counted_votes",
    f.elementwise,
    f.reductions,
    f.views,
    f.booleans,
    samples=twice(lambda make: (make.floats(4, 3),)),
    touches=(f.integers,),
)
class CountedVotes(torch.nn.Module):
    """Masks that are added up: the sum counts them, where one and another would still be one."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([x > 0.0, x > -1.0, x < 0.5]).sum(0)


@case(
    "scores_and_moments",
    f.elementwise,
    f.reductions,
    f.parameters,
    f.broadcasting,
    samples=twice(lambda make: (make.floats(2, 4, 3),)),
)
class ScoresAndMoments(torch.nn.Module):
    """What is added to scores cancels where it is the same all along the dimension of the softmax, which counts from
    the front for the scores, and from the back for what has fewer dimensions."""

    def __init__(self) -> None:
        super().__init__()
        self.moments = torch.nn.Parameter(torch.randn(4, 1))

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(x + self.moments, dim=1)


@case(
    "scaled_words",
    f.views,
    f.parameters,
    f.elementwise,
    f.broadcasting,
    samples=twice(lambda make: (make.integers(2, 3, low=0, high=5),)),
    touches=(f.integers,),
)
class ScaledWords(torch.nn.Module):
    """A table times a number may be another table, and the model keeps the one that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(5, 4)
        self.places = torch.nn.Parameter(torch.randn(3, 4))

    def forward(self, ids: Tensor) -> Tensor:
        embedded: Tensor = self.words(ids) * 2.0 + self.places
        return torch.tanh(embedded)


@case(
    "between_whole_numbers",
    f.elementwise,
    f.booleans,
    samples=twice(lambda make: (make.integers(3, 4, low=0, high=4),)),
    touches=(f.integers,),
)
class BetweenWholeNumbers(torch.nn.Module):
    """Whole numbers beside a fraction: neither what is compared nor what is added is cut to a whole number before."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return x < 2.5, x >= 1.5, x + 0.5
