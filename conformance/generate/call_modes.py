"""The modes in which a trial calls models."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from conformance.generate.steps import Trial


@contextlib.contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """With another default dtype."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def deterministic() -> Iterator[None]:
    """With deterministic algorithms, where PyTorch has them."""
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


#: What a call is made under, by the name of its mode.
MODES: dict[str, Callable[[], contextlib.AbstractContextManager[Any]]] = {
    "grad": contextlib.nullcontext,
    "no_grad": torch.no_grad,
    "inference": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "autocast float16": lambda: torch.autocast("cpu", dtype=torch.float16),
    "deterministic": deterministic,
    "default float64": lambda: default_dtype(torch.float64),
}


def import_what_modes_need(trial: Trial) -> None:
    """Let PyTorch import what it imports where a mode is first entered, so that no backend is charged with it.

    ``torch.use_deterministic_algorithms`` imports Inductor (torch 2.13), which adds a variable to the environment.
    """
    used = {each.detail for each in trial.steps} | {each.mode for each in trial.calls}
    if "deterministic" in used:
        with deterministic():
            pass
