"""How the models of a generated trial are lowered, saved and loaded. Copied into scripts."""

from __future__ import annotations

import copy
import io
from typing import Any

import torch

from conformance.standalone.reproducers._process import BACKEND, author

# What each script has of its own.

SPEC: Any = None
LOWERS: bool = False


class Backend:
    """The backend, as users lower models to it."""

    def lower(self, module: Any, dynamic: bool = False) -> Any:
        scripted = torch.jit.script(copy.deepcopy(module))
        if LOWERS:
            return author().lower(scripted, SPEC)
        return torch._C._jit_to_backend(BACKEND, scripted, SPEC)  # type: ignore[attr-defined]

    def save_and_load(self, lowered: Any) -> Any:
        buffer = io.BytesIO()
        torch.jit.save(lowered, buffer)
        return torch.jit.load(io.BytesIO(buffer.getvalue()))

    def load_damaged(self, lowered: Any) -> None:
        buffer = io.BytesIO()
        torch.jit.save(lowered, buffer)
        torch.jit.load(io.BytesIO(buffer.getvalue()[: len(buffer.getvalue()) // 2]))

    def reset(self) -> None:
        return
