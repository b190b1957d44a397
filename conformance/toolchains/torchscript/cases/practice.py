"""Models as they are written in practice, each with what a pass over its graph takes for granted: that equal numbers
are equal, that nobody else sees a value, that a layer has one use, that names are in order."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple  # noqa: UP035  (TorchScript resolves these names)

import torch
from torch import Tensor

from conformance.api import features as f
from conformance.toolchains.torchscript.cases import case


@case(
    "equal_numbers",
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.integers(5),) for _ in "ab"]},
    touches=(f.integers, f.mixed_dtypes),
)
class EqualNumbers(torch.nn.Module):
    """``2 == 2.0``, and yet one gives integers and the other floats, also of what is only a step on the way."""

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # noqa: UP006
        return x * 2, x * 2.0, x - 1.0, (x + 1) // 2, (x + 1.0) // 2


@case(
    "logits_and_scores",
    f.elementwise,
    f.several_outputs,
    samples=lambda make: {"forward": [(make.floats(4, 3), make.floats(4, 3)) for _ in "ab"]},
)
class LogitsAndScores(torch.nn.Module):
    """A classifier gives what it computed its scores of, too."""

    def forward(self, x: Tensor, y: Tensor) -> Tuple[Tensor, Tensor, Tensor]:  # noqa: UP006
        logits, kept = x * 2 - y, x - y
        return logits, torch.sigmoid(logits), kept * torch.relu(kept)


@case(
    "ceilings",
    f.scalars,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(5), 3), (make.floats(4), -3), (make.floats(7), 2)]},
)
class Ceilings(torch.nn.Module):
    """Python rounds quotients of whole numbers down, whatever their signs."""

    def forward(self, x: Tensor, count: int) -> Tensor:
        return x + -(-x.size(0) // count) + 10 * (count // 2) + 100 * (-count % 4)


@case(
    "ends_in_the_middle",
    f.loops,
    f.control_flow,
    f.in_place,
    f.views,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(4, 3),), (make.floats(1, 3),), (make.floats(2, 2),)]},
)
class EndsInTheMiddle(torch.nn.Module):
    """What a turn did before it ends the loop is done; what a turn makes is made anew in the next one."""

    def forward(self, x: Tensor) -> Tensor:
        kept: List[Tensor] = []  # noqa: UP006
        total = x[0]
        for row in x:
            sums = torch.zeros(x.size(1))
            sums += row
            kept.append(sums)
            total = total * 0.5 + row
            if len(kept) == 2:
                break
        return torch.stack(kept) + total


@case(
    "causal",
    f.matmul,
    f.views,
    samples=lambda make: {"forward": [(make.floats(2, 4, 3),), (make.floats(1, 3, 3),)]},
)
class Causal(torch.nn.Module):
    """Attention with fewer queries than keys: the first query looks at the first key."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.nn.functional.scaled_dot_product_attention(x[:, 1:], x, x, is_causal=True)


@case(
    "padding_mask",
    f.matmul,
    f.views,
    f.booleans,
    samples=lambda make: {
        "forward": [
            (make.floats(2, 4, 3), torch.tensor([3, 1])),
            (make.floats(1, 2, 3), torch.tensor([2])),
            (make.floats(2, 3, 3), torch.tensor([1, 3])),
        ]
    },
    touches=(f.integers,),
)
class PaddingMask(torch.nn.Module):
    """Attention that leaves out what a sequence was filled up with: a mask of bools says what to look at."""

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        mask = (torch.arange(x.size(1)) < lengths[:, None])[:, None, :]
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)


@case(
    "last_of_few",
    f.views,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(2, 3),), (make.floats(2, 7),), (make.floats(3, 4),)]},
)
class LastOfFew(torch.nn.Module):
    """The last five of what may be fewer, all but them, and all but the first of them: bounds stop at the ends."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x[:, -5:] * 2.0, x[:, :-5], x[:, 1:100], x[:, -5:][:, 1:] - 1.0], dim=1)


@case(
    "nothing_or_zero",
    f.optionals,
    f.scalars,
    f.control_flow,
    f.elementwise,
    samples=lambda make: {
        "forward": [(make.floats(3), None, None, None), (make.floats(3), 0.0, 0, False), (make.floats(3), 2.5, 3, True)]
    },
)
class NothingOrZero(torch.nn.Module):
    """An option that is zero, or no, was given: None alone is not."""

    def forward(
        self,
        x: Tensor,
        scale: Optional[float],  # noqa: UP045
        count: Optional[int],  # noqa: UP045
        negative: Optional[bool],  # noqa: UP045
    ) -> Tensor:
        x = x * (7.0 if scale is None else scale) + (5 if count is None else count)
        return x + 100.0 if negative is None else (-x if negative else x)


@case(
    "alike_names",
    f.matmul,
    f.parameters,
    f.submodules,
    samples=lambda make: {"forward": [(make.floats(2, 3),) for _ in "ab"]},
)
class AlikeNames(torch.nn.Module):
    """Names of weights that are told apart by their dots alone."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.layer_0 = torch.nn.Sequential(torch.nn.Linear(3, 3)), torch.nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) - self.layer_0(x) * 0.5


