"""Operators with an option that is not the usual one: who forgets it is right everywhere else."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.models import everyday


@everyday(
    "optimiser_steps",
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.floats(4, 5), make.floats(4, 5), make.positive(4, 5)),
)
class OptimiserSteps(torch.nn.Module):
    """What an optimiser adds, subtracts, multiplies and divides has a factor of its own."""

    def forward(self, weight: Tensor, gradient: Tensor, square: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        decayed = torch.sub(gradient, weight, alpha=0.01)
        square = torch.addcmul(square * 0.9, decayed, decayed, value=0.1)
        step = torch.addcdiv(weight, decayed, square.sqrt() + 1e-3, value=-0.05)
        return step, square, torch.rsub(square, 1.0, alpha=0.5), torch.add(weight, step, alpha=2.0)


@everyday(
    "adapted_products",
    f.matmul,
    f.parameters,
    f.several_outputs,
    inputs=lambda make: (make.floats(3, 6), make.floats(2, 3, 3), make.floats(2, 3, 4), make.floats(2, 3, 4)),
    touches=(f.views, f.elementwise, f.broadcasting),
)
class AdaptedProducts(torch.nn.Module):
    """Products that are added to something, with a factor for each: adapters of layers, slopes for attention."""

    def __init__(self) -> None:
        super().__init__()
        self.base, self.bias = torch.nn.Parameter(torch.randn(6, 5)), torch.nn.Parameter(torch.randn(5))
        self.down, self.up = torch.nn.Parameter(torch.randn(6, 2)), torch.nn.Parameter(torch.randn(2, 5))

    def forward(self, x: Tensor, slopes: Tensor, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        layer = torch.addmm(self.bias, x, self.base, beta=0.5)
        adapted = torch.addmm(layer, x @ self.down, self.up, alpha=4.0)
        return layer, adapted, torch.baddbmm(slopes, query, key.transpose(1, 2), beta=0.25, alpha=0.5)


@everyday(
    "added_products",
    f.matmul,
    f.several_outputs,
    inputs=lambda make: (make.floats(3), make.floats(3, 4), make.floats(4), make.floats(2, 3, 4), make.floats(2, 4, 3)),
    touches=(f.elementwise, f.reductions),
)
class AddedProducts(torch.nn.Module):
    """The product of a table and a vector, and those of a batch, added up to something, with a factor for each."""

    def forward(
        self, bias: Tensor, table: Tensor, x: Tensor, query: Tensor, key: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        pooled = torch.addbmm(table[:, :3], query, key, beta=2.0, alpha=0.5)
        return torch.addmv(bias, table, x, beta=0.5, alpha=2.0), pooled, torch.addr(table, bias, x, beta=0.5, alpha=2.0)


@everyday(
    "thresholds",
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.floats(4, 7),),
)
class Thresholds(torch.nn.Module):
    """Activations bend where they are told to, and as far."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        return (
            functional.elu(x, 0.5),
            functional.selu(x),
            functional.celu(x, 0.3),
            functional.softplus(x, beta=2.0, threshold=1.0),
            functional.threshold(x, 0.1, 0.7),
            functional.softshrink(x, 0.2),
            functional.hardshrink(x, 0.8),
            torch.logit(x * 0.5 + 0.5, eps=0.1),
        )


