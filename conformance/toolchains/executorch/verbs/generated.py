"""Verbs for generated programs: what plain PyTorch makes of a trial, and what a delegate does."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import torch

from conformance.generate import AS_CASE
from conformance.generate.makers import NotLowered
from conformance.generate.verbs import add_verbs
from conformance.toolchains.executorch.plugin import ExecuTorch
from conformance.toolchains.executorch.verbs.kinds import Kind, dynamic_sizes, kind_of, kind_of_dynamic
from conformance.toolchains.executorch.verbs.models import (
    Loaded,
    Program,
    as_ordinarily,
    as_taken,
    loaded_from_bytes,
    loaded_from_file,
    lowered_program,
)
from conformance.toolchains.executorch.verbs.session import Session, verb


@dataclasses.dataclass(frozen=True)
class _Generated:
    """What the backend's ``partitioner`` is told about a program."""

    name: str = AS_CASE
    methods: tuple[str, ...] = ("forward",)


#: The calls that a program takes, and the program.
_Served = tuple[Kind, Loaded]


class _Lowered:
    """A model as an application has it: a program for each kind of call, made when the first of that kind is made."""

    def __init__(
        self, maker: _Maker, module: torch.nn.Module, *, dynamic: bool, programs: Sequence[_Served] = ()
    ) -> None:
        self.maker = maker
        self.module = module
        self.dynamic = dynamic
        self.programs = list(programs)

    def __call__(self, *arguments: Any) -> Any:
        given = [as_taken(each) for each in arguments]
        if self.programs and not all(isinstance(each, torch.Tensor | int | float) for each in arguments):
            return self.programs[-1][1](given)  # the runtime refuses it
        return self._serving(given)(given)

    def _serving(self, given: list[Any]) -> Loaded:
        for kind, loaded in self.programs:
            if kind.takes(given):
                return loaded
        try:
            kind, program = self.maker.lowered(self.module, given, dynamic=self.dynamic)
            self.programs.append((kind, loaded_from_bytes(program)))
        except Exception as error:
            raise NotLowered(error) from error
        return self.programs[-1][1]

    def loaded_anew(self, load: Callable[[Program], Loaded]) -> _Lowered:
        """Another, with the same programs loaded once more."""
        programs = [(kind, load(each.program)) for kind, each in self.programs]
        return _Lowered(self.maker, self.module, dynamic=self.dynamic, programs=programs)


class _Maker:
    """Exports and lowers a model when it is called; without a backend all is left to ExecuTorch's kernels."""

    def __init__(self, session: Session) -> None:
        # one partitioner for all models of a trial, as a tool has it that lowers several
        self._partitioners = session.partitioners(_Generated(), shared=False)

    def lower(self, module: torch.nn.Module, *, dynamic: bool) -> Callable[..., Any]:
        return _Lowered(self, copy.deepcopy(module).requires_grad_(False), dynamic=dynamic)

    def lowered(self, module: torch.nn.Module, given: list[Any], *, dynamic: bool) -> tuple[Kind, Program]:
        """A program for calls like this one, with dynamic sizes where that is wanted and ``torch.export`` has them."""
        example = tuple(each.clone() if isinstance(each, torch.Tensor) else each for each in given)
        with as_ordinarily():
            exported, kind = None, kind_of(given)
            if dynamic and (sizes := dynamic_sizes(given)):
                with contextlib.suppress(Exception):  # sizes are none of its business
                    exported = torch.export.export(module, example, dynamic_shapes=sizes)
                    kind = kind_of_dynamic(exported, given)
            return kind, lowered_program(exported or torch.export.export(module, example), self._partitioners)

    def save_and_load(self, lowered: Any) -> Callable[..., Any]:
        """Its programs, read from files."""
        loaded: _Lowered = lowered.loaded_anew(loaded_from_file)
        return loaded

    def copy(self, lowered: Any) -> Callable[..., Any]:
        """Its programs, loaded once more from the same bytes."""
        copied: _Lowered = lowered.loaded_anew(loaded_from_bytes)
        return copied

    def load_damaged(self, lowered: Any) -> None:
        data = lowered.programs[0][1].program.data
        loaded_from_bytes(Program(data[: len(data) // 2], lowered.programs[0][1].program.form))

    def reset(self) -> None:
        """Nothing is compiled that could be forgotten."""

    def forget(self) -> None:
        """What was loaded lives no longer than what is called."""


assert ExecuTorch.programs is not None
add_verbs(verb, ExecuTorch.programs, _Maker)
