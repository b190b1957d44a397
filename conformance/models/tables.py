"""Tables that are read, written, counted and put in order by what other tensors say."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.models import everyday


@everyday(
    "written_from_the_end",
    f.in_place,
    f.views,
    f.booleans,
    f.several_outputs,
    inputs=lambda make: (make.floats(5, 3), make.floats(2, 3), make.floats(2, 4, 3), make.floats(2, 4) > 0.5),
    touches=(f.elementwise, f.integers, f.broadcasting),
)
class WrittenFromTheEnd(torch.nn.Module):
    """Rows that are counted from the end are written to, and places that a mask has."""

    def __init__(self) -> None:
        super().__init__()
        self.places = torch.nn.Parameter(torch.tensor([-1, -3]), requires_grad=False)

    def forward(self, cache: Tensor, new: Tensor, tokens: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        written, tail = cache.clone(), cache * 2.0
        written[self.places] = new
        written[-2, 1:] = 0.5
        tail[:, -2:] = new[:1, :2]
        return written, tail, tokens.masked_fill(chosen.unsqueeze(-1), -2.0)


@everyday(
    "several_labels",
    f.views,
    f.integers,
    f.several_outputs,
    inputs=lambda make: (torch.stack([torch.tensor([4, 1]), make.integers(2, low=2, high=4), torch.tensor([0, 5])]),),
    touches=(f.elementwise, f.reductions, f.booleans),
)
class SeveralLabels(torch.nn.Module):
    """More than one label for each row: ones among zeros, nine tenths among the rest, and numbers that are counted."""

    def forward(self, labels: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        among_zeros = torch.zeros(3, 6).scatter(1, labels, 1.0)
        smooth = torch.full([3, 6], 0.1).scatter(1, labels[:, :1], 0.9)
        counted, twice = torch.ones(3, 4).cumsum(0), torch.full([2, 3], 2, dtype=torch.int64).cumsum(1)
        return among_zeros, smooth, counted * labels[0, 0], twice + labels[0, 1]


@everyday(
    "messages_to_nodes",
    f.views,
    f.several_outputs,
    inputs=lambda make: (make.floats(5, 3), make.floats(7, 3), torch.tensor([3, 0, 3, 1, 0, 3, 1])),
    touches=(f.elementwise, f.reductions, f.integers, f.broadcasting),
)
class MessagesToNodes(torch.nn.Module):
    """Several messages for a node are added up, and none for another; of fewer of them than there are, and to what was
    there."""

    def forward(self, nodes: Tensor, messages: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        places = targets.unsqueeze(1).expand(-1, 3)
        fewer = torch.zeros_like(nodes).scatter_add(0, places[:4], messages)
        return nodes.index_add(0, targets, messages), nodes.scatter_add(0, places, messages), fewer


@everyday(
    "best_of_messages",
    f.views,
    f.reductions,
    f.several_outputs,
    inputs=lambda make: (make.floats(5, 3), make.floats(7, 3), torch.tensor([3, 0, 3, 1, 0, 3, 1])),
    touches=(f.elementwise, f.integers, f.broadcasting),
)
class BestOfMessages(torch.nn.Module):
    """Messages are averaged, or the largest counts, with what a node had and without it."""

    def forward(self, nodes: Tensor, messages: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        places = targets.unsqueeze(1).expand(-1, 3)
        mean = nodes.scatter_reduce(0, places, messages, "mean")
        alone = nodes.scatter_reduce(0, places, messages, "mean", include_self=False)
        largest = nodes.scatter_reduce(0, places, messages - 9.0, "amax", include_self=False)
        return mean, alone, largest, nodes.index_add(0, targets, messages, alpha=0.5)


@everyday(
    "rankings",
    f.reductions,
    f.several_outputs,
    inputs=lambda make: (make.floats(5, 5), make.integers(8, low=0, high=5), torch.tensor([1, 2, 4])),
    touches=(f.integers, f.booleans, f.views, f.elementwise),
)
class Rankings(torch.nn.Module):
    """Columns are ranked, and not rows; equal ones stay in order; bounds belong to the right."""

    def forward(
        self, scores: Tensor, ids: Tensor, bounds: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        ranked, order = torch.sort(scores, 0)
        _, stable = torch.sort(ids, stable=True, dim=0, descending=True)
        best, second = torch.topk(scores, 2, dim=0)[1], torch.kthvalue(scores, 2, 0)[0]
        middle = torch.median(scores, 1, keepdim=True)[0]
        left, right = torch.searchsorted(bounds, ids), torch.bucketize(ids, bounds, right=True)
        return ranked, order, stable, best, second, scores - middle, left, right, torch.isin(ids, bounds, invert=True)


@everyday(
    "bags_of_words",
    f.parameters,
    f.integers,
    f.several_outputs,
    inputs=lambda make: (make.integers(7, low=0, high=9), torch.tensor([0, 2, 5, 7]), make.floats(7)),
    touches=(f.reductions, f.views),
)
class BagsOfWords(torch.nn.Module):
    """Words of a bag are added with weights, averaged but for one that fills up, or the largest counts."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(9, 4), requires_grad=False)

    def forward(self, ids: Tensor, offsets: Tensor, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        weighted = functional.embedding_bag(
            ids, self.table, offsets, mode="sum", per_sample_weights=weights, include_last_offset=True
        )
        averaged = functional.embedding_bag(ids, self.table, offsets[:-1], mode="mean", padding_idx=2)
        return weighted, averaged, functional.embedding_bag(ids, self.table, offsets[:-1], mode="max")


@everyday(
    "histograms",
    f.reductions,
    f.integers,
    f.several_outputs,
    inputs=lambda make: (torch.tensor([0, 1, 1, 3, 3, 2]), make.floats(6), make.floats(3, 4)),
    touches=(f.views, f.complex_numbers, f.elementwise),
)
class Histograms(torch.nn.Module):
    """Counts with weights, and for numbers that do not occur; between bounds; a variance with its mean; and a spectrum
    there and back."""

    def forward(self, ids: Tensor, weights: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        spectrum = torch.fft.rfft(x, norm="ortho")
        back = torch.fft.irfft(spectrum, n=4, norm="ortho")
        counts = torch.bincount(ids, weights, minlength=6)
        variance, mean = torch.var_mean(x, dim=[1], unbiased=False)
        return counts, torch.histc(weights, 5, -1.0, 1.0), x.repeat_interleave(2, dim=1), back, variance - mean


@everyday(
    "filled_up_sentences",
    f.parameters,
    f.integers,
    f.several_outputs,
    inputs=lambda make: (make.integers(2, 2, 3, low=0, high=7) * torch.tensor([1, 1, 0]),),
    touches=(f.views, f.reductions),
)
class FilledUpSentences(torch.nn.Module):
    """The row of what fills up is one like the others, once weights were loaded; and places have three sides."""

    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(7, 3, padding_idx=0)
        self.words.weight = torch.nn.Parameter(torch.randn(7, 3), requires_grad=False)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        words = self.words(ids)
        return words, words.mean(2)


@everyday(
    "banned_columns",
    f.elementwise,
    f.booleans,
    f.several_outputs,
    inputs=lambda make: (
        make.floats(4, 4),
        torch.tensor([False, True, False, True]),
        make.floats(3, 1),
        make.floats(3, 1),
        make.floats(3, 4) > 0.0,
    ),
    touches=(f.broadcasting,),
)
class BannedColumns(torch.nn.Module):
    """A mask with a place for each column, of as many as rows; and one that is larger than what it chooses."""

    def forward(
        self, table: Tensor, banned: Tensor, one: Tensor, other: Tensor, chosen: Tensor
    ) -> tuple[Tensor, Tensor]:
        return table.masked_fill(banned, -9.0), torch.where(chosen, one, other)


@everyday(
    "last_of_each",
    f.views,
    f.integers,
    f.several_outputs,
    inputs=lambda make: (make.floats(3, 4, 3), torch.tensor([-1, 1, -2]), torch.tensor([2, 0, 1])),
    touches=(f.elementwise, f.broadcasting),
)
class LastOfEach(torch.nn.Module):
    """A place for each row, counted from the end where it is negative; and all places of an order for all rows."""

    def forward(self, x: Tensor, last: Tensor, order: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rows = torch.arange(3)
        return x[rows, last], x[rows[:, None], order], x.index_select(-1, order)


@everyday(
    "caches_written",
    f.in_place,
    f.views,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 4, 3), make.floats(2, 2, 3), torch.tensor([3, 1]), make.floats(2, 4) > 0.0),
    touches=(f.elementwise, f.integers, f.booleans, f.broadcasting),
)
class CachesWritten(torch.nn.Module):
    """Keys are written at places of the second side, at a place for each row, up to the last, and where a mask is."""

    def forward(
        self, cache: Tensor, keys: Tensor, places: Tensor, chosen: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        at_places, for_each, last, all_but_last, masked = (
            cache * 1.0,
            cache + 1.0,
            cache * 2.0,
            cache - 1.0,
            cache * 3.0,
        )
        at_places[:, places] = keys
        for_each[torch.arange(2), places - 4] = keys[:, 0]
        last[:, -1] = keys[:, 0] * 2.0
        all_but_last[:, -3:-1] = keys
        masked[chosen] = -1.0
        return at_places, for_each, last, all_but_last, masked


@everyday(
    "hashed_places",
    f.parameters,
    f.integers,
    f.elementwise,
    inputs=lambda make: (make.integers(5, low=0, high=99999), make.integers(5, low=0, high=99999)),
    touches=(f.views,),
)
class HashedPlaces(torch.nn.Module):
    """A place is found by a product that needs more bits than the place does."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(17, 3), requires_grad=False)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.table[(x * 73856093 + y * 19349663) % 17] * 2.0


@everyday(
    "first_end_of_sentence",
    f.reductions,
    f.integers,
    f.several_outputs,
    inputs=lambda make: (make.integers(3, 40, low=0, high=4), make.integers(3, 40, low=0, high=4) * 0.5),
    touches=(f.views, f.booleans, f.mixed_dtypes, f.elementwise),
)
class FirstEndOfSentence(torch.nn.Module):
    """Of equals in long rows the first is meant, be they the largest or the smallest."""

    def forward(self, words: Tensor, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        end = (words == 3).to(torch.int32).argmax(-1)
        return end, scores.argmin(-1), scores[torch.arange(3), end]
