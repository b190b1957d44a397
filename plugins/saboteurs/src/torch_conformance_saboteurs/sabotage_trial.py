"""Saboteurs: ten that were written from the text of the contract alone, after the suites were done."""

from __future__ import annotations

import ctypes
import hashlib
import os
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from torch import Tensor

from conformance.api.saboteur import REPORTED
from torch_conformance_saboteurs.archive import module_from_bytes, module_to_bytes
from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.bridge import DebugHandles
from torch_conformance_saboteurs.control import BlobError, Handle, PythonBackend, Record
from torch_conformance_saboteurs.sabotage_tools import Listing, replaced

saboteur = Listing()

# PyTorch's type stubs do not have all of what is used here.
_core: Any = torch._C


def _weights_of(module: Any) -> Iterator[Tensor]:
    """The parameters and buffers of a module and of what it holds."""
    for kind in (_core.ParameterDict, _core.BufferDict):
        yield from (tensor for _, tensor in kind(module).items())
    for _, child in _core.ModuleDict(module).items():
        yield from _weights_of(child)


# Lowering


class _TwoSlots(PythonBackend):
    """Double buffering: each output has two buffers that take turns, so the third run overwrites the first result."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, int], int] = {}
        self._slots: dict[tuple[Any, ...], Tensor] = {}

    def call(self, handle: Handle, inputs: list[Any]) -> Any:
        thread = threading.get_ident()
        turn = self._runs[handle.method, thread] = 1 - self._runs.get((handle.method, thread), 1)
        place = 0

        def into_slot(value: Tensor) -> Tensor:
            nonlocal place
            place += 1
            if value.requires_grad or value.is_quantized or not value.is_contiguous():
                return value
            key = (handle.method, thread, turn, place, value.shape, value.dtype, torch.is_inference_mode_enabled())
            slot = self._slots.setdefault(key, torch.empty_like(value))
            return slot.copy_(value)

        return replaced(super().call(handle, inputs), Tensor, into_slot)


@saboteur("lowering.inputs-untouched")
class TwoSlots(PythonControl):
    name = "trial_two_slots"
    implementation = _TwoSlots


@saboteur("lowering.original-untouched", phases=("lower", "run", "inspect", "probe"))
class FreezesTheOriginal(PythonControl):
    """What users lower by wants weights without gradients, and says so to the original's own parameters."""

    name = "trial_freezes_the_original"

    def lower(self, module: torch.jit.ScriptModule, method_compile_spec: dict[str, Any]) -> torch.jit.ScriptModule:
        if isinstance(module, torch.nn.Module):
            for parameter in module.parameters():
                parameter.requires_grad_(False)
        return super().lower(module, method_compile_spec)


class _ConvertsAModuleOnce(PythonBackend):
    """Converted programs are kept by the original's identity: lowered again, it has the weights of the first time."""

    current: ClassVar[Any] = None
    #: With the original, so that no other object comes to have its identity.
    converted: ClassVar[dict[tuple[int, tuple[str, ...]], tuple[Any, bytes]]] = {}

    def program_of(self, module: torch._C.ScriptModule, methods: tuple[str, ...]) -> bytes:
        program = super().program_of(module, methods)
        if self.current is None:
            return program
        return self.converted.setdefault((id(self.current), methods), (self.current, program))[1]


@saboteur("lowering.twice", phases=("lower", "run"))
class ConvertsAModuleOnce(PythonControl):
    name = "trial_converts_a_module_once"
    implementation = _ConvertsAModuleOnce

    def lower(self, module: torch.jit.ScriptModule, method_compile_spec: dict[str, Any]) -> torch.jit.ScriptModule:
        _ConvertsAModuleOnce.current = module
        try:
            return super().lower(module, method_compile_spec)
        finally:
            _ConvertsAModuleOnce.current = None


# Composition


class _ReleasesWhatIsShared(PythonBackend):
    """Equal programs are shared in one table without counting their users: the first that dies takes it from all."""

    _programs: ClassVar[dict[str, torch._C.ScriptModule]] = {}

    def __init__(self) -> None:
        self._key = ""

    def load_program(self, record: Record) -> torch._C.ScriptModule:
        self._key = hashlib.sha256(record.program).hexdigest()
        if self._key not in self._programs:
            self._programs[self._key] = super().load_program(record)
        return self._programs[self._key]

    def call(self, handle: Handle, inputs: list[Any]) -> Any:
        if self._key not in self._programs:
            raise RuntimeError(f"the program {self._key[:8]} is not loaded")
        return super().call(handle, inputs)

    def __del__(self) -> None:
        self._programs.pop(self._key, None)


@saboteur("composition.deepcopy", phases=("run", "release", "probe"))
class ReleasesWhatIsShared(PythonControl):
    name = "trial_releases_what_is_shared"
    implementation = _ReleasesWhatIsShared


# Save and load


class _OpensWhenAsked(PythonBackend):
    """is_available() opens the device, and compile needs it open: an older artifact's __setstate__ never asks."""

    def __init__(self) -> None:
        self._open = False

    def is_available(self) -> bool:
        self._open = super().is_available()
        return self._open

    def compile(self, processed: Any, method_compile_spec: dict[str, Any]) -> dict[str, Any]:
        if not self._open:
            raise RuntimeError("the device is not open")
        return super().compile(processed, method_compile_spec)


