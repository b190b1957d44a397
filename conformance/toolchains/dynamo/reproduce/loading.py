"""The part of scripts that makes a backend of torch.compile known to PyTorch: by its name.

Copied into scripts; see :mod:`conformance.standalone.reproducers._main`.
"""

from __future__ import annotations

import argparse
import importlib.util

import torch
import torch._dynamo

from conformance.standalone.reproducers._process import AUTHOR, BACKEND, DISTRIBUTION, NAME, CannotTry, author
from conformance.toolchains.dynamo.registering import import_backend
from conformance.toolchains.dynamo.reproduce.session import IMPORTS


def add_options(parser: argparse.ArgumentParser) -> None:
    """There is nothing to be named but the backend."""


def find_backend(options: argparse.Namespace) -> list[str]:
    """See that PyTorch, or the author's class, is there to give the backend; no libraries. Raises CannotTry."""
    where = AUTHOR or IMPORTS
    if where and options.backend == NAME:
        package = where.partition(":")[0].partition(".")[0]
        if importlib.util.find_spec(package) is None:
            raise CannotTry(f"the backend {NAME!r} comes from the package {package}, which is not installed")
    elif options.backend not in torch._dynamo.list_backends(exclude_tags=()):
        origin = f" (install {DISTRIBUTION})" if DISTRIBUTION and options.backend == NAME else ""
        raise CannotTry(f"torch.compile knows no backend {options.backend!r}{origin}. Name another: --backend NAME")
    return []


def load_backend() -> None:
    """Make the backend known to PyTorch: by its author's class or its vendor's module where only
    these can, and else by its name."""
    if AUTHOR and BACKEND == NAME:
        author().load()
    elif IMPORTS and BACKEND == NAME:
        import_backend(IMPORTS, NAME)
    else:
        torch._dynamo.lookup_backend(BACKEND)
