"""Parts of networks that are like a pattern which compilers replace, and differ from it in one thing."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from conformance.api import features as f
from conformance.models import everyday


@everyday(
    "kinds_of_attention",
    f.matmul,
    f.reductions,
    f.several_outputs,
    inputs=lambda make: (
        make.floats(2, 4, 3, 8),
        make.floats(2, 4, 5, 8),
        make.floats(2, 4, 5, 8),
        make.floats(1, 4, 3, 5),
        (make.floats(2, 1, 3, 5) > 0.4) | (torch.arange(5) == 0),
    ),
    touches=(f.views, f.elementwise, f.booleans, f.broadcasting, f.non_finite),
)
class KindsOfAttention(torch.nn.Module):
    """Attention with a bias and a scale, with what may be seen, with more keys than queries, and with values of another
    width."""

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, bias: Tensor, seen: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return (
            functional.scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=1.0),
            functional.scaled_dot_product_attention(query, key, value, attn_mask=seen),
            functional.scaled_dot_product_attention(query, key, value, is_causal=True),
            functional.scaled_dot_product_attention(query, key, value[..., :4]),
        )


@everyday(
    "fewer_heads_of_keys",
    f.matmul,
    f.views,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 4, 3, 8), make.floats(2, 2, 3, 8), make.floats(2, 2, 3, 8)),
    touches=(f.reductions, f.elementwise, f.broadcasting, f.non_finite),
)
class FewerHeadsOfKeys(torch.nn.Module):
    """Heads beside one another share keys: each head of keys comes twice, one behind the other."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        keys = key[:, :, None].expand(2, 2, 2, 3, 8).reshape(2, 4, 3, 8)
        shared = functional.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
        return shared, torch.matmul(query, keys.transpose(2, 3))


@everyday(
    "raw_and_activated",
    f.matmul,
    f.convolution,
    f.parameters,
    f.submodules,
    f.several_outputs,
    inputs=lambda make: (make.floats(3, 4), make.floats(1, 2, 5, 5)),
    touches=(f.elementwise, f.views),
)
class RawAndActivated(torch.nn.Module):
    """What a layer gives is activated, and is needed as it was, too."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.convolution = torch.nn.Linear(4, 4, bias=False), torch.nn.Conv2d(2, 2, 3, padding=1)
        self.requires_grad_(False)

    def forward(self, x: Tensor, picture: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        rows, places = self.layer(x), self.convolution(picture)
        both = torch.cat([rows, x], 1)
        gated = functional.silu(rows) * rows - functional.gelu(rows)
        return gated, functional.relu6(places) + places, functional.leaky_relu(places, 0.1), torch.relu(both) - both


@everyday(
    "falling_scores",
    f.reductions,
    f.elementwise,
    f.parameters,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 3, 4), make.floats(1, 2, 4, 4)),
    touches=(f.convolution, f.broadcasting, f.zero_dim),
)
class FallingScores(torch.nn.Module):
    """A learned factor that is below zero turns the order round; means of means, and windows of what was activated."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(-1.5), requires_grad=False)

    def forward(self, x: Tensor, picture: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        scores = x * self.scale
        return (
            torch.softmax(scores, -1),
            scores - scores.amax(-1, keepdim=True),
            torch.amin(-x, 1),
            x.sum(0).sum(1) - x.amax(0).amax(0).sum(),
            functional.avg_pool2d(torch.relu(picture), 2),
            functional.max_pool2d(functional.gelu(picture), 2),
        )


@everyday(
    "normalised_pictures",
    f.convolution,
    f.matmul,
    f.parameters,
    f.submodules,
    f.several_outputs,
    inputs=lambda make: (make.positive(1, 3, 4, 4),),
    touches=(f.elementwise, f.reductions, f.broadcasting, f.views),
)
class NormalisedPictures(torch.nn.Module):
    """What is subtracted ahead of a convolution is not subtracted from its border; what is divided behind a layer is
    its bias, too; and a number for each column is none for each channel."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1))
        self.columns = torch.nn.Parameter(torch.randn(4))
        self.convolution = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.grey, self.head = torch.nn.Conv2d(3, 2, 3, padding=1), torch.nn.Linear(4, 3)
        self.requires_grad_(False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        y = self.convolution((x - self.mean) / 0.225)
        return self.head(y.mean([2, 3])) / 0.7, y, self.grey(x - 0.5), self.convolution(x) * self.columns + self.columns


@everyday(
    "any_size_of_picture",
    f.convolution,
    f.reductions,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 3, 5, 4),),
    touches=(f.views,),
)
class AnySizeOfPicture(torch.nn.Module):
    """As many means as a head asks for, of pictures that have fewer places, or a number that does not divide them."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return (
            functional.adaptive_avg_pool2d(x, (7, 5)),
            functional.adaptive_avg_pool2d(x[0], (3, 2)),
            functional.adaptive_avg_pool2d(x, (1, 3)),
        )


