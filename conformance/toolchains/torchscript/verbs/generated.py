"""Verbs for generated programs: what plain PyTorch makes of a trial, and what a delegate does."""

from __future__ import annotations

import copy
import dataclasses
import io
from collections.abc import Callable, Sequence
from typing import Any

import torch

from conformance.generate import AS_CASE, AS_CASE_OF_METHODS
from conformance.generate.program import FORWARD, SECOND
from conformance.generate.verbs import add_verbs
from conformance.toolchains.torchscript.plugin import TorchScript
from conformance.toolchains.torchscript.verbs.authored import lowered as lowered_by
from conformance.toolchains.torchscript.verbs.lowering import clone_with_own_type
from conformance.toolchains.torchscript.verbs.session import Session, verb


@dataclasses.dataclass(frozen=True)
class _Generated:
    """What the backend's ``compile_spec`` is told about a program."""

    name: str
    methods: tuple[str, ...]


GENERATED = {
    each.name: each for each in (_Generated(AS_CASE, (FORWARD,)), _Generated(AS_CASE_OF_METHODS, (FORWARD, SECOND)))
}


class _Maker:
    """Scripts a model, and lowers what comes of it; without a backend it is copied, as a delegate's is."""

    def __init__(self, session: Session) -> None:
        self._backend = session.backend

    def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Callable[..., Any]:
        return self._lowered(torch.jit.script(copy.deepcopy(module)))

    def lower_frozen(self, module: torch.nn.Module) -> Callable[..., Any]:
        scripted = torch.jit.script(copy.deepcopy(module))
        frozen = torch.jit.freeze(scripted, [SECOND] if hasattr(scripted, SECOND) else None)
        # as a delegate may have it: equal constants of a program that was saved are one, also where they are results
        return self.load(self.save(frozen)) if self._backend is None else self._lowered(frozen)

    def _lowered(self, scripted: torch.jit.ScriptModule) -> Callable[..., Any]:
        if self._backend is None:
            cloned: Callable[..., Any] = clone_with_own_type(scripted)
            return cloned
        case = GENERATED[AS_CASE_OF_METHODS if hasattr(scripted, SECOND) else AS_CASE]
        lowered: Callable[..., Any] = lowered_by(self._backend, scripted, case)
        return lowered

    def save(self, lowered: Any, arguments: Sequence[Any] | None = None) -> bytes:
        buffer = io.BytesIO()
        torch.jit.save(lowered, buffer)
        return buffer.getvalue()

    def load(self, data: bytes, module: torch.nn.Module | None = None) -> Callable[..., Any]:
        loaded: Callable[..., Any] = torch.jit.load(io.BytesIO(data))
        return loaded

    def save_and_load(self, lowered: Callable[..., Any]) -> Callable[..., Any]:
        return self.load(self.save(lowered))

    def copy(self, lowered: Any) -> Callable[..., Any]:
        # a copy of a lowered module is compiled anew; without a backend it would have what was compiled for the other
        copied: Callable[..., Any] = clone_with_own_type(lowered) if self._backend is None else copy.deepcopy(lowered)
        return copied

    def load_damaged(self, lowered: Callable[..., Any]) -> None:
        data = self.save(lowered)
        self.load(data[: len(data) // 2])

    def reset(self) -> None:
        """Nothing is compiled that could be forgotten."""

    def forget(self) -> None:
        """What was scripted stays with the process."""


assert TorchScript.programs is not None
add_verbs(verb, TorchScript.programs, _Maker)
