"""Backends without an entry point, which a vendor's module registers, or has as functions."""

from __future__ import annotations

import importlib


def import_backend(module: str, name: str) -> None:
    """Import a module, as a user would have to, and register a function of that name that it does not register itself.

    Raises whatever importing it raises, and LookupError where neither is there.
    """
    import torch._dynamo

    function = getattr(importlib.import_module(module), name, None)
    if callable(function) and name not in torch._dynamo.list_backends(exclude_tags=()):
        torch._dynamo.register_backend(function, name)
    try:
        torch._dynamo.lookup_backend(name)
    except torch._dynamo.exc.InvalidBackend:
        raise LookupError(
            f"{module} has no class and no function {name!r} that is a backend, and registered none by that name with "
            "torch._dynamo.register_backend when it was imported"
        ) from None
