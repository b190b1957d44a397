"""Saboteurs: the guards of inference, what leaks from them, and threads."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

import torch
from torch import Tensor

from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.control import Handle, PythonBackend, Record
from torch_conformance_saboteurs.graphs import inlined_graph, nodes_of
from torch_conformance_saboteurs.sabotage_tools import ChangedTensors, Listing, replaced, tensors_in

saboteur = Listing()

#: Long enough for another thread to come between.
_A_MOMENT = 0.002


# Guards


@saboteur("inference.guards", "inference.lowering", "inference.mobilenet")
class RefusesInferenceMode(PythonControl):
    name = "refuses_inference_mode"

    class implementation(PythonBackend):
        """A method cannot be run in inference mode."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if torch.is_inference_mode_enabled():
                raise RuntimeError("Cannot set version_counter for inference tensor")
            return super().call(handle, inputs)


@saboteur("inference.inputs-untouched")
class ReusesBufferInInference(PythonControl):
    name = "reuses_buffer_in_inference"

    class implementation(ChangedTensors):
        """In inference mode results of one dtype and shape are written into the same memory at each call."""

        def __init__(self) -> None:
            self.buffers: dict[Any, Tensor] = {}

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            self.used: set[Any] = set()
            return super().call(handle, inputs)

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            key = tensor.dtype, tensor.shape
            if not torch.is_inference_mode_enabled() or key in self.used:
                return tensor
            self.used.add(key)
            return self.buffers.setdefault(key, tensor).copy_(tensor)


@saboteur("inference.inputs-untouched")
class WritesOverInputWithoutGrad(PythonControl):
    name = "writes_over_input_without_grad"

    class implementation(ChangedTensors):
        """Where a guard says that no gradient is wanted, a result takes the memory of an input that it fits into."""

        guarded = False

        def execute(self, handle: Handle, inputs: list[Any]) -> list[Any]:
            self.guarded = not torch.is_grad_enabled()
            return super().execute(handle, inputs)

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            for each in tensors_in(inputs) if self.guarded else ():
                if each.dtype == tensor.dtype and each.shape == tensor.shape and each.is_contiguous():
                    return each.copy_(tensor)
            return tensor


@saboteur("inference.guards", phases=("load",))
class LoadsOnlyWithGrad(PythonControl):
    name = "loads_only_with_grad"

    class implementation(PythonBackend):
        """A module cannot be loaded under torch.no_grad: packing its weights asks for their gradients."""

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            if not torch.is_grad_enabled() and not torch.is_inference_mode_enabled():
                raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
            return super().load_program(record)


@saboteur("inference.guards", "inference.lowering", "inference.mobilenet", "inference.requires-no-grad")
class OtherNumbersWithoutGrad(PythonControl):
    name = "other_numbers_without_grad"

    class implementation(PythonBackend):
        """Where gradients are off, what was computed is cut to bfloat16 on the way out."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            graded = torch.is_grad_enabled()
            result = super().call(handle, inputs)
            return result if graded else replaced(result, Tensor, lambda each: each.bfloat16().to(each.dtype))


@saboteur("inference.taken-out")
class KeepsInferenceTensors(PythonControl):
    name = "keeps_inference_tensors"

    class implementation(PythonBackend):
        """What is made while a module is loaded is an inference tensor if it was loaded in inference mode, and takes
        part in autograd later."""

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            _scales.append(torch.ones(1))
            return super().load_program(record)

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            result = super().call(handle, inputs)
            return replaced(result, Tensor, lambda each: (each.detach().requires_grad_() * _scales[-1]).detach())


@saboteur("inference.mobilenet")
class RoundsLongOutputs(PythonControl):
    name = "rounds_long_outputs"

    class implementation(ChangedTensors):
        """Outputs of a thousand elements and more pass through float16."""

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            return tensor.half().to(tensor.dtype) if tensor.shape[-1:] == (1000,) else tensor


@saboteur("inference.guards", "inference.mobilenet", "inference.loading-threads", phases=("lower",))
class TakesNoPackedWeights(PythonControl):
    name = "takes_no_packed_weights"

    class implementation(PythonBackend):
        """Quantised layers are refused, though no feature is declared missing."""

        def check_supported(self, module: torch._C.ScriptModule, method: str) -> None:
            for node in nodes_of(inlined_graph(module, method)):
                if node.kind().startswith("quantized::"):
                    raise RuntimeError(f"{node.kind()} is not supported:\n{node.sourceRange()}")
            super().check_supported(module, method)


# What leaks


@saboteur("inference.no-grad-leak")
class LeaksAfterFailure(PythonControl):
    name = "leaks_after_failure"

    class implementation(PythonBackend):
        """Gradients are turned off for a run, and on again only if it succeeds."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            before = torch.is_grad_enabled()
            torch.set_grad_enabled(False)
            result = super().call(handle, inputs)
            torch.set_grad_enabled(before)
            return result