@everyday(
    "sampled_pictures",
    f.convolution,
    f.views,
    f.several_outputs,
    inputs=lambda make: (make.floats(1, 2, 5, 5), make.floats(1, 4, 4, 2) * 0.8),
    touches=(f.elementwise, f.integers, f.broadcasting, f.reductions),
)
class SampledPictures(torch.nn.Module):
    """Pictures are read between their places: with corners that are places or not, beyond the border, and by cubes."""

    def forward(self, x: Tensor, grid: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        return (
            functional.grid_sample(x, grid, align_corners=True),
            functional.grid_sample(x, grid, padding_mode="border", align_corners=False),
            functional.interpolate(x, size=[7, 9], mode="bicubic", align_corners=True),
            functional.interpolate(x[:, :, 0], size=8, mode="linear", align_corners=True),
            functional.interpolate(x, size=[8, 7], mode="nearest-exact"),
        )


@everyday(
    "distances_and_turns",
    f.elementwise,
    f.reductions,
    f.several_outputs,
    inputs=lambda make: (make.floats(3, 3), make.floats(3, 3), make.floats(4, 3)),
    touches=(f.views, f.broadcasting, f.matmul),
)
class DistancesAndTurns(torch.nn.Module):
    """Distances along the sides of blocks, products of vectors that are columns, and rows that are not too long."""

    def forward(self, x: Tensor, y: Tensor, points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return (
            torch.linalg.cross(x, y, dim=0),
            torch.cdist(points, points[:2], p=1.0),
            torch.renorm(points, 2.0, 0, 0.5),
        )


@everyday(
    "silent_borders",
    f.convolution,
    f.views,
    f.parameters,
    f.submodules,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 3, 6), make.floats(1, 1, 5, 5)),
    touches=(f.elementwise,),
)
class SilentBorders(torch.nn.Module):
    """Borders of a number that is not zero, or that mirror, ahead of a convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.sound, self.picture = torch.nn.Conv1d(3, 4, 3), torch.nn.Conv2d(1, 2, 3)
        self.requires_grad_(False)

    def forward(self, sound: Tensor, picture: Tensor) -> tuple[Tensor, Tensor]:
        silence = self.sound(functional.pad(sound, [2, 1], value=-4.0))
        mirrored = self.picture(functional.pad(picture, [1, 1, 1, 1], mode="reflect"))
        return silence, mirrored


@everyday(
    "moments_of_noise",
    f.convolution,
    f.matmul,
    f.parameters,
    f.submodules,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 3, 4, 4), make.floats(2, 5)),
    touches=(f.elementwise, f.views, f.broadcasting),
)
class MomentsOfNoise(torch.nn.Module):
    """What is added to channels differs by picture; and a norm behind an activation is none of the convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.moment = torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.Linear(5, 4)
        self.norm = torch.nn.BatchNorm2d(4, eps=1e-3)
        self.requires_grad_(False)

    def forward(self, x: Tensor, moment: Tensor) -> tuple[Tensor, Tensor]:
        channels = self.convolution(x)
        return functional.silu(channels + self.moment(moment)[:, :, None, None]), self.norm(torch.relu(channels))


@everyday(
    "hidden_ahead",
    f.reductions,
    f.views,
    f.several_outputs,
    inputs=lambda make: (make.floats(2, 3, 4), make.booleans(2, 3, 4)),
    touches=(f.elementwise, f.booleans, f.broadcasting, f.non_finite),
)
class HiddenAhead(torch.nn.Module):
    """What lies ahead is minus infinite, which no factor of zero makes zero; of truths, and of what is no square."""

    def forward(self, scores: Tensor, seen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = torch.full([3, 4], float("-inf")).triu(1)
        chosen = torch.where(seen.tril(), scores, torch.zeros_like(scores))
        return torch.softmax(scores + hidden, -1), chosen, torch.triu(scores, -1)


@everyday(
    "moving_pictures",
    f.convolution,
    f.parameters,
    f.several_outputs,
    inputs=lambda make: (make.floats(1, 2, 4, 6, 6),),
    touches=(f.elementwise, f.submodules),
)
class MovingPictures(torch.nn.Module):
    """Kernels of three sides, whose steps differ, for one film and for several."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = torch.nn.Conv3d(2, 3, 3, (1, 2, 2), 1, bias=False).requires_grad_(False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return torch.relu(self.convolution(x)), self.convolution(x[0] * 2.0)


@everyday(
    "largest_of_regions",
    f.convolution,
    f.reductions,
    f.several_outputs,
    inputs=lambda make: (make.floats(1, 2, 8, 5),),
    touches=(f.elementwise, f.integers, f.views),
)
class LargestOfRegions(torch.nn.Module):
    """The largest of windows that do not divide what they are of; and where they lay, among equals and at a border."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        largest, places = functional.max_pool2d(torch.relu(x), 3, 2, 1, return_indices=True)
        halved, origins = functional.max_pool2d(x[:, :, :, :4], 2, return_indices=True)
        back = functional.max_unpool2d(halved, origins, [2, 2])
        return functional.adaptive_max_pool2d(x, [3, 2]), largest, places, back
