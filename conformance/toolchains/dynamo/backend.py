"""What the author of a backend of ``torch.compile`` derives from."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from conformance.api.backend import Backend


class DynamoBackend(Backend):
    """A backend of ``torch.compile``: one that is registered with PyTorch needs no class, and one says more with it.

    ``name`` is what is given to ``torch.compile(backend=...)``.
    """

    toolchain = "dynamo"
    #: What is given to ``torch.compile(options=...)``; ``--conformance-compile-options`` replaces it.
    options: Mapping[str, Any] = MappingProxyType({})
    #: What is given to ``torch.compile(mode=...)``.
    mode: str | None = None
    #: The modules of the vendor's runtime, without which nothing is lowered; when empty, the native ones that are
    #: imported for the backend.
    runtime: tuple[str, ...] = ()

    def load(self) -> None:
        """Let PyTorch find the backend by its name, which imports it. Override it for one that has no entry point.

        Raises torch._dynamo.exc.InvalidBackend for a name that PyTorch does not know.
        """
        import torch._dynamo

        torch._dynamo.lookup_backend(self.name)
