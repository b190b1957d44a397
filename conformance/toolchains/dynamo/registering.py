"""Backends without an entry point, which a vendor's module registers, or has as functions."""

from __future__ import annotations

import importlib


def import_backend(module: str, name: str) -> None:
    """Import a module, as a user would have to, and register a function of that name that it does not register itself.

    Raises whatever importing it raises, and torch._dynamo.exc.InvalidBackend where neither is there.
    """
    import torch._dynamo

    function = getattr(importlib.import_module(module), name, None)
    if callable(function) and name not in torch._dynamo.list_backends(exclude_tags=()):
        torch._dynamo.register_backend(function, name)
    torch._dynamo.lookup_backend(name)
