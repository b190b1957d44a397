"""The conforming backend: it keeps the contract, and is what each saboteur breaks in one place.

The processed module is one text, a header line and base64::

    torch-conformance-saboteurs/1 sha256=<of the base64> length=<of the base64>
    <base64 of: a line of JSON, the compile spec as torch.save writes it, the program's archive>
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import io
import json
import os
import re
from typing import Any

import torch
from torch.utils import _pytree as pytree

from torch_conformance_saboteurs import refusal
from torch_conformance_saboteurs.archive import module_from_bytes, module_to_bytes
from torch_conformance_saboteurs.bridge import DebugHandles, opaque, typed
from torch_conformance_saboteurs.graphs import (
    does_work,
    inlined_graph,
    nodes_of,
    operators_of,
    place_of_failure,
)

_HEADER = re.compile(r"(?P<format>[^\s]+) sha256=(?P<sha256>[0-9a-f]{64}) length=(?P<length>[1-9][0-9]*)\n")
_LONGEST_HEADER = 200


class BlobError(RuntimeError):
    """A processed module that is damaged, or of another format; the text says which."""


class ExecutionError(RuntimeError):
    """A method failed. ``debug_handle`` belongs to the operator that did, or is None if that is not known."""

    def __init__(self, text: str, debug_handle: int | None) -> None:
        super().__init__(text)
        self.debug_handle = debug_handle


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """What preprocess hands to compile."""

    program: bytes
    #: Method → place in the program → debug handle of the operator that stands there.
    debug_handles: dict[str, dict[str, int]]
    spec: bytes


@dataclasses.dataclass(frozen=True, slots=True)
class Handle:
    """What compile hands to execute, for one method."""

    method: str
    function: Any
    debug_handles: dict[str, int]

    def run(self, *inputs: Any) -> Any:
        """The method's result, without a history: the executor of ``torch.jit`` specialises what runs with one, and
        that fails once it runs in inference mode. Nor does a view of a weight require grad, as the weight does."""
        with torch.no_grad():
            value = self.function(*inputs)
            return pytree.tree_map_only(torch.Tensor, lambda each: each.detach() if each.requires_grad else each, value)


class PythonBackend:
    """A TorchScript backend of small steps: override one to break one thing.

    A fresh instance serves each call of :meth:`preprocess`, and one serves each lowered module. An instance
    has no state, and neither has this file: all that a lowered module needs is in its handles.
    """

    format = "torch-conformance-saboteurs/1"

    # On the host, when a module is lowered

    def preprocess(
        self, module: torch._C.ScriptModule, method_compile_spec: dict[str, Any], debug_handles: DebugHandles
    ) -> Any:
        """The processed module. Raises RuntimeError for a bad spec and for a model that is refused."""
        self.check_spec(module, method_compile_spec)
        methods = tuple(method_compile_spec)
        for method in methods:
            self.check_supported(module, method)
        program = self.program_of(self.weights(module), methods)
        handles = self.debug_handles_of(module, program, methods, debug_handles)
        return self.pack(Record(program, handles, self.spec_bytes(method_compile_spec)))

    def check_spec(self, module: torch._C.ScriptModule, method_compile_spec: dict[str, Any]) -> None:
        """Raise RuntimeError unless the keys of the spec are methods of the module, one at least."""
        existing = sorted(module._method_names())
        if not method_compile_spec:
            raise RuntimeError(f"the method compile spec is empty; the module's methods are {existing}")
        unknown = sorted(set(method_compile_spec) - set(existing))
        if unknown:
            raise RuntimeError(f"the method compile spec names {unknown}, but the module's methods are {existing}")

    def check_supported(self, module: torch._C.ScriptModule, method: str) -> None:
        """Raise an error that names the operator and shows the line of the model if it is refused."""
        refusal.check_supported(module, method)

    def weights(self, module: torch._C.ScriptModule) -> torch._C.ScriptModule:
        """The module whose parameters and buffers go into the program; it must not be changed in place."""
        return module

    def program_of(self, module: torch._C.ScriptModule, methods: tuple[str, ...]) -> bytes:
        """The code and the weights, independent of the module and free of paths."""
        return module_to_bytes(module)

    def debug_handles_of(
        self, module: torch._C.ScriptModule, program: bytes, methods: tuple[str, ...], generate: DebugHandles
    ) -> dict[str, dict[str, int]]:
        """Which debug handle belongs to which place in the program."""
        unit = torch._C.CompilationUnit()
        packed = module_from_bytes(program, unit)
        result: dict[str, dict[str, int]] = {}
        for method in methods:
            graph = inlined_graph(module, method)
            handled = zip(nodes_of(graph), generate(graph), strict=True)
            nodes = [(node.kind(), handle) for node, handle in handled if does_work(node)]
            places = [(node.kind(), place) for node, place in operators_of(packed, method, unit)]
            result[method] = {}
            if [kind for kind, _ in nodes] == [kind for kind, _ in places]:
                for (_, handle), (_, place) in zip(nodes, places, strict=True):
                    result[method].setdefault("|".join(place), handle)
        return result

    def spec_bytes(self, method_compile_spec: dict[str, Any]) -> bytes:
        """The compile spec as preprocess received it."""
        buffer = io.BytesIO()
        torch.save(method_compile_spec, buffer)
        return buffer.getvalue()

    def pack(self, record: Record) -> Any:
        """The record as something that TorchScript can save."""
        contents = json.dumps({"debug_handles": record.debug_handles, "spec": len(record.spec)})
        payload = contents.encode() + b"\n" + record.spec + record.program
        text = base64.b64encode(payload).decode("ascii")
        return f"{self.format} sha256={self.digest(text)} length={len(text)}\n{text}"

    def digest(self, text: str) -> str:
        """What :meth:`verify` recognises an altered text by."""
        return hashlib.sha256(text.encode()).hexdigest()

    # Whether the backend can be used here, read from the environment at each question

    def can_compile(self) -> bool:
        return os.environ.get("SABOTEUR_COMPILE") != "0"

    def can_execute(self) -> bool:
        return os.environ.get("SABOTEUR_EXECUTE") != "0"

    def is_available(self) -> bool:
        """Whether :meth:`compile` and :meth:`execute` can both be called.

        Without a compiler, compile is a no-op that can be called wherever there is something to execute with:
        preprocess has made everything ready.
        """
        return self.can_execute()

    # Where the module is loaded

    def compile(self, processed: Any, method_compile_spec: dict[str, Any]) -> dict[str, Any]:
        """A handle for each method. Raises BlobError for a processed module that is not usable."""
        if not self.can_compile() and not self.can_execute():
            raise RuntimeError("cannot compile here: SABOTEUR_COMPILE=0 and SABOTEUR_EXECUTE=0 are set")
        record = self.unpack(processed)
        missing = sorted(set(method_compile_spec) - set(record.debug_handles))
        if missing:
            raise BlobError(f"the spec names {missing}, the program has only {sorted(record.debug_handles)}")
        program = self.load_program(record)
        return {method: self.handle_of(record, program, method) for method in method_compile_spec}

    def verify(self, processed: Any) -> str:
        """The base64 of a processed module, which is what preprocess made. Raises BlobError if it is not."""
        if not isinstance(processed, str):
            raise BlobError(f"the processed module is damaged: a {type(processed).__name__}, expected a str")
        header = _HEADER.match(processed[:_LONGEST_HEADER])
        if header is None:
            raise BlobError("the processed module is damaged: it does not begin with a header")
        if header["format"] != self.format:
            raise BlobError(f"the processed module is a {header['format']!r}, expected {self.format!r}")
        text = processed[header.end() :]
        if len(text) != int(header["length"]):
            raise BlobError(f"the processed module is damaged: {len(text)} characters, expected {header['length']}")
        if self.digest(text) != header["sha256"]:
            raise BlobError("the processed module is damaged: its SHA-256 is not the one in its header")
        return text

    def unpack(self, processed: Any) -> Record:
        """The record that :meth:`pack` was given."""
        payload = base64.b64decode(self.verify(processed))
        line, _, rest = payload.partition(b"\n")
        contents = json.loads(line)
        spec, program = rest[: contents["spec"]], rest[contents["spec"] :]
        return Record(program, contents["debug_handles"], spec)

    def load_program(self, record: Record) -> torch._C.ScriptModule:
        """A module of this lowered module's own."""
        return module_from_bytes(record.program)

    def handle_of(self, record: Record, program: torch._C.ScriptModule, method: str) -> Any:
        """What :meth:`execute` gets to run the method."""
        return opaque(Handle(method, program._get_method(method), record.debug_handles[method]))

    # At a run

    def execute(self, handle: Any, inputs: list[Any]) -> list[Any]:
        """The outputs of a method. Raises RuntimeError with the text of whatever went wrong."""
        if not self.can_execute():
            raise RuntimeError("cannot execute here: SABOTEUR_EXECUTE=0 is set")
        if not isinstance(handle, Handle):
            raise RuntimeError(f"execute was given a {type(handle).__name__}, expected a handle from compile")
        try:
            value = self.call(handle, inputs)
        except Exception as error:
            raise self.failure(handle, error) from error
        return self.outputs_of(handle, value)

    def call(self, handle: Handle, inputs: list[Any]) -> Any:
        """The method's result."""
        return handle.run(*inputs)

    def failure(self, handle: Handle, error: Exception) -> Exception:
        """What to raise for an error of the method: its text, and the debug handle of what failed."""
        return ExecutionError(str(error), handle.debug_handles.get("|".join(place_of_failure(str(error)))))

    def outputs_of(self, handle: Handle, value: Any) -> list[Any]:
        """The result as the lowered module unpacks it: the elements of a tuple, or the one value."""
        declared = handle.function.schema.returns[0].type
        if declared.kind() != "TupleType":
            return [typed(value, declared)]
        return [typed(element, kind) for element, kind in zip(value, declared.elements(), strict=True)]

    # For the harness

    def received_spec(self, processed: Any) -> dict[str, Any]:
        """The method compile spec that preprocess was given."""
        spec: dict[str, Any] = torch.load(io.BytesIO(self.unpack(processed).spec), weights_only=True)
        return spec
