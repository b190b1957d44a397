"""How the models of a generated trial are compiled. Copied into scripts."""

from __future__ import annotations

from typing import Any

import torch
import torch._dynamo

from conformance.standalone.reproducers._process import BACKEND
from conformance.toolchains.dynamo.reproduce.session import MODE, OPTIONS


class Backend:
    """The backend, as users give models to torch.compile."""

    def lower(self, module: Any, dynamic: bool | None = None) -> Any:
        return torch.compile(module, backend=BACKEND, mode=MODE, options=OPTIONS, dynamic=dynamic)

    def reset(self) -> None:
        torch._dynamo.reset()
