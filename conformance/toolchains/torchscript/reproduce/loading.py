"""The part of scripts that makes a TorchScript backend known to PyTorch: by its libraries.

Copied into scripts; see :mod:`conformance.standalone.reproducers._main`.
"""

from __future__ import annotations

import os

import torch

from conformance.standalone.reproducers._libraries import add_options, find_backend
from conformance.standalone.reproducers._process import AUTHOR, author

__all__ = ["add_options", "find_backend", "load_backend"]


def load_backend() -> None:
    """Make the backend known to PyTorch: by its libraries, or by its author's class where only that can."""
    libraries = os.environ.get("REPRODUCER_LIBRARIES", "")
    for library in filter(None, libraries.split(os.pathsep)):
        torch.ops.load_library(library)
    if not libraries and AUTHOR:
        author().load()