@everyday(
    "learned_slopes",
    f.elementwise,
    f.parameters,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 3, 4, 3), make.floats(4, 3)),
    touches=(f.views,),
)
class LearnedSlopes(torch.nn.Module):
    """A slope below zero for each channel, which is the second dimension, may be above one, and may be negative."""

    def __init__(self) -> None:
        super().__init__()
        self.activation = torch.nn.PReLU(3)
        self.activation.weight = torch.nn.Parameter(torch.tensor([0.25, 1.5, -0.5]))

    def forward(self, pictures: Tensor, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.activation(pictures), self.activation(rows), functional.leaky_relu(rows, 1.5)


@everyday(
    "kept_dimensions",
    f.reductions,
    f.booleans,
    f.several_outputs,
    inputs=lambda make: (make.floats(4, 4), make.floats(4, 4) > -0.8),
    touches=(f.elementwise, f.broadcasting, f.integers, f.views),
)
class KeptDimensions(torch.nn.Module):
    """Rows less what stands for each of them: as many rows as columns let a column pass for a row."""

    def forward(self, x: Tensor, seen: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        lowest, (highest, where) = x.amin(1, keepdim=True), x.max(1, keepdim=True)
        scaled = (x - lowest) / (highest - x.min(1, keepdim=True)[0] + 1.0)
        best, worst = x.argmax(1, keepdim=True), x.argmin(1, keepdim=True)
        with_all = seen & seen.all(1, keepdim=True)
        return scaled, best - best.t(), worst, where, x - x.logsumexp(1, keepdim=True), with_all, x.gather(1, best)


@everyday(
    "spread",
    f.reductions,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 3, 2, 3), make.floats(4, 4)),
    touches=(f.elementwise, f.broadcasting, f.zero_dim),
)
class Spread(torch.nn.Module):
    """Variances of samples and of populations, of rows, of pictures and of all there is."""

    def forward(self, pictures: Tensor, rows: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        of_rows = (rows - rows.mean(1, keepdim=True)) / torch.sqrt(rows.var(1, unbiased=False, keepdim=True) + 1e-5)
        of_pictures = pictures.var([2, 3], keepdim=True)
        styled = pictures / (of_pictures + 1e-3).sqrt()
        of_all = pictures.var(unbiased=False)
        return of_rows, styled, pictures.var([2, 3], unbiased=False), of_all, rows / rows.std()


@everyday(
    "lengths",
    f.reductions,
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.floats(3, 4) - 0.7,),
    touches=(f.views, f.broadcasting, f.zero_dim),
)
class Lengths(torch.nn.Module):
    """Norms of the first, second, third and infinite order, along rows, along a dimension of one, and of all."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        shares = functional.normalize(x, p=1.0, dim=-1)
        third = torch.linalg.vector_norm(x, 3.0, dim=-1, keepdim=True)
        largest = torch.linalg.vector_norm(x, float("inf"), dim=1)
        alone = x[:, :1]
        length = torch.linalg.vector_norm(x)
        return shares, x / third, largest, length, torch.linalg.vector_norm(alone, dim=1), functional.normalize(alone)


@everyday(
    "windows_with_options",
    f.convolution,
    f.several_outputs,
    inputs=lambda make: (make.floats(1, 2, 8, 9),),
    touches=(f.elementwise,),
)
class WindowsWithOptions(torch.nn.Module):
    """Windows with holes, with sides that differ, over a border that does not count, and sums in place of means."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        low = x - 5.0
        return (
            functional.max_pool2d(low, [2, 2], stride=[1, 1], dilation=[2, 2]),
            functional.max_pool2d(low, [2, 3], stride=[2, 1], padding=[0, 1]),
            functional.avg_pool2d(low, [3, 2], stride=[2, 1], padding=[1, 0], count_include_pad=False),
            functional.avg_pool2d(low, [5, 3], stride=[2, 3], padding=[2, 1]),
            functional.avg_pool2d(x, 3, 1, 1, divisor_override=1),
            functional.avg_pool1d(low[0], 3, 2, 1, count_include_pad=False),
        )


