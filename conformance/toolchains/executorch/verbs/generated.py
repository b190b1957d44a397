"""Verbs for generated programs: what plain PyTorch makes of a trial, and what a delegate does."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from conformance.generate import AS_CASE
from conformance.generate.makers import NotLowered
from conformance.generate.verbs import add_verbs
from conformance.toolchains.executorch.plugin import ExecuTorch
from conformance.toolchains.executorch.verbs.models import (
    Loaded,
    Program,
    as_ordinarily,
    as_taken,
    loaded_from_bytes,
    loaded_from_file,
)
from conformance.toolchains.executorch.verbs.session import Session, verb


@dataclasses.dataclass(frozen=True)
class _Generated:
    """What the backend's ``partitioner`` is told about a program."""

    name: str = AS_CASE
    methods: tuple[str, ...] = ("forward",)


#: What a program is of: the dtype, sizes and dim order of each tensor, each number, the default dtype.
_Kind = tuple[Any, ...]


class _Lowered:
    """A model as an application has it: a program for each kind of call, made when the first of that kind is made."""

    def __init__(self, session: Session, module: torch.nn.Module, programs: dict[_Kind, Loaded] | None = None) -> None:
        self.session = session
        self.module = module
        self.programs = programs or {}

    def __call__(self, *arguments: Any) -> Any:
        given = [as_taken(each) for each in arguments]
        if self.programs and not _are_values(arguments):
            return next(reversed(self.programs.values()))(given)  # the runtime refuses it
        kind = _kind_of(given)
        if kind not in self.programs:
            try:
                self.programs[kind] = loaded_from_bytes(self._lowered(given))
            except Exception as error:
                raise NotLowered(error) from error
        return self.programs[kind](given)

    def _lowered(self, given: list[Any]) -> Program:
        from conformance.toolchains.executorch.ahead_of_time import emitted, exported_methods, lowered_programs

        with as_ordinarily():
            example = tuple(each.clone() if isinstance(each, torch.Tensor) else each for each in given)
            exported = exported_methods(self.module, {"forward": example})
            partitioners = self.session.partitioners(_Generated(), shared=False)
            manager = lowered_programs(exported, {"forward": partitioners} if partitioners else {})
            form = exported["forward"].call_spec.out_spec
            return Program(bytes(emitted(manager, planned=True).buffer), form)


class _Maker:
    """Exports and lowers a model when it is called; without a backend all is left to ExecuTorch's kernels."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def lower(self, module: torch.nn.Module, *, dynamic: bool) -> Callable[..., Any]:
        return _Lowered(self._session, copy.deepcopy(module).requires_grad_(False))

    def save_and_load(self, lowered: Any) -> Callable[..., Any]:
        """Its programs, read from files."""
        programs = {kind: loaded_from_file(each.program) for kind, each in lowered.programs.items()}
        return _Lowered(self._session, lowered.module, programs)

    def copy(self, lowered: Any) -> Callable[..., Any]:
        """Its programs, loaded once more from the same bytes."""
        programs = {kind: loaded_from_bytes(each.program) for kind, each in lowered.programs.items()}
        return _Lowered(self._session, lowered.module, programs)

    def load_damaged(self, lowered: Any) -> None:
        from executorch.runtime import Runtime

        data = next(iter(lowered.programs.values())).program.data
        Runtime.get().load_program(data[: len(data) // 2]).load_method("forward")

    def reset(self) -> None:
        """Nothing is compiled that could be forgotten."""

    def forget(self) -> None:
        """What was loaded lives no longer than what is called."""


def _are_values(arguments: tuple[Any, ...]) -> bool:
    return all(isinstance(each, torch.Tensor | int | float) for each in arguments)


def _kind_of(given: list[Any]) -> _Kind:
    kinds = (
        (each.dtype, tuple(each.shape), each.dim_order()) if isinstance(each, torch.Tensor) else (type(each), each)
        for each in given
    )
    return (*kinds, torch.get_default_dtype())


assert ExecuTorch.programs is not None
add_verbs(verb, ExecuTorch.programs, _Maker)
