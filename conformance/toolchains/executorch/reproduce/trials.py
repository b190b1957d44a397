"""How the models of a generated trial are lowered, saved and loaded. Copied into scripts."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import torch

from conformance.standalone.reproducers._process import author
from conformance.toolchains.executorch.reproduce.loading import load_backend
from conformance.toolchains.executorch.verbs.generated import GeneratedCase
from conformance.toolchains.executorch.verbs.kinds import Kind
from conformance.toolchains.executorch.verbs.models import Program
from conformance.toolchains.executorch.verbs.served import ProgramMaker


class Backend(ProgramMaker):
    """The delegate, as tools lower models for it and applications run them."""

    def __init__(self) -> None:
        super().__init__([author().partitioner(GeneratedCase())])

    def lower(
        self, module: torch.nn.Module, *, dynamic: bool | None = None, elsewhere: bool = False
    ) -> Callable[..., Any]:
        if elsewhere:
            return _Elsewhere().lower(module, dynamic=dynamic)
        return super().lower(module, dynamic=dynamic)


class _Elsewhere(Backend):
    """Has the first program of a model made by a process that does nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self._is_first = True

    def lowered(self, module: torch.nn.Module, given: list[Any], *, dynamic: bool) -> tuple[Kind, Program]:
        if not self._is_first:
            return super().lowered(module, given, dynamic=dynamic)
        self._is_first = False
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            return process.submit(_lowered_alone, module, given, dynamic).result()


def _lowered_alone(module: torch.nn.Module, given: list[Any], dynamic: bool) -> tuple[Kind, Program]:
    load_backend()
    return Backend().lowered(module, given, dynamic=dynamic)
