"""What the zygote of torch.compile devices does ahead of them. Runs no operator: everything is on the meta device."""

from __future__ import annotations

import io
from collections.abc import Iterator

import torch
import torch._dynamo
import torch.export
import torch.profiler

import conformance.toolchains.dynamo.verbs  # noqa: F401


def warm_up() -> Iterator[None]:
    """Import what the first compilation imports, and let Dynamo and AOT Autograd fill their tables; then, in a step of
    its own, what the first export needs.

    A first compilation costs a device 0.3 s without it and 0.06 s with it. No backend but PyTorch's own is imported.
    """
    torch._dynamo.list_backends(exclude_tags=())
    _compile_something()
    yield
    _export_something()


def _compile_something() -> None:
    def model(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x @ y) * 2 - y.sum(0)

    x = torch.empty(3, 3, device="meta")
    torch.compile(model, backend="aot_eager")(x, x)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()


def _export_something() -> None:
    """The first export of a device costs 1.4 s without it."""

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    saved = io.BytesIO()
    torch.export.save(torch.export.export(Model(), (torch.empty(3, device="meta"),)), saved)
    saved.seek(0)
    torch.export.load(saved).module()
