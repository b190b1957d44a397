"""What plain TorchScript makes of a trial, by which a delegate is excused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from conformance.toolchains.torchscript.verbs.generated import _Maker


class Weighted(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight

    @torch.jit.export
    def encode(self, x: torch.Tensor) -> torch.Tensor:
        return x - self.weight


class Constant(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.arange(0.5, 3.0, 0.5) * 3


def test_a_copy_is_compiled_anew_as_a_lowered_modules_is() -> None:
    """TorchScript computes constants when it compiles, in the mode of that call; a copy that had what was compiled for
    the original would excuse no delegate, whose copies have not."""
    session: Any = SimpleNamespace(backend=None)
    maker = _Maker(session)
    x = torch.zeros(2)
    original = maker.lower(Constant(), dynamic=False)
    with torch.no_grad():
        original(x)
    for made in (maker.copy(original), maker.save_and_load(original)):
        for _ in range(3):
            with torch.inference_mode():
                made(x)
        with torch.no_grad():
            assert made(x).is_inference()


def test_a_frozen_model_has_its_weights_in_its_graph() -> None:
    """All of its methods are there, and the model that it was made of is as it was."""
    session: Any = SimpleNamespace(backend=None)
    model = Weighted().eval()
    frozen: Any = _Maker(session).lower_frozen(model)
    x = torch.tensor([1.0, 2.0])
    assert torch.equal(frozen(x), x)
    assert torch.equal(frozen.encode(x), x - 1)
    assert "prim::GetAttr" not in str(frozen.graph)
    assert not list(frozen.parameters())
    assert len(list(model.parameters())) == 1
