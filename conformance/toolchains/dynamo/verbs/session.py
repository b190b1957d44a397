"""The objects of a device for a torch.compile backend, and its table of verbs."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

from conformance.toolchains.dynamo.backend import DynamoBackend
from conformance.toolchains.dynamo.verbs.watch import Watch, watching
from conformance.toolchains.verbs import ObjectSession, Verbs

verb = Verbs()

#: The backend of a control: Dynamo does its work, and runs the graph as it is.
CONTROL = "eager"


@dataclasses.dataclass
class Model:
    """A model, what is called in its place once it is compiled, and what was seen between Dynamo and the backend."""

    module: Any
    function: Callable[..., Any]
    watch: Watch | None = None


class Session(ObjectSession[DynamoBackend]):
    """What a device for a torch.compile backend holds: the backend, and models."""

    def __init__(self, subject: dict[str, Any] | None) -> None:
        from torch._dynamo.backends.registry import _COMPILER_FNS

        super().__init__(subject, verb, DynamoBackend)
        #: Modules, and backends of torch.compile, that were there before anything of the backend was.
        self.imported_before = frozenset(sys.modules)
        self.registered_before = frozenset(_COMPILER_FNS)

    @property
    def backend_name(self) -> str:
        """The name that ``torch.compile(backend=...)`` is given."""
        return self.backend.name if self.backend else CONTROL

    @property
    def settings(self) -> dict[str, Any]:
        """What ``torch.compile`` is given by who names the backend: ``backend``, ``mode`` and ``options``."""
        mode, options = (self.backend.mode, dict(self.backend.options) or None) if self.backend else (None, None)
        return {"backend": self.backend_name, "mode": mode, "options": options}

    def watch(self) -> Watch:
        """A fresh watch over the backend, with its options and mode, as ``torch.compile`` would call it."""
        return self.watch_with(self.settings["options"], self.settings["mode"])

    def watch_with(self, options: dict[str, Any] | None, mode: str | None) -> Watch:
        """The same with these options and this mode in place of its own."""
        return watching(self.backend_name, options, mode)
