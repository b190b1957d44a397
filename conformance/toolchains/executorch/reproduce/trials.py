"""How the models of a generated trial are lowered, saved and loaded. Copied into scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from conformance.standalone.reproducers._process import author
from conformance.toolchains.executorch.verbs.generated import GeneratedCase
from conformance.toolchains.executorch.verbs.served import ProgramMaker


class Backend(ProgramMaker):
    """The delegate, as tools lower models for it and applications run them."""

    def __init__(self) -> None:
        super().__init__([author().partitioner(GeneratedCase())])

    def lower(self, module: torch.nn.Module, *, dynamic: bool = False) -> Callable[..., Any]:
        return super().lower(module, dynamic=dynamic)