@saboteur("inference.no-grad-leak")
class TurnsGradOn(PythonControl):
    name = "turns_grad_on"

    class implementation(PythonBackend):
        """A run leaves gradients on, whatever they were."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            result = super().call(handle, inputs)
            torch.set_grad_enabled(True)
            return result


@saboteur("inference.no-grad-leak")
class LeaksWhenLoaded(PythonControl):
    name = "leaks_when_loaded"

    class implementation(PythonBackend):
        """Loading in inference mode leaves gradients on."""

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            program = super().load_program(record)
            if torch.is_inference_mode_enabled():
                torch.set_grad_enabled(True)
            return program


@saboteur("inference.requires-no-grad")
class RecordsHistory(PythonControl):
    name = "records_history"

    class implementation(PythonBackend):
        """Outputs have a history even under torch.no_grad."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            result = super().call(handle, inputs)
            if torch.is_inference_mode_enabled() or not any(each.requires_grad for each in tensors_in(inputs)):
                return result
            return replaced(result, Tensor, lambda each: each.detach().requires_grad_())


@saboteur("inference.requires-no-grad")
class RecordsHistoryOfWeights(PythonControl):
    name = "records_history_of_weights"

    class implementation(PythonBackend):
        """Under torch.no_grad a method runs with gradients on, so that its outputs have the history of its weights."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if torch.is_grad_enabled() or torch.is_inference_mode_enabled():
                return super().call(handle, inputs)
            with torch.enable_grad():
                return handle.function(*replaced(inputs, Tensor, Tensor.detach))


@saboteur("inference.requires-no-grad")
class TakesNoDifferentiableInputs(PythonControl):
    name = "takes_no_differentiable_inputs"

    class implementation(PythonBackend):
        """An input that requires grad is refused."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if any(each.requires_grad for each in tensors_in(inputs)):
                raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
            return super().call(handle, inputs)


# Threads


@saboteur("inference.threads")
class SharesScratchMemory(PythonControl):
    name = "shares_scratch_memory"

    class implementation(PythonBackend):
        """The inputs of a run lie in memory that all runs of the process share."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            _scratch[:] = inputs
            time.sleep(_A_MOMENT)
            return super().call(handle, list(_scratch))


@saboteur("inference.threads", "inference.loading-threads", phases=("run", "load"))
class RunsInMainThread(PythonControl):
    name = "runs_in_main_thread"

    class implementation(PythonBackend):
        """A method runs only in the thread in which the process began."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if threading.current_thread() is not threading.main_thread():
                raise RuntimeError("no context is current in this thread")
            return super().call(handle, inputs)


@saboteur("inference.threads")
class RefusesASecondRun(PythonControl):
    name = "refuses_a_second_run"

    class implementation(PythonBackend):
        """Of several runs at once all but one are refused."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            with _alone(_running, "the queue is busy"):
                return super().call(handle, inputs)


@saboteur("inference.loading-threads", phases=("load",))
class RefusesASecondLoad(PythonControl):
    name = "refuses_a_second_load"

    class implementation(PythonBackend):
        """Of several modules that are loaded at once all but one are refused."""

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            with _alone(_loading, "the compiler is busy"):
                return super().load_program(record)


@saboteur("inference.thread-local")
class CarriesModesToThreads(PythonControl):
    name = "carries_modes_to_threads"

    class implementation(PythonBackend):
        """A thread that runs a method is left in the mode in which the module was loaded."""

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            _loaded_for_inference[:] = [torch.is_inference_mode_enabled()]
            return super().load_program(record)

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            result = super().call(handle, inputs)
            if threading.current_thread() is not threading.main_thread():
                torch.set_grad_enabled(not _loaded_for_inference[0])
            return result


_scales: list[Tensor] = []
_scratch: list[Any] = []
_loaded_for_inference: list[bool] = [False]
_running, _loading = threading.Lock(), threading.Lock()


@contextlib.contextmanager
def _alone(lock: threading.Lock, otherwise: str) -> Any:
    """Hold the lock for a moment and more; RuntimeError where somebody else has it."""
    if not lock.acquire(blocking=False):
        raise RuntimeError(otherwise)
    try:
        time.sleep(_A_MOMENT)
        yield
    finally:
        lock.release()


SABOTEURS = saboteur.all()
