"""What the zygote of ExecuTorch devices does ahead of them. Runs no operator: models are lowered, and none is run."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import torch
from executorch.runtime import Runtime

import conformance.toolchains.executorch.programs
import conformance.toolchains.executorch.runtime
import conformance.toolchains.executorch.verbs  # noqa: F401
from conformance.toolchains.executorch.ahead_of_time import companion, emitted, exported_methods, lowered_programs


class _Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A little of what models do."""
        return torch.relu(self.linear(x)) + x


def warm_up() -> Iterator[None]:
    """Lower something, so that PyTorch and ExecuTorch fill their tables: a first lowering costs a device 5 s of CPU
    time without it, and 0.4 s with it; and in a further step with the companion, whose own tables take 3 s. No module
    of a vendor beside ExecuTorch is imported."""
    Runtime.get()
    importlib.import_module("executorch.kernels.quantized")  # operators of quantised models, and their kernels
    _lower_something([])
    yield
    _lower_something([companion()])


def _lower_something(partitioners: list[Any]) -> None:
    exported = exported_methods(_Model(), {"forward": (torch.zeros(2, 3),)})
    emitted(lowered_programs(exported, {"forward": partitioners} if partitioners else {}), planned=True)
