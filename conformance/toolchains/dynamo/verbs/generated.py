"""Verbs for generated programs: what plain PyTorch makes of a trial, and what a compiler does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch._dynamo

from conformance.generate.play import Shadow
from conformance.generate.play import know as known
from conformance.generate.play import play as played
from conformance.generate.program import trial_from_plain
from conformance.toolchains.dynamo.verbs.session import Session, verb


class _Maker:
    """Gives a model to ``torch.compile`` as users do."""

    def __init__(self, session: Session) -> None:
        backend = session.backend
        self._name = session.backend_name
        self._mode, self._options = (backend.mode, dict(backend.options) or None) if backend else (None, None)

    def lower(self, module: torch.nn.Module, *, dynamic: bool) -> Callable[..., Any]:
        compiled: Callable[..., Any] = torch.compile(
            module, backend=self._name, mode=self._mode, options=self._options, dynamic=dynamic or None
        )
        return compiled

    def save_and_load(self, lowered: Callable[..., Any]) -> Callable[..., Any]:
        raise NotImplementedError("ProgramTraits.saves is false")

    def copy(self, lowered: Callable[..., Any]) -> Callable[..., Any]:
        raise NotImplementedError("ProgramTraits.saves is false")

    def load_damaged(self, lowered: Callable[..., Any]) -> None:
        raise NotImplementedError("ProgramTraits.saves is false")

    def reset(self) -> None:
        torch._dynamo.reset()

    def forget(self) -> None:
        torch._dynamo.reset()


@verb
def shadow(session: Session, trial: Mapping[str, Any], leaks: bool = False) -> bytes:
    """What eager PyTorch makes of a trial."""
    return played(trial_from_plain(trial), Shadow(copies=False), leaks=leaks)


@verb
def know(session: Session, trial: Mapping[str, Any], coarsest: str, noises: int) -> list[bytes]:
    """What plain PyTorch computes in 64 bits; see :func:`conformance.generate.play.know`."""
    return known(trial_from_plain(trial), coarsest, copies=False, noises=noises)


@verb
def play(session: Session, trial: Mapping[str, Any], leaks: bool = False) -> bytes:
    """What comes of a trial with the backend; without one, of the toolchain alone."""
    return played(trial_from_plain(trial), _Maker(session), leaks=leaks)
