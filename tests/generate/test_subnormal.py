"""Subnormal numbers, which are so small that a floor for rounding hides them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from generate.judging import changed, found, trial_of

from conformance.generate.judge import Rules
from conformance.generate.program import TensorSpec


def flushed(result: torch.Tensor) -> torch.Tensor:
    return torch.where(result.abs() < torch.finfo(result.dtype).tiny, torch.zeros_like(result), result)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("text", ["v0 = -x0", "v0 = torch.relu(x0)", "v0 = x0.flip(0)"])
def test_what_is_not_rounded_does_not_become_zero(dtype: str, text: str) -> None:
    trial = trial_of(text, TensorSpec(dtype, (4, 3), values="tiny", seed=1))
    assert found(trial, changed(flushed)) == ["values"]
    assert found(trial, changed(torch.clone)) == []


def test_what_is_rounded_may() -> None:
    trial = trial_of("v0 = x0 / 3.0", TensorSpec("float32", (4, 3), values="tiny", seed=1))
    assert found(trial, changed(flushed)) == []


def test_who_has_tolerances_of_its_own_may() -> None:
    trial = trial_of("v0 = -x0", TensorSpec("float32", (4, 3), values="tiny", seed=1))
    tolerances: dict[str, Any] = {"float32": (1e-3, 1e-3)}
    assert found(trial, changed(flushed), Rules(tolerances=tolerances)) == []
