"""What the verbs of torch.compile that are copied into scripts take for a device's session, and for a model there."""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Callable
from typing import Any

import torch
import torch._dynamo
from torch._dynamo.backends.registry import _COMPILER_FNS

from conformance.standalone.reproducers._process import BACKEND

# What each script has of its own.

OPTIONS: dict[str, Any] | None = None
MODE: str | None = None
RUNTIME: tuple[str, ...] = ()
IMPORTS: str = ""
PROVIDED = frozenset({"OPTIONS", "MODE", "RUNTIME", "IMPORTS", "PROVIDED"})


@dataclasses.dataclass
class Called:
    """A model, what is called in its place once it is compiled, and what stands between Dynamo and the backend."""

    module: Any
    function: Callable[..., Any]
    watch: Any = None


class Session:
    """Stands where the harness has the objects of a device."""

    def __init__(self) -> None:
        torch._dynamo.list_backends(exclude_tags=())  # which registers those of PyTorch itself
        self.imported_before = frozenset(sys.modules)
        self.registered_before = frozenset(_COMPILER_FNS)
        self.backend_name = BACKEND
        self.settings = {"backend": BACKEND, "mode": MODE, "options": OPTIONS}
        self.backend = types.SimpleNamespace(name=BACKEND, options=OPTIONS or {}, mode=MODE, runtime=RUNTIME)

    def get(self, thing: Any) -> Any:
        """A model, or a package."""
        return thing


session = Session()
