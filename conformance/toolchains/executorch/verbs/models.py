"""Programs as applications have them: emitted, loaded, called with whatever tensors there are."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import sympy
import torch
import torch._export.utils
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree


@dataclasses.dataclass(frozen=True)
class Program:
    """A .pte, and the form of what its method gives, which is flat."""

    data: bytes
    form: pytree.TreeSpec
    #: The sizes that PyTorch has drawn closer bounds for while the program was emitted, when backends are done with it:
    #: it plans memory for convolutions of fewer than 16 at a time, whatever was exported, where a delegate has them.
    narrowed: Mapping[sympy.Symbol, tuple[int, int]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Loaded:
    """A loaded method, with what it lives in, and the program that it is of."""

    program: Program
    owner: Any
    method: Any

    def __call__(self, arguments: list[Any]) -> Any:
        return pytree.tree_unflatten(list(self.method.execute(arguments)), self.program.form)


def lowered_program(exported: ExportedProgram, partitioners: list[Any]) -> Program:
    """An exported program, lowered and emitted."""
    manager = _lowered(exported, partitioners)
    before = _bounds_of(exported)
    program = _emitted(exported, manager)
    narrowed = {symbol: each for symbol, each in _bounds_of(exported).items() if each != before.get(symbol)}
    return dataclasses.replace(program, narrowed=narrowed)


def _bounds_of(exported: ExportedProgram) -> dict[sympy.Symbol, tuple[int, int]]:
    """The sizes that were exported as symbols, with their bounds as they are now."""
    values = [node.meta.get("val") for node in exported.graph.nodes if node.op == "placeholder"]
    sizes: list[Any] = [size for each in values if isinstance(each, torch.Tensor) for size in each.shape]
    environment = next((size.node.shape_env for size in sizes if isinstance(size, torch.SymInt)), None)
    if environment is None:
        return {}
    ranges = {symbol: environment.var_to_range[symbol] for symbol in exported.range_constraints}
    return {symbol: (int(each.lower), int(each.upper)) for symbol, each in ranges.items()}


def delegated_program(exported: ExportedProgram, partitioners: list[Any], backend: str) -> Program | None:
    """The same, where a backend has taken anything of it; else None."""
    from conformance.toolchains.executorch.ahead_of_time import delegation_of

    manager = _lowered(exported, partitioners)
    taken = backend in delegation_of(manager.exported_program("forward"))["backends"]
    return _emitted(exported, manager) if taken else None


def _lowered(exported: ExportedProgram, partitioners: list[Any]) -> Any:
    from conformance.toolchains.executorch.ahead_of_time import lowered_programs

    return lowered_programs({"forward": exported}, {"forward": partitioners} if partitioners else {})


def _emitted(exported: ExportedProgram, manager: Any) -> Program:
    from conformance.toolchains.executorch.ahead_of_time import emitted

    return Program(bytes(emitted(manager, planned=True).buffer), exported.call_spec.out_spec)


def loaded_from_bytes(program: Program) -> Loaded:
    """Its method, loaded from memory."""
    from executorch.runtime import Runtime

    owner = Runtime.get().load_program(program.data)
    return Loaded(program, owner, owner.load_method("forward"))


def loaded_from_file(program: Program) -> Loaded:
    """Its method, loaded from a file, which is gone then."""
    from conformance.toolchains.executorch.runtime import file_of, loaded_from

    path = file_of(program.data)
    owner = loaded_from(path)
    loaded = Loaded(program, owner, owner.load_method("forward"))
    path.unlink()
    return loaded


def as_taken(value: Any) -> Any:
    """A value as the runtime takes it: what lies otherwise in memory than a program says is copied by who calls it."""
    if not isinstance(value, torch.Tensor):
        return value
    plain = value.detach().resolve_conj().resolve_neg()
    if not plain.numel():
        return plain.new_empty(plain.shape)  # PyTorch calls it contiguous, whatever its strides are
    if plain.dim() == 4 and plain.is_contiguous(memory_format=torch.channels_last):
        return plain
    return plain.contiguous()


@contextlib.contextmanager
def as_ordinarily() -> Iterator[None]:
    """Lowering is no part of a call, and is not done in its modes; and it walks through all of PyTorch's operators
    once, and not for each of their namespaces, which takes a third of the time that a small model takes."""
    walk = torch._export.utils._materialize_cpp_cia_ops
    torch._export.utils._materialize_cpp_cia_ops = functools.cache(walk)
    try:
        with torch.inference_mode(False), torch.no_grad():
            yield
    finally:
        torch._export.utils._materialize_cpp_cia_ops = walk
