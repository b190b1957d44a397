"""Damage inside a processed module: what is changed, and what is left alone."""

from __future__ import annotations

import io
from typing import Any

import torch
from torch import Tensor

from conformance.toolchains.torchscript.damage.processed import damaged_programs

PROGRAM = torch.arange(64, dtype=torch.int32)[8:24:2]


class _LoweredModule(torch.nn.Module):
    """Saved as a lowered module is: compile spec, processed module, flag."""

    def __init__(self) -> None:
        super().__init__()
        self.processed = {"program": PROGRAM, "weights": torch.ones(5), "scales": torch.ones(5, dtype=torch.int8)}

    def forward(self) -> dict[str, Tensor]:
        return self.processed

    @torch.jit.export
    def __getstate__(self) -> tuple[dict[str, int], dict[str, Tensor], bool]:
        return {"forward": 1}, self.processed, self.training

    @torch.jit.export
    def __setstate__(self, state: tuple[dict[str, int], dict[str, Tensor], bool]) -> None:
        self.processed = state[1]
        self.training = state[2]


def loaded(artifact: bytes) -> dict[str, Tensor]:
    """The processed module in it."""
    module: Any = torch.jit.load(io.BytesIO(artifact))
    processed: dict[str, Tensor] = module()
    return processed


def test_a_byte_of_a_tensor_of_whole_numbers_is_changed_and_no_weight() -> None:
    artifact = torch.jit.script(_LoweredModule()).save_to_buffer()
    assert torch.equal(loaded(artifact)["program"], PROGRAM)
    found = damaged_programs(artifact, seed=0, count=60)
    again = damaged_programs(artifact, seed=0, count=60)
    assert [what for what, _ in found] == [what for what, _ in again]  # archives have the time in them
    changed = [(what, loaded(data)) for what, data in found if ": byte " in what]
    assert 10 < len(changed) < 50
    for what, after in changed:
        assert what.startswith("processed module['program']: byte ")
        assert int((after["program"] != PROGRAM).sum()) == 1
        assert torch.equal(after["weights"], torch.ones(5))
        assert torch.equal(after["scales"], torch.ones(5, dtype=torch.int8))
    assert all("lost its entry" in what for what, _ in found if ": byte " not in what)
