"""Models of generated trials, as an application that lowers what it is asked for has them. Copied into scripts."""

from __future__ import annotations

import contextlib
import copy
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import torch

from conformance.generate.makers import NotLowered
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

#: The calls that a program takes, and the program.
Served = tuple[Kind, Loaded]


class ServedModel:
    """A model as an application has it: a program for each kind of call, made when the first of that kind is made."""

    def __init__(
        self, maker: ProgramMaker, module: torch.nn.Module, *, dynamic: bool, programs: Sequence[Served] = ()
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

    def __deepcopy__(self, memo: Any) -> ServedModel:
        return self.loaded_anew(loaded_from_bytes)

    def loaded_anew(self, load: Callable[[Program], Loaded]) -> ServedModel:
        """Another, with the same programs loaded once more."""
        programs = [(kind, load(each.program)) for kind, each in self.programs]
        return ServedModel(self.maker, self.module, dynamic=self.dynamic, programs=programs)


class ProgramMaker:
    """Exports and lowers a model when it is called; without a backend all is left to ExecuTorch's kernels."""

    def __init__(self, partitioners: list[Any]) -> None:
        # the same for all models of a trial, as a tool has it that lowers several
        self._partitioners = partitioners

    def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Callable[..., Any]:
        return ServedModel(self, copy.deepcopy(module).requires_grad_(False), dynamic=bool(dynamic))

    def lowered(self, module: torch.nn.Module, given: list[Any], *, dynamic: bool) -> tuple[Kind, Program]:
        """A program for calls like this one, with dynamic sizes where that is wanted and ``torch.export`` has them."""
        example = tuple(each.clone() if isinstance(each, torch.Tensor) else each for each in given)
        with as_ordinarily():
            exported, kind = None, kind_of(given)
            if dynamic and (sizes := dynamic_sizes(given)):
                with contextlib.suppress(Exception):  # sizes are none of its business
                    exported = torch.export.export(module, example, dynamic_shapes=sizes)
                    kind = kind_of_dynamic(exported, given)
            program = lowered_program(exported or torch.export.export(module, example), self._partitioners)
            return kind.within(program.narrowed), program

    def save(self, lowered: Any, arguments: Sequence[Any] | None) -> bytes:
        """The program for calls like one with these arguments, which is not loaded here, and what it takes."""
        if arguments is None:
            return pickle.dumps(None)
        given = [as_taken(each) for each in arguments]
        return pickle.dumps(self.lowered(lowered.module, given, dynamic=lowered.dynamic))

    def load(self, data: bytes, module: torch.nn.Module) -> Callable[..., Any]:
        """The model with that program; programs for other calls are made here, of the module."""
        model = ServedModel(self, copy.deepcopy(module).requires_grad_(False), dynamic=False)
        made = pickle.loads(data)
        if made is not None:
            kind, program = made
            model.programs.append((kind, loaded_from_bytes(program)))
        return model

    def save_and_load(self, lowered: Any) -> Callable[..., Any]:
        """Its programs, read from files."""
        loaded: ServedModel = lowered.loaded_anew(loaded_from_file)
        return loaded

    def copy(self, lowered: Any) -> Callable[..., Any]:
        """Its programs, loaded once more from the same bytes."""
        copied: ServedModel = copy.deepcopy(lowered)
        return copied

    def load_damaged(self, lowered: Any) -> None:
        data = lowered.programs[0][1].program.data
        loaded_from_bytes(Program(data[: len(data) // 2], lowered.programs[0][1].program.form))

    def reset(self) -> None:
        """Nothing is compiled that could be forgotten."""

    def forget(self) -> None:
        """What was loaded lives no longer than what is called."""
