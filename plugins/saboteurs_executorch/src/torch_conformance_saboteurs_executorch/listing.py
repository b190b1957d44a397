"""How a saboteur is listed, and what saboteurs share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeVar

import torch

from conformance.api.saboteur import Saboteur
from torch_conformance_saboteurs_executorch.bridge import Argument
from torch_conformance_saboteurs_executorch.control import BridgeControl

Backend = TypeVar("Backend", bound=type[BridgeControl])

#: ``InvalidArgument``, ``DelegateInvalidCompatibility`` and ``NotFound`` of ExecuTorch.
INVALID_ARGUMENT = 0x12
INCOMPATIBLE = 0x30
NOT_FOUND = 0x20


class Listing:
    """The saboteurs of one module, in the order in which they are written."""

    def __init__(self) -> None:
        self._saboteurs: list[Saboteur] = []

    def __call__(
        self,
        *caught_by: str,
        verdicts: tuple[str, ...] = ("FAIL",),
        phases: tuple[str, ...] = ("run",),
        replaces_functions: bool = False,
    ) -> Callable[[Backend], Backend]:
        """List the decorated backend; its sabotage is the docstring of the class. Raises ValueError without one.

        One that ``replaces_functions`` of ExecuTorch's is caught by its clauses, and not as such.
        """

        def add(backend: Backend) -> Backend:
            text = backend.__dict__.get("__doc__")
            if not text:
                raise ValueError(f"{backend.__qualname__} does not say in a docstring what is wrong with it")
            sabotage = " ".join(inspect.cleandoc(text).split())
            self._saboteurs.append(
                Saboteur(backend, sabotage, caught_by, verdicts, phases, replaces_functions=replaces_functions)
            )
            return backend

        return add

    def all(self) -> tuple[Saboteur, ...]:
        """What was listed."""
        return tuple(self._saboteurs)


def tensors(arguments: list[Argument]) -> list[torch.Tensor]:
    """The tensors of a call, inputs first."""
    return [each.tensor for each in arguments if each.tensor is not None]


def floats(arguments: list[Argument]) -> list[torch.Tensor]:
    """Those of float32 that have elements."""
    return [each for each in tensors(arguments) if each.dtype == torch.float32 and each.numel()]
