"""Where elements go: along which dimension, from which end, in which order, and how often."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.models import everyday


@everyday(
    "diagonals",
    f.views,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 4, 4),),
    touches=(f.elementwise,),
)
class Diagonals(torch.nn.Module):
    """Triangles and diagonals beside the main one, of other dimensions than the first, and of what is no square."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        beside = torch.diagonal(x, 1, 1, 2) * 2.0
        return torch.tril(x, -1), torch.triu(x, 1), beside, torch.diagonal(x, 0, 0, 2) + 1.0, torch.tril(x[:, :2])


@everyday(
    "sides_of_a_cube",
    f.views,
    f.reductions,
    f.several_outputs,
    inputs=lambda make: (make.floats(4, 4, 4), torch.tensor([2, 0, 3])),
    touches=(f.elementwise, f.booleans, f.integers),
)
class SidesOfACube(torch.nn.Module):
    """All sides are alike, so that nothing but its values tells one from another."""

    def forward(
        self, x: Tensor, places: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        first, second, third, fourth = x.unbind(1)
        return (
            torch.stack([fourth, second, third, first], 2),
            torch.roll(x, [1, 2], [1, 2]),
            functional.glu(x, 1),
            x.index_select(2, places),
            x.cumsum(1),
            x.prod(1),
            (x > 1.0).any(1),
            x[:, -1].unsqueeze(-1) - first,
        )


@everyday(
    "rotated_halves",
    f.elementwise,
    f.views,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 4, 6), make.floats(4, 6), make.floats(4, 6)),
    touches=(f.broadcasting,),
)
class RotatedHalves(torch.nn.Module):
    """Positions turn pairs of numbers: halves are exchanged, and one of them is negated; and halves are joined as they
    were, the other way round, and along another side."""

    def forward(self, x: Tensor, cosine: Tensor, sine: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        left, right = x[..., :3], x[..., 3:]
        upper, lower = x.chunk(2, 1)
        rotated = x * cosine + torch.cat([-right, left], -1) * sine
        turned = torch.cat([upper, torch.cat([lower, upper], 1)], 1)
        pairs = torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).flatten(-2)
        swapped, rows = torch.cat([right, left], -1), torch.cat([lower, upper], 1)
        return rotated, pairs, swapped, rows, torch.cat([upper, lower], 2), turned


@everyday(
    "joined_and_split",
    f.views,
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 3, 4), make.floats(2, 5, 4)),
)
class JoinedAndSplit(torch.nn.Module):
    """What was joined is split elsewhere than where it was joined, and along another side than it was."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        both = torch.cat([x, y], 1)
        left, right = both.split([5, 3], 1)
        first, _, third = both.split(3, 1)
        halves = torch.cat([y, x], 1).chunk(2, 1)
        square = torch.cat([torch.cat([x, x], 0), torch.cat([y[:, :3], x], 0)], 1)
        return left * 2.0, right, halves[0], third - first[:, :2], both[:, 1:6], both[:, :, 1:] + 1.0, square


@everyday(
    "rolling_cache",
    f.views,
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 6, 3), make.floats(2, 4, 3)),
)
class RollingCache(torch.nn.Module):
    """The last of what was kept and what is new: parts of parts, with steps, and counted from the end."""

    def forward(self, kept: Tensor, new: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        both = torch.cat([kept, new], 1)
        every_second, cut, tail = both[:, ::2][:, 1:3], both[:, 2:9][:, 1:4], both[:, :7][:, -3:]
        return both[:, -5:] * 2.0, both[:, 7:9] - 1.0, every_second, cut, tail, both[:, -2] + new[:, -1]


@everyday(
    "sides_in_another_order",
    f.views,
    f.reductions,
    f.parameters,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 3, 3, 3), make.floats(3, 3, 3), make.floats(3, 3, 3), make.floats(2, 4, 2, 2)),
    touches=(f.elementwise, f.broadcasting),
)
class SidesInAnotherOrder(torch.nn.Module):
    """Sides change their order ahead of a mean, a softmax, a sum with fewer sides, and of being joined."""

    def __init__(self) -> None:
        super().__init__()
        self.positions, self.token = torch.nn.Parameter(torch.randn(4, 4)), torch.nn.Parameter(torch.randn(1, 1, 4))

    def forward(
        self, picture: Tensor, sound: Tensor, memory: Tensor, patches: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        last = picture.permute(0, 2, 3, 1)
        joined = torch.cat([sound.transpose(1, 2), memory.transpose(0, 1)], 1)
        tokens = patches.flatten(2).transpose(1, 2) + self.positions
        rest = (tokens + self.token)[:, 1:][:, :2]
        return last.softmax(-1), last.mean([1, 2]), sound.permute(2, 0, 1).mean(2), joined, tokens, rest


@everyday(
    "heads_as_long_as_wide",
    f.views,
    f.several_outputs,
    inputs=lambda make: (make.floats(4, 4, 16),),
    touches=(f.elementwise,),
)
class HeadsAsLongAsWide(torch.nn.Module):
    """As many heads as there are tokens, and both as many as a head is wide: two exchanges of sides are not none."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        heads = x.view(4, 4, 4, 4)
        turned = heads.transpose(1, 2).transpose(-2, -1)
        return (
            turned * 0.5,
            heads.permute(1, 0, 2, 3) + 1.0,
            heads.transpose(0, 1).permute(0, 2, 1, 3).reshape(4, 4, 16),
        )


