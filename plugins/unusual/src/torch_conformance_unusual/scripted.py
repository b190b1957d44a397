"""TorchScript backends that keep and load their programs in unusual ways."""

from __future__ import annotations

import base64
import collections
import json
import threading
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch_conformance_saboteurs.archive import module_from_bytes, module_to_bytes
from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.bridge import opaque
from torch_conformance_saboteurs.control import Handle, PythonBackend, Record
from torch_conformance_saboteurs.sabotage_tools import tensors_in

#: Of not so many sizes a program of its own is kept that a backend would grow without an end.
REMEMBERED = 4
_core: Any = torch._C
_jit: Any = torch.jit


class _FromRecord:
    """Stands for a method of a program that is not there yet; it has the method's schema."""

    def __init__(self, backend: PythonBackend, record: Record, method: str) -> None:
        self._backend, self._record, self._method = backend, record, method
        self.schema = self.made().schema

    def made(self) -> Any:
        """The method of a program that is loaded now."""
        return PythonBackend.load_program(self._backend, self._record)._get_method(self._method)

    def __call__(self, *inputs: Any) -> Any:
        return self.made()(*inputs)


class ScriptRebuilt(PythonControl):
    """A program is read from the bytes of its archive at each call."""

    name = "unusual_script_rebuilt"

    class implementation(PythonBackend):
        """Handles hold bytes."""

        format = "unusual-rebuilt/1"

        def handle_of(self, record: Record, program: torch._C.ScriptModule, method: str) -> Any:
            return opaque(Handle(method, _FromRecord(self, record, method), record.debug_handles[method]))


class _Once(_FromRecord):
    """A program is loaded at the first call, by whichever thread is first."""

    def __init__(self, backend: PythonBackend, record: Record, method: str) -> None:
        super().__init__(backend, record, method)
        self._lock = threading.Lock()
        self._function: Any = None

    def __call__(self, *inputs: Any) -> Any:
        with self._lock:
            if self._function is None:
                self._function = self.made()
        return self._function(*inputs)


class ScriptLazy(PythonControl):
    """A program is loaded by the first call of each of its methods."""

    name = "unusual_script_lazy"

    class implementation(PythonBackend):
        """Handles load their programs."""

        format = "unusual-lazy/1"

        def handle_of(self, record: Record, program: torch._C.ScriptModule, method: str) -> Any:
            return opaque(Handle(method, _Once(self, record, method), record.debug_handles[method]))


def _graphs_of(program: Any, methods: Iterable[str]) -> list[Any]:
    return [program._get_method(name).inlined_graph for name in methods]


def _nodes_of(block: Any) -> Iterator[Any]:
    for node in block.nodes():
        yield node
        for each in node.blocks():
            yield from _nodes_of(each)


def _writes(graph: Any) -> bool:
    """Whether a graph writes to a tensor: where that is made of weights alone, PyTorch makes a constant of it, to which
    each call then writes (reports/findings/jit_freeze_in_place.py)."""
    return any(node.kind().startswith("aten::") and node.kind().endswith("_") for node in _nodes_of(graph))


def _gives_a_constant(graph: Any) -> bool:
    """Whether a result may lie in the memory of a constant, of which PyTorch gives in each call the very memory
    (reports/findings/jit_freeze_gives_its_constants.py)."""
    constants = [each.output() for each in _nodes_of(graph) if each.kind() == "prim::Constant"]
    aliases = graph.alias_db()
    return any(aliases.may_contain_alias(each, result) for each in constants for result in graph.outputs())


class ScriptFrozen(PythonControl):
    """A program is frozen when it is loaded: weights become constants, and PyTorch's passes fold what they can."""

    name = "unusual_script_frozen"

    class implementation(PythonBackend):
        """What cannot be frozen is run as it is, and so is what PyTorch freezes badly."""

        format = "unusual-frozen/1"

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            program = super().load_program(record)
            # torch.jit.load turns optimisation off, without which freezing takes methods away that what is frozen
            # calls (reports/findings/jit_freeze_without_optimisation.py).
            optimised: Any = torch.jit.optimized_execution  # type: ignore[attr-defined]
            with torch.inference_mode(False), torch.no_grad(), optimised(True):
                try:
                    frozen: torch._C.ScriptModule = _core._freeze_module(program, list(record.debug_handles))
                except RuntimeError:
                    return program
            before, after = (_graphs_of(each, record.debug_handles) for each in (program, frozen))
            return program if any(map(_writes, before)) or any(map(_gives_a_constant, after)) else frozen


