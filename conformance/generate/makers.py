"""Makers turn a model into something that can be called: by a toolchain with the backend, or by plain PyTorch."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import torch


class Maker(Protocol):
    """How a toolchain lowers a model, with the backend or without one."""

    def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Callable[..., Any]:
        """What is called in the model's place: for any sizes if ``dynamic``, for those of its calls alone if that is
        False, and as the toolchain has it by itself if it is None. Lowering may wait for the first call."""

    def reset(self) -> None:
        """Forget what was compiled, as a user may ask for at any time."""

    def forget(self) -> None:
        """Forget everything of a trial that is over."""


class NotLowered(Exception):
    """What a maker raises that lowers when a call is made, where lowering fails: the reason is what that raised."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


@runtime_checkable
class SavingMaker(Maker, Protocol):
    """A maker of a toolchain whose ``ProgramTraits.saves`` is true."""

    def save_and_load(self, lowered: Callable[..., Any]) -> Callable[..., Any]:
        """What comes back of something lowered when it was saved and loaded."""

    def copy(self, lowered: Callable[..., Any]) -> Callable[..., Any]:
        """A deep copy of something lowered."""

    def load_damaged(self, lowered: Callable[..., Any]) -> None:
        """Save something, and load a part of what was saved. Raises what that does."""


@runtime_checkable
class FreezingMaker(Maker, Protocol):
    """A maker of a toolchain whose ``ProgramTraits.freezes`` is true."""

    def lower_frozen(self, module: torch.nn.Module) -> Callable[..., Any]:
        """What is called in the place of a model whose weights were made constants before it was lowered."""


@runtime_checkable
class MovingMaker(Maker, Protocol):
    """A maker of a toolchain whose ``ProgramTraits.moves`` is true."""

    def save(self, lowered: Callable[..., Any], arguments: Sequence[Any] | None) -> bytes:
        """Something lowered, for another process. One that lowers when a call is made lowers for one with these
        ``arguments``, which it does not make; None where no call is known."""

    def load(self, data: bytes, module: torch.nn.Module) -> Callable[..., Any]:
        """What another process has lowered and saved; ``module`` is what it was made of, for calls that need more."""


class Shadow:
    """Plain PyTorch as a maker. With ``copies`` a model keeps the weights that it had when it was lowered.

    Then the weights are constants and require no gradient: where they do, eager PyTorch takes another code path, which
    refuses some of what it takes otherwise.
    """

    def __init__(self, *, copies: bool) -> None:
        self._copies = copies
        #: What was lowered, as it was before its first call.
        self._as_lowered: dict[Callable[..., Any], Callable[..., Any]] = {}

    def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Callable[..., Any]:
        """The model itself, or a copy."""
        if not self._copies:
            return module
        lowered = copy.deepcopy(module).requires_grad_(False)
        self._as_lowered[lowered] = copy.deepcopy(lowered)
        return lowered

    def save_and_load(self, lowered: Callable[..., Any]) -> Callable[..., Any]:
        """A copy, which begins anew."""
        return self.copy(lowered)

    def copy(self, lowered: Callable[..., Any]) -> Callable[..., Any]:
        """A copy, which begins anew."""
        as_lowered = self._as_lowered.get(lowered, lowered)
        copied = copy.deepcopy(as_lowered)
        self._as_lowered[copied] = as_lowered
        return copied

    def load_damaged(self, lowered: Callable[..., Any]) -> None:
        """Raises RuntimeError, as whatever loads must."""
        raise RuntimeError("damaged")

    def reset(self) -> None:
        """Nothing was compiled."""

    def forget(self) -> None:
        """Forget what was lowered."""
        self._as_lowered.clear()
