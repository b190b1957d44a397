"""Verbs for generated programs: what plain PyTorch makes of a trial, and what a delegate does."""

from __future__ import annotations

import copy
import dataclasses
import io
from collections.abc import Callable, Mapping
from typing import Any

import torch

from conformance.generate import AS_CASE
from conformance.generate.play import Shadow
from conformance.generate.play import know as known
from conformance.generate.play import play as played
from conformance.generate.program import trial_from_plain
from conformance.toolchains.torchscript.verbs.lowering import clone_with_own_type
from conformance.toolchains.torchscript.verbs.session import Session, verb


@dataclasses.dataclass(frozen=True)
class _Generated:
    """What the backend's ``compile_spec`` is told about a program."""

    name: str = AS_CASE
    methods: tuple[str, ...] = ("forward",)


GENERATED = _Generated()


class _Maker:
    """Scripts a model, and lowers what comes of it; without a backend it is copied, as a delegate's is."""

    def __init__(self, session: Session) -> None:
        self._backend = session.backend

    def lower(self, module: torch.nn.Module, *, dynamic: bool) -> Callable[..., Any]:
        scripted = torch.jit.script(copy.deepcopy(module))
        if self._backend is None:
            cloned: Callable[..., Any] = clone_with_own_type(scripted)
            return cloned
        lowered: Callable[..., Any] = self._backend.lower(scripted, self._backend.compile_spec(GENERATED))
        return lowered

    def save_and_load(self, lowered: Callable[..., Any]) -> Callable[..., Any]:
        loaded: Callable[..., Any] = torch.jit.load(io.BytesIO(_saved(lowered)))
        return loaded

    def copy(self, lowered: Callable[..., Any]) -> Callable[..., Any]:
        copied: Callable[..., Any] = copy.deepcopy(lowered)
        return copied

    def load_damaged(self, lowered: Callable[..., Any]) -> None:
        data = _saved(lowered)
        torch.jit.load(io.BytesIO(data[: len(data) // 2]))

    def reset(self) -> None:
        """Nothing is compiled that could be forgotten."""

    def forget(self) -> None:
        """What was scripted stays with the process."""


def _saved(lowered: Any) -> bytes:
    buffer = io.BytesIO()
    torch.jit.save(lowered, buffer)
    return buffer.getvalue()


@verb
def shadow(session: Session, trial: Mapping[str, Any], leaks: bool = False) -> bytes:
    """What eager PyTorch makes of a trial."""
    return played(trial_from_plain(trial), Shadow(copies=True), leaks=leaks)


@verb
def know(session: Session, trial: Mapping[str, Any], coarsest: str, noises: int) -> list[bytes]:
    """What plain PyTorch computes in 64 bits; see :func:`conformance.generate.play.know`."""
    return known(trial_from_plain(trial), coarsest, copies=True, noises=noises)


@verb
def play(session: Session, trial: Mapping[str, Any], leaks: bool = False) -> bytes:
    """What comes of a trial with the backend; without one, of the toolchain alone."""
    return played(trial_from_plain(trial), _Maker(session), leaks=leaks)
