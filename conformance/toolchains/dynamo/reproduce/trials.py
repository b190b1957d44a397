"""How the models of a generated trial are compiled. Copied into scripts."""

from __future__ import annotations

from typing import Any

import torch
import torch._dynamo

from conformance.standalone.reproducers._process import BACKEND
from conformance.toolchains.dynamo.reproduce.session import MODE, OPTIONS
from conformance.toolchains.dynamo.verbs.watch import watching, with_declines_raised


class Backend:
    """The backend, as users give models to torch.compile; what it declines to lower is no success."""

    def __init__(self) -> None:
        self.watch = watching(BACKEND, OPTIONS, MODE)

    def lower(self, module: Any, dynamic: bool | None = None) -> Any:
        return with_declines_raised(torch.compile(module, backend=self.watch, dynamic=dynamic), self.watch)

    def reset(self) -> None:
        torch._dynamo.reset()
