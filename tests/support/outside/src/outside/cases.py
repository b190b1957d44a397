"""A model that the corpus of TorchScript does not have."""

from __future__ import annotations

import torch
from torch import Tensor

from conformance import features
from conformance.api.case import register_case


@register_case(
    "outside_running_mean",
    features.elementwise,
    features.reductions,
    toolchain="torchscript",
    samples=lambda make: {"forward": [(make.floats(4, 3),), (make.floats(2, 3),)]},
)
class RunningMean(torch.nn.Module):
    """The mean of each row, taken from it."""

    def forward(self, x: Tensor) -> Tensor:
        return x - x.mean(dim=1, keepdim=True)