@everyday(
    "uneven_kernels",
    f.convolution,
    f.parameters,
    f.submodules,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 1, 8, 10),),
    touches=(f.elementwise, f.views),
)
class UnevenKernels(torch.nn.Module):
    """Kernels, steps, borders and holes that differ by side, depthwise with steps, a point with a border, no batch."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = torch.nn.Conv2d(1, 4, (3, 7), (1, 2), (1, 3), dilation=(2, 1))
        self.deep, self.short = torch.nn.Conv2d(4, 4, 3, 2, 1, groups=4), torch.nn.Conv2d(4, 4, 1, stride=2)
        self.point = torch.nn.Conv2d(4, 2, 1, padding=1)
        self.requires_grad_(False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = torch.relu(self.wide(x))
        return self.deep(y) + self.short(y), self.point(y), self.wide(x[0])


@everyday(
    "kernels_turned_round",
    f.convolution,
    f.parameters,
    f.submodules,
    f.several_outputs,
    inputs=lambda make: (make.floats(1, 4, 4, 3), make.floats(2, 2, 12)),
    touches=(f.elementwise, f.views),
)
class KernelsTurnedRound(torch.nn.Module):
    """Transposed convolutions in groups, with holes and without a bias; and those of sound, gated by channel."""

    def __init__(self) -> None:
        super().__init__()
        self.deep = torch.nn.ConvTranspose2d(4, 4, 4, 2, 1, groups=4, bias=False)
        self.wide = torch.nn.ConvTranspose2d(4, 4, 3, dilation=2, groups=2)
        self.heard = torch.nn.Conv1d(2, 8, 3, padding=2, dilation=2)
        self.down = torch.nn.Conv1d(4, 4, 4, stride=2, groups=2)
        self.up = torch.nn.ConvTranspose1d(4, 2, 4, stride=2, bias=False)
        self.requires_grad_(False)

    def forward(self, picture: Tensor, sound: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        larger = self.deep(picture)
        halved = self.down(functional.glu(self.heard(sound), dim=1))
        return self.wide(torch.relu(larger)), larger, self.up(torch.tanh(halved))


@everyday(
    "quiet_channels",
    f.parameters,
    f.reductions,
    f.submodules,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 4, 5),),
    touches=(f.elementwise, f.views),
)
class QuietChannels(torch.nn.Module):
    """Norms of what has little variance, where what is added to that counts: in three dimensions and in two, with and
    without weights."""

    def __init__(self) -> None:
        super().__init__()
        self.group, self.plain = torch.nn.GroupNorm(2, 4, eps=1e-3), torch.nn.GroupNorm(2, 4, affine=False)
        self.batch, self.bare = torch.nn.BatchNorm1d(4, eps=1e-3), torch.nn.BatchNorm1d(4, affine=False)
        self.layer = torch.nn.LayerNorm(5, eps=1e-2)
        self.batch.running_var = torch.rand(4) * 0.01
        self.requires_grad_(False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        quiet = x * 0.02
        grouped = self.group(quiet)
        return grouped, self.plain(x.mean(-1)), self.batch(quiet), self.bare(x.amax(-1)), self.layer(quiet)


@everyday(
    "distillation",
    f.reductions,
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.floats(3, 4), make.floats(3, 4)),
    touches=(f.zero_dim, f.views, f.broadcasting),
)
class Distillation(torch.nn.Module):
    """A student is held against a teacher: by sums for a batch, by logarithms, by classes in part, and by angles."""

    def forward(self, student: Tensor, teacher: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        learnt, known = functional.log_softmax(student, -1), functional.log_softmax(teacher, -1)
        return (
            functional.kl_div(learnt, known.exp(), reduction="batchmean"),
            functional.kl_div(learnt, known, reduction="sum", log_target=True),
            functional.cross_entropy(student, known.exp()),
            functional.cosine_similarity(student, teacher, dim=0),
        )


@everyday(
    "losses",
    f.reductions,
    f.elementwise,
    f.several_outputs,
    inputs=lambda make: (make.floats(6, 4), make.integers(6, low=0, high=4), make.floats(6, 4), make.floats(6, 4)),
    touches=(f.zero_dim, f.integers, f.views, f.parameters),
)
class Losses(torch.nn.Module):
    """Losses with weights, with labels that do not count, summed up or each by itself, and bent elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0, 0.5, 3.0]), requires_grad=False)

    def forward(
        self, logits: Tensor, labels: Tensor, x: Tensor, y: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        return (
            functional.cross_entropy(logits, labels, weight=self.weight, ignore_index=1),
            functional.cross_entropy(logits, labels, reduction="none", label_smoothing=0.1),
            functional.nll_loss(functional.log_softmax(logits, 1), labels, reduction="sum"),
            functional.mse_loss(x, y, reduction="sum"),
            functional.smooth_l1_loss(x, y, beta=0.2),
            functional.huber_loss(x, y, delta=0.5, reduction="none"),
            functional.binary_cross_entropy_with_logits(x, torch.sigmoid(y), pos_weight=self.weight),
        )