@case(
    "in_given_order",
    f.nested_values,
    f.loops,
    f.elementwise,
    samples=lambda make: {
        "forward": [({"weight": make.floats(3), "bias": make.floats(3), "0": make.floats(3)},) for _ in "ab"]
    },
)
class InGivenOrder(torch.nn.Module):
    """A dictionary keeps the order in which it was filled."""

    def forward(self, named: Dict[str, Tensor]) -> Tensor:  # noqa: UP006
        result = torch.zeros(3)
        for value in named.values():
            result = result * 2.0 + value
        return result


@case(
    "nothing_converted",
    f.parameters,
    f.elementwise,
    f.views,
    f.broadcasting,
    samples=lambda make: {"forward": [(make.floats(2, 3),) for _ in "ab"]},
)
class NothingConverted(torch.nn.Module):
    """What is converted to what it is already is the same tensor, and nobody's to write in."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3))

    def forward(self, x: Tensor) -> Tensor:
        return x.float() / 255.0 + x.contiguous() * 2.0 - self.weight.to(torch.float32) * 0.5


@case(
    "shared_by_heads",
    f.matmul,
    f.broadcasting,
    samples=lambda make: {"forward": [(make.floats(2, 3, 4, 5), make.floats(2, 1, 5, 2)) for _ in "ab"]},
)
class SharedByHeads(torch.nn.Module):
    """Three matrices of a batch share one, and those of the next another."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x @ y


@case(
    "begun_recurrence",
    f.recurrent,
    f.parameters,
    f.several_outputs,
    samples=lambda make: {
        "forward": [(make.floats(5, 2, 3), make.floats(1, 2, 4), make.floats(1, 2, 4)) for _ in "ab"]
    },
)
class BegunRecurrence(torch.nn.Module):
    """The state that a recurrent layer begins with is its caller's, who calls with it again."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(3, 4)

    def forward(self, x: Tensor, h: Tensor, c: Tensor) -> Tuple[Tensor, Tensor, Tensor]:  # noqa: UP006
        rows, (h, c) = self.lstm(x, (h, c))
        return rows, h, c


@case(
    "as_many_as_come",
    f.nested_values,
    f.loops,
    f.scalars,
    f.elementwise,
    samples=lambda make: {"forward": [(make.floats(3), count) for count in (2, 4, 1, 3)]},
)
class AsManyAsCome(torch.nn.Module):
    """A list as long as a call asks for."""

    def forward(self, x: Tensor, count: int) -> List[Tensor]:  # noqa: UP006
        rows: List[Tensor] = []  # noqa: UP006
        for number in range(count):
            rows.append(x * 0.5 + number)
        return rows


@case(
    "wide_table",
    f.parameters,
    samples=lambda make: {"forward": [(make.integers(3),) for _ in "ab"]},
    touches=(f.integers,),
)
class WideTable(torch.nn.Module):
    """Whole numbers of more than 32 bits among the weights, as hashes have them."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.tensor([2**40 + 3, -(2**35) - 1, 5]))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table


@case(
    "nearly_attention",
    f.matmul,
    f.elementwise,
    f.views,
    f.several_outputs,
    samples=lambda make: {"forward": [tuple(make.floats(1, 3, 4, 3) for _ in "qkv") for _ in "ab"]},
)
class NearlyAttention(torch.nn.Module):
    """A softmax along the columns, and keys of which other sides change places: no attention that a kernel has."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tuple[Tensor, Tensor]:  # noqa: UP006
        columns = torch.softmax(query @ key.transpose(-1, -2) / 2.0, dim=-2) @ value
        return columns, torch.softmax(query @ key.permute(0, 3, 1, 2) / 2.0, dim=-1) @ value


@case(
    "frozen",
    f.constants,
    samples=lambda make: {"forward": [(make.floats(3, 4), make.floats(3, 4)) for _ in "ab"]},
    frozen=True,
)
class Frozen(torch.nn.Module):
    """Weights that are constants of the graph: two models of one code differ in nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 4))
        self.register_buffer("mean", torch.randn(3, 4))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + self.weight - (y - self.mean)
