"""How the models of a generated trial are lowered, saved and loaded. Copied into scripts."""

from __future__ import annotations

import copy
import io
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import torch

from conformance.standalone.reproducers._process import BACKEND, author
from conformance.toolchains.torchscript.reproduce.loading import load_backend

# What each script has of its own.

SPEC: Any = None
LOWERS: bool = False


def lowered_of(module: Any, frozen: bool = False) -> Any:
    """A model, scripted and lowered; frozen in between if so asked."""
    scripted = torch.jit.script(copy.deepcopy(module))
    spec = {method: value for method, value in SPEC.items() if hasattr(scripted, method)}
    if frozen:
        scripted = torch.jit.freeze(scripted, preserved_attrs=[method for method in spec if method != "forward"])
    if LOWERS:
        return author().lower(scripted, spec)
    return torch._C._jit_to_backend(BACKEND, scripted, spec)  # type: ignore[attr-defined]


def lowered_alone(module: Any) -> bytes:
    """The same in a process that does nothing else, and saved."""
    load_backend()
    return saved(lowered_of(module))


def saved(lowered: Any) -> bytes:
    """Something lowered, as a file has it."""
    buffer = io.BytesIO()
    torch.jit.save(lowered, buffer)
    return buffer.getvalue()


def loaded(data: bytes) -> Any:
    """What was saved."""
    return torch.jit.load(io.BytesIO(data))


class Backend:
    """The backend, as users lower models to it."""

    def lower(self, module: Any, dynamic: bool = False, elsewhere: bool = False, frozen: bool = False) -> Any:
        if not elsewhere:
            return lowered_of(module, frozen)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            return loaded(process.submit(lowered_alone, module).result())

    def save_and_load(self, lowered: Any) -> Any:
        return loaded(saved(lowered))

    def load_damaged(self, lowered: Any) -> None:
        data = saved(lowered)
        loaded(data[: len(data) // 2])

    def reset(self) -> None:
        return
