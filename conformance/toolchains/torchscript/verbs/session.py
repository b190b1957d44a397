"""The objects of a TorchScript device, and its table of verbs."""

from __future__ import annotations

import dataclasses
from typing import Any

from conformance.toolchains.torchscript.backend import TorchScriptBackend
from conformance.toolchains.verbs import ObjectSession, Verbs

verb = Verbs()


@dataclasses.dataclass
class Scripted:
    """A scripted module and the case that it was built from."""

    module: Any
    case: Any


class Session(ObjectSession[TorchScriptBackend]):
    """What a TorchScript device holds: the backend, and modules."""

    def __init__(self, subject: dict[str, Any] | None) -> None:
        super().__init__(subject, verb, TorchScriptBackend)

    def module(self, number: int) -> Any:
        """The module that was kept under that number, scripted, lowered or loaded."""
        thing = self.get(number)
        return thing.module if isinstance(thing, Scripted) else thing