@everyday(
    "overlapping_patches",
    f.views,
    f.several_outputs,
    inputs=lambda make: (make.floats(1, 2, 6, 6), make.floats(2, 12)),
    touches=(f.elementwise, f.convolution, f.reductions),
)
class OverlappingPatches(torch.nn.Module):
    """Patches with holes and borders, apart and put together; frames that overlap; and chunks that begin behind the
    first element."""

    def forward(self, x: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        columns = functional.unfold(x, 3, dilation=2, padding=2, stride=2)
        chunks = (tokens + 1.0).as_strided([2, 3, 4], [12, 3, 1], 1)
        back = functional.fold(functional.unfold(x, 3, stride=2), (6, 6), 3, stride=2)
        return columns, x.unfold(3, 3, 2) * 2.0, chunks * 2.0, back


@everyday(
    "borders_and_blocks",
    f.views,
    f.several_outputs,
    inputs=lambda make: (make.floats(1, 8, 4, 4), make.floats(1, 2, 4, 4)),
    touches=(f.elementwise, f.convolution, f.integers),
)
class BordersAndBlocks(torch.nn.Module):
    """Blocks of channels become places and places blocks; borders mirror what is inside, or repeat the last; tables are
    laid side by side."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        table = y[0, 0]
        return (
            functional.pixel_shuffle(x, 2),
            functional.pixel_unshuffle(y, 2),
            functional.pad(y, [2, 1, 1, 2], mode="reflect"),
            functional.pad(y, [1, 2, 0, 1], mode="replicate"),
            table.repeat(1, 2),
            table.repeat(2, 1, 1, 1),
        )


@everyday(
    "filled_up_rows",
    f.views,
    f.several_outputs,
    inputs=lambda make: (make.integers(2, 3, low=0, high=9), make.booleans(2, 3)),
    touches=(f.integers, f.booleans),
)
class FilledUpRows(torch.nn.Module):
    """Rows of words and of truths are filled up with one of their kind."""

    def forward(self, words: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        return functional.pad(words, [0, 2], value=1.0), functional.pad(seen, [2, 0])


@everyday(
    "cut_borders",
    f.views,
    f.several_outputs,
    inputs=lambda make: (make.floats(1, 2, 5), make.floats(1, 1, 5, 5)),
    touches=(f.elementwise,),
)
class CutBorders(torch.nn.Module):
    """Borders of less than nothing take something away, also where something is added on the other side."""

    def forward(self, sound: Tensor, picture: Tensor) -> tuple[Tensor, Tensor]:
        return functional.pad(sound, [1, -2]) * 2.0, functional.pad(picture, [-1, -1, -1, -2]) - 1.0


@everyday(
    "batch_of_one",
    f.matmul,
    f.views,
    f.parameters,
    f.several_outputs,
    inputs=lambda make: (make.floats(1, 3, 4),),
    touches=(f.elementwise,),
)
class BatchOfOne(torch.nn.Module):
    """A head of one column loses its last side, and not the batch, which is one too; one of two columns loses none."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = torch.nn.Linear(4, 1), torch.nn.Linear(4, 2)
        self.requires_grad_(False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.one(x).squeeze(-1), self.two(x).squeeze(-1) * 2.0


@everyday(
    "sides_come_and_go",
    f.views,
    f.several_outputs,
    inputs=lambda make: (make.floats(3, 3), make.floats(3, 3)),
    touches=(f.elementwise, f.broadcasting, f.reductions),
)
class SidesComeAndGo(torch.nn.Module):
    """A side of one goes here and comes there; new sides come ahead; items of items; and sums of what was expanded."""

    def forward(self, x: Tensor, table: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        column, row = x[:, :1].squeeze(1).unsqueeze(0), x[:1].unsqueeze(1).squeeze(0)
        tokens = table.expand(3, 3, 3) + x
        wide = x.unsqueeze(1).expand(-1, 5, -1).sum(1)
        return column * 2.0, row * 2.0, tokens, tokens[:, 0][:, 1], tokens[1][2], wide


@everyday(
    "contractions",
    f.matmul,
    f.views,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 7, 4), make.floats(7, 4, 3), make.floats(4, 4)),
    touches=(f.reductions, f.elementwise, f.zero_dim, f.broadcasting),
)
class Contractions(torch.nn.Module):
    """Letters in another order than that of the sides, or alone, or twice; sides that move; uneven parts."""

    def forward(
        self, x: Tensor, y: Tensor, square: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        parts = x.chunk(3, 1)
        return (
            torch.einsum("bc,ba", square, square.tril()),
            torch.einsum("bij->bi", x),
            torch.einsum("bid,bjd->bji", x, x[:, :3]),
            torch.tensordot(x, y, dims=2),
            torch.movedim(x, [0, 1], [2, 0]) + 1.0,
            x.flatten(0, 1) * 2.0,
            parts[2] - 1.0,
            torch.outer(square[0], square[1]),
        )


@everyday(
    "grids_and_turns",
    f.views,
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.floats(3, 4), make.floats(3), make.floats(4), torch.tensor([0, 2, 3])),
    touches=(f.integers, f.broadcasting),
)
class GridsAndTurns(torch.nn.Module):
    """Grids whose first side is x; quarters of a turn; differences of differences; and labels of which the last is
    absent."""

    def forward(
        self, picture: Tensor, x: Tensor, y: Tensor, labels: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        across, down = torch.meshgrid(x, y, indexing="xy")
        faster = torch.diff(picture, n=2)
        return (
            across * 2.0 + down,
            torch.rot90(picture, 1, [0, 1]),
            faster,
            functional.one_hot(labels, 5),
            across - down,
        )


@everyday(
    "parts_of_what_sees_all",
    f.reductions,
    f.views,
    f.several_outputs,
    inputs=lambda make: (make.floats(4, 4), make.floats(1, 2, 4, 4)),
    touches=(f.elementwise, f.convolution),
)
class PartsOfWhatSeesAll(torch.nn.Module):
    """A part of what has the size of its operand, and is made of all of that: classes but the first, sums so far."""

    def forward(self, x: Tensor, picture: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        smooth = functional.max_pool2d(picture, 3, 1, 1)[:, :, 1:, :2]
        return torch.softmax(x, -1)[:, 1:], x.flip(1)[:, :3], x.cumsum(1)[:, 2:], smooth
