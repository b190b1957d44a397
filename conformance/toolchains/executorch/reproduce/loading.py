"""The part of scripts that makes the run-time half of a delegate known to ExecuTorch: by its libraries.

Copied into scripts; see :mod:`conformance.standalone.reproducers._main`.
"""

from __future__ import annotations

import ctypes
import os

import executorch.runtime

from conformance.standalone.reproducers._libraries import add_options, find_backend
from conformance.standalone.reproducers._process import AUTHOR, author

__all__ = ["add_options", "find_backend", "load_backend"]


def load_backend() -> None:
    """Load the libraries into the process of ExecuTorch's runtime; or let the author's class do it."""
    executorch.runtime.Runtime.get()  # what the libraries are linked against
    libraries = os.environ.get("REPRODUCER_LIBRARIES", "")
    for library in filter(None, libraries.split(os.pathsep)):
        ctypes.CDLL(library)
    if not libraries and AUTHOR:
        author().load()
