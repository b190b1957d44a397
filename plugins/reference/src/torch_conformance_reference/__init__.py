"""The reference backend: a conforming TorchScript delegate, written in C++."""

from __future__ import annotations

from pathlib import Path

__all__ = ["library_path"]


def library_path() -> Path:
    """The backend's library for this process's PyTorch, compiled now if there is none yet.

    Raises :class:`torch_conformance_reference.build.BuildError` when it has to be compiled and cannot be.
    """
    from torch_conformance_reference import build

    return build.library_path()