@saboteur("save-load.older", phases=("load", "run"))
class OpensWhenAsked(PythonControl):
    name = "trial_opens_when_asked"
    implementation = _OpensWhenAsked


class _WorksInTheBlob(PythonBackend):
    """The processed module is a tensor whose memory serves as scratch at a run: what has run cannot be saved."""

    def __init__(self) -> None:
        self._scratch: Tensor | None = None

    def pack(self, record: Record) -> Any:
        return torch.frombuffer(bytearray(super().pack(record), "ascii"), dtype=torch.uint8).clone()

    def verify(self, processed: Any) -> str:
        if not isinstance(processed, Tensor) or processed.dtype != torch.uint8 or not processed.is_contiguous():
            raise BlobError("the processed module is damaged: it is not a tensor of bytes")
        return super().verify(ctypes.string_at(processed.data_ptr(), processed.numel()).decode("latin-1"))

    def compile(self, processed: Any, method_compile_spec: dict[str, Any]) -> dict[str, Any]:
        handles = super().compile(processed, method_compile_spec)
        self._scratch = processed
        return handles

    def call(self, handle: Handle, inputs: list[Any]) -> Any:
        result = super().call(handle, inputs)
        if self._scratch is not None:
            with torch.inference_mode():
                self._scratch[-64:] = 0
        return result


@saboteur("save-load.again", phases=("load", "run"))
class WorksInTheBlob(PythonControl):
    name = "trial_works_in_the_blob"
    implementation = _WorksInTheBlob


# Lite interpreter


class _LeavesFilesOpen(PythonBackend):
    """Each loading puts the program into a file in memory that is never closed; the process's own memory stays."""

    def load_program(self, record: Record) -> torch._C.ScriptModule:
        descriptor = os.memfd_create("program")
        with open(descriptor, "w+b", closefd=False) as file:
            file.write(record.program)
            file.seek(0)
            return module_from_bytes(file.read())


@saboteur("lite.again", verdicts=(REPORTED,))
class LeavesFilesOpen(PythonControl):
    name = "trial_leaves_files_open"
    implementation = _LeavesFilesOpen


# Availability


class _RepeatsItselfWhenLost(PythonBackend):
    """A module that has run still answers when the device is gone: with its last result, whatever the inputs are."""

    def __init__(self) -> None:
        self._last: dict[str, Any] = {}

    def is_available(self) -> bool:
        return super().is_available() or bool(self._last)

    def execute(self, handle: Any, inputs: list[Any]) -> list[Any]:
        if not self.can_execute() and isinstance(handle, Handle) and handle.method in self._last:
            return self.outputs_of(handle, replaced(self._last[handle.method], Tensor, torch.clone))
        return super().execute(handle, inputs)

    def call(self, handle: Handle, inputs: list[Any]) -> Any:
        result = super().call(handle, inputs)
        self._last[handle.method] = replaced(result, Tensor, torch.clone)
        return result


@saboteur("availability.lost", phases=("run", "probe"))
class RepeatsItselfWhenLost(PythonControl):
    name = "trial_repeats_itself_when_lost"
    implementation = _RepeatsItselfWhenLost


class _RoundsWhereItCannotRun(PythonBackend):
    """On a host that cannot execute, the weights are stored in half precision."""

    def weights(self, module: torch._C.ScriptModule) -> torch._C.ScriptModule:
        if self.can_execute():
            return module
        copy = module_from_bytes(module_to_bytes(module))
        with torch.no_grad():
            for tensor in _weights_of(copy):
                if tensor.dtype in (torch.float32, torch.float64) and not tensor.is_quantized:
                    tensor.copy_(tensor.half())
        return copy


@saboteur("availability.regained")
class RoundsWhereItCannotRun(PythonControl):
    name = "trial_rounds_where_it_cannot_run"
    implementation = _RoundsWhereItCannotRun


# Bundled inputs


class _StagesAsMuchAsAtFirst(PythonBackend):
    """Where a module was loaded, the memory for an input is as large as at the first run; more is cut off (zeros)."""

    _lowers_here: ClassVar[bool] = False

    def __init__(self) -> None:
        self._room: dict[tuple[str, int], int] = {}

    def preprocess(
        self, module: torch._C.ScriptModule, method_compile_spec: dict[str, Any], debug_handles: DebugHandles
    ) -> Any:
        type(self)._lowers_here = True
        return super().preprocess(module, method_compile_spec, debug_handles)

    def call(self, handle: Handle, inputs: list[Any]) -> Any:
        if self._lowers_here:
            return super().call(handle, inputs)
        staged = list(inputs)
        for index, value in enumerate(inputs):
            if isinstance(value, Tensor) and not value.is_quantized:
                room = self._room.setdefault((handle.method, index), value.numel())
                if value.numel() > room:
                    flat = value.detach().flatten().clone()
                    flat[room:] = 0
                    staged[index] = flat.reshape(value.shape)
        return super().call(handle, staged)


@saboteur("bundled.runs", phases=("run", "bundle"))
class StagesAsMuchAsAtFirst(PythonControl):
    name = "trial_stages_as_much_as_at_first"
    implementation = _StagesAsMuchAsAtFirst


SABOTEURS = saboteur.all()
