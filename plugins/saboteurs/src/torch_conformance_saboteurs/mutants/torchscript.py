"""Mutants of TorchScript delegates: the conforming backend, with what a specification says."""

from __future__ import annotations

import functools
from typing import Any

import torch

from torch_conformance_saboteurs.archive import module_from_bytes, module_to_bytes
from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.bridge import DebugHandles, opaque
from torch_conformance_saboteurs.control import Handle, PythonBackend, Record
from torch_conformance_saboteurs.graphs import inlined_graph, nodes_of
from torch_conformance_saboteurs.mutants.effects import CHANGES
from torch_conformance_saboteurs.mutants.engine import Mutant, spec_of_environment
from torch_conformance_saboteurs.mutants.history import Lowered

# PyTorch's type stubs lack half of what is used here.
_core: Any = torch._C


class _MutantHandle(Handle):
    """A handle of a mutant, which knows what happened to its module."""

    lowered: Lowered


@functools.cache
def _mutant() -> Mutant:
    return Mutant(spec_of_environment())


#: What was packed in this process, and how often it was made ready to run.
_packed: dict[str, int] = {}


def forget_packed() -> None:
    """Take for foreign what is loaded from now on, as another process would."""
    _packed.clear()


class MutantBackend(PythonBackend):
    """The small steps of the control, watched by a mutant."""

    def preprocess(
        self, module: torch._C.ScriptModule, method_compile_spec: dict[str, Any], debug_handles: DebugHandles
    ) -> Any:
        kernels = [each for method in method_compile_spec for each in _kernels(module, method)]
        self.spoils = _mutant().lowering(Lowered(kernels, counts=False), [])
        return super().preprocess(module, method_compile_spec, debug_handles)

    def program_of(self, module: torch._C.ScriptModule, methods: tuple[str, ...]) -> bytes:
        program = super().program_of(module, methods)
        if self.spoils:
            copy = module_from_bytes(program)
            if _spoil_weight(copy):
                return module_to_bytes(copy)
        return program

    def pack(self, record: Record) -> Any:
        text = super().pack(record)
        _packed.setdefault(text, 0)
        return text

    def compile(self, processed: Any, method_compile_spec: dict[str, Any]) -> dict[str, Any]:
        self._loaded = processed not in _packed
        _packed[processed] = _packed.get(processed, 0) + 1
        self._copied = not self._loaded and _packed[processed] > 1
        return super().compile(processed, method_compile_spec)

    def load_program(self, record: Record) -> torch._C.ScriptModule:
        program = super().load_program(record)
        kernels = [each for method in record.debug_handles for each in _kernels(program, method)]
        self._lowered = Lowered(kernels, loaded=self._loaded, copied=self._copied)
        if _mutant().loading(self._lowered):
            _spoil_weight(program)
        return program

    def handle_of(self, record: Record, program: torch._C.ScriptModule, method: str) -> Any:
        handle = _MutantHandle(method, program._get_method(method), record.debug_handles[method])
        object.__setattr__(handle, "lowered", self._lowered)
        _mutant().released_with(handle, self._lowered)
        return opaque(handle)

    def call(self, handle: Handle, inputs: list[Any]) -> Any:
        assert isinstance(handle, _MutantHandle)
        grad = torch.is_grad_enabled()
        with torch.no_grad():
            return _mutant().run(handle.lowered, handle.run, inputs, grad=grad)


class TorchScriptMutant(PythonControl):
    """Which mutant it is stands in the environment; without one it is the control."""

    name = "torchscript_mutant"
    implementation = MutantBackend


def _kernels(module: torch._C.ScriptModule, method: str) -> list[str]:
    """What a method and all that it calls consist of, by name."""
    return [node.kind().partition("::")[2] for node in nodes_of(inlined_graph(module, method))]


def _spoil_weight(program: torch._C.ScriptModule) -> bool:
    """Change the first weight of a program as the mutant says. False where there is none to change."""
    mutant = _mutant()
    for tensor in _weights(program):
        new = CHANGES[mutant.effect](tensor.detach())
        if new.numel() and not torch.equal(new, tensor):
            with torch.no_grad():
                tensor.copy_(new)
            mutant.fire()
            return True
    return False


def _weights(program: torch._C.ScriptModule) -> list[torch.Tensor]:
    found = [each for _, each in _core.ParameterDict(program).items()]
    found += [each for _, each in _core.BufferDict(program).items()]
    for _, child in _core.ModuleDict(program).items():
        found += _weights(child)
    return found
