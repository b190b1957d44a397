"""Models of programs: how one is made, and how its weights change."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import linecache
from typing import Any

import torch

from conformance.api.trained import as_trained
from conformance.generate.call_modes import default_dtype
from conformance.generate.inputs import make
from conformance.generate.program import Program, TensorSpec

_numbers = itertools.count()
#: How many sources linecache may hold, which compilers and tracebacks read; then it is emptied.
_MOST_SOURCES = 4000


def build(program: Program, seed: int, *, wide: bool = False) -> torch.nn.Module:
    """A model of a program, in evaluation mode. Its weights are those of the program's specs for seed 0, and different
    ones for each other seed."""
    text = program.source(wide=wide)
    file = f"<generated {next(_numbers)}>"
    namespace: dict[str, Any] = {"__name__": "conformance_generated"}
    exec(compile(text, file, "exec"), namespace)
    # torch.jit.script and Dynamo read sources
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    if len(linecache.cache) > _MOST_SOURCES:
        linecache.clearcache()
    state = made_state(program, seed, wide=wide)
    torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed devices that are not there, slowly
    if not program.modules:
        return namespace["Model"](**state).eval()  # type: ignore[no-any-return]
    # made in its own dtype: a generator gives other numbers for another one
    with default_dtype(torch.float32) if wide else contextlib.nullcontext():
        model: torch.nn.Module = as_trained(namespace["Model"](**state)).eval()
    return model.double() if wide else model


def made_state(program: Program, seed: int, *, wide: bool = False) -> dict[str, torch.Tensor]:
    """What a model of a program is made with: its parameters and buffers by their names."""
    return {name: make(_reseeded(spec, seed), wide=wide) for name, spec in program.state().items()}


def _reseeded(spec: TensorSpec, seed: int) -> TensorSpec:
    return dataclasses.replace(spec, seed=spec.seed + 31 * seed) if seed else spec


def change_weights(module: torch.nn.Module, how: str) -> None:
    """Change the floating-point parameters and buffers of a model: "in place", "through data", "replaced", "loaded"."""
    with torch.no_grad():
        if how == "through data":
            for tensor in (*module.parameters(), *module.buffers()):
                tensor.data.copy_(_changed(tensor))  # its version stays as it was
            return
        if how == "loaded":
            module.load_state_dict({name: _changed(value) for name, value in module.state_dict().items()})
            return
        for owner in module.modules():
            for name, parameter in list(owner.named_parameters(recurse=False)):
                if how == "replaced":
                    setattr(owner, name, torch.nn.Parameter(_changed(parameter), parameter.requires_grad))
                else:
                    parameter.copy_(_changed(parameter))
            for name, buffer in list(owner.named_buffers(recurse=False)):
                if how == "replaced":
                    setattr(owner, name, _changed(buffer))
                else:
                    buffer.copy_(_changed(buffer))


def _changed(tensor: torch.Tensor) -> torch.Tensor:
    """Other values; a variance stays positive. Exact in every dtype, so that exact values stay the model's."""
    return tensor.detach() * 2 + 1 if tensor.is_floating_point() else tensor.detach().clone()