_modes = threading.RLock()


class ScriptUnoptimised(PythonControl):
    """Programs run without the optimising executor of TorchScript."""

    name = "unusual_script_unoptimised"

    class implementation(PythonBackend):
        """The executor's mode is the process's: one call at a time changes it."""

        format = "unusual-unoptimised/1"

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            with _modes, _jit.optimized_execution(False):
                return super().call(handle, inputs)


class _BySizes(_FromRecord):
    """Each set of sizes, strides and dtypes has a program of its own."""

    def __init__(self, backend: PythonBackend, record: Record, method: str) -> None:
        super().__init__(backend, record, method)
        self._lock = threading.Lock()
        self._functions: collections.OrderedDict[Any, Any] = collections.OrderedDict()

    def __call__(self, *inputs: Any) -> Any:
        key = tuple(
            (each.dtype, each.layout, tuple(each.shape), each.stride() if each.layout is torch.strided else None)
            for each in tensors_in(inputs)
        )
        with self._lock:
            function = self._functions.get(key)
            if function is None:
                function = self._functions[key] = self.made()
                while len(self._functions) > REMEMBERED:
                    self._functions.popitem(last=False)
        return function(*inputs)


class ScriptBySizes(PythonControl):
    """Each set of sizes, strides and dtypes of the inputs is computed by a program of its own."""

    name = "unusual_script_sizes"

    class implementation(PythonBackend):
        """Handles keep several programs."""

        format = "unusual-sizes/1"

        def handle_of(self, record: Record, program: torch._C.ScriptModule, method: str) -> Any:
            return opaque(Handle(method, _BySizes(self, record, method), record.debug_handles[method]))


class ScriptWideWeights(PythonControl):
    """Weights in float32 are kept in the processed module as float64, and are rounded back when it is loaded."""

    name = "unusual_script_wide_weights"

    class implementation(PythonBackend):
        """Before the archive stands which weights are meant."""

        format = "unusual-wide-weights/1"

        def pack(self, record: Record) -> Any:
            program = module_from_bytes(record.program)
            names = json.dumps(_convert(program, None, torch.float64)).encode()
            return super().pack(Record(names + b"\n" + module_to_bytes(program), record.debug_handles, record.spec))

        def unpack(self, processed: Any) -> Record:
            record = super().unpack(processed)
            names, _, archive = record.program.partition(b"\n")
            program = module_from_bytes(archive)
            _convert(program, json.loads(names), torch.float32)
            return Record(module_to_bytes(program), record.debug_handles, record.spec)


def _convert(module: Any, names: list[str] | None, dtype: torch.dtype, prefix: str = "") -> list[str]:
    """Let weights of a program have another dtype: those of these names, or those that are float32. Their names."""
    found = []
    for kind in (_core.ParameterDict, _core.BufferDict):
        for name, weight in list(kind(module).items()):
            here = prefix + name
            if weight.dtype == torch.float32 if names is None else here in names:
                changed = weight.detach().to(dtype)
                module.setattr(name, changed.requires_grad_(weight.requires_grad))
                found.append(here)
    for name, inner in _core.ModuleDict(module).items():
        found += _convert(inner, names, dtype, f"{prefix}{name}.")
    return found


class ScriptCompressed(PythonControl):
    """The processed module is compressed."""

    name = "unusual_script_compressed"

    class implementation(PythonBackend):
        """The archive is compressed, what stands before it is not."""

        format = "unusual-compressed/1"

        def pack(self, record: Record) -> Any:
            small = base64.b64encode(zlib.compress(record.program))
            return super().pack(Record(small, record.debug_handles, record.spec))

        def unpack(self, processed: Any) -> Record:
            record = super().unpack(processed)
            return Record(zlib.decompress(base64.b64decode(record.program)), record.debug_handles, record.spec)
