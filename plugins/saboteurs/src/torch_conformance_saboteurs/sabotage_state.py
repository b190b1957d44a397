"""Saboteurs: inputs, outputs and the original are not left as they were."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import TensorWeakRef, WeakTensorKeyDictionary

from conformance.api.saboteur import REPORTED
from torch_conformance_saboteurs import sabotage_leftovers
from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.control import Handle, PythonBackend
from torch_conformance_saboteurs.sabotage_tools import ChangedTensors, Listing, replaced, tensors_in

saboteur = Listing()

WATCHED = ("lowering.inputs-untouched", "lite.inputs-untouched")


# Inputs and outputs


@saboteur(*WATCHED)
class MutatesInput(PythonControl):
    name = "mutates_input"

    class implementation(PythonBackend):
        """The last element of the last tensor among the inputs is set to zero after it was used."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            result = super().call(handle, inputs)
            *_, last = tensors_in(inputs)
            last[..., -1:].zero_()
            return result


@saboteur(*WATCHED)
class RestoresInput(PythonControl):
    name = "restores_input"

    class implementation(PythonBackend):
        """The first tensor among the inputs is used as scratch memory, and has its values back afterwards."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            result = super().call(handle, inputs)
            first = next(tensors_in(inputs))
            if first.is_contiguous():
                kept = first.clone()
                first.zero_().copy_(kept)
            return result


@saboteur(*WATCHED)
class ReturnsInput(PythonControl):
    name = "returns_input"

    class implementation(ChangedTensors):
        """A result is written over the first input of the same dtype and shape, which is returned."""

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            for each in tensors_in(inputs):
                if each.dtype == tensor.dtype and each.shape == tensor.shape and each.is_contiguous():
                    return each.copy_(tensor)
            return tensor


@saboteur(*WATCHED)
class SharesInputStorage(PythonControl):
    name = "shares_input_storage"

    class implementation(ChangedTensors):
        """The first input is moved, and its new memory holds the result as well; no value changes."""

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            first = next(tensors_in(inputs))
            if first.dtype != tensor.dtype or first.shape != tensor.shape or not first.is_contiguous():
                return tensor
            both = torch.stack([first, tensor])
            first.data = both[0]
            return both[1]


@saboteur(*WATCHED)
class ReusesOutputBuffer(PythonControl):
    name = "reuses_output_buffer"

    class implementation(ChangedTensors):
        """Results of the same dtype and shape are written into the same memory at each call."""

        def __init__(self) -> None:
            self.buffers: dict[tuple[torch.dtype, torch.Size], Tensor] = {}

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            self.used: set[tuple[torch.dtype, torch.Size]] = set()
            return super().call(handle, inputs)

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            key = tensor.dtype, tensor.shape
            if key in self.used:  # a second output of one call
                return tensor
            self.used.add(key)
            return self.buffers.setdefault(key, tensor).copy_(tensor)


@saboteur("lowering.inputs-untouched")
class AlternatesOutputBuffers(PythonControl):
    name = "alternates_output_buffers"

    class implementation(ChangedTensors):
        """A method's result lies in one of eight buffers, which are used in turn."""

        def __init__(self) -> None:
            self.buffers: list[Tensor] = []

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            self.buffers.append(tensor)
            if len(self.buffers) > 8:
                oldest = self.buffers.pop(0)
                if oldest.dtype == tensor.dtype and oldest.shape == tensor.shape:
                    self.buffers[-1] = oldest.copy_(tensor)
            return self.buffers[-1]


@saboteur("lowering.inputs-untouched")
class ReusesForgottenMemory(PythonControl):
    name = "reuses_forgotten_memory"

    class implementation(ChangedTensors):
        """The memory of a result is used again once its tensor is gone, be it held by another tensor."""

        def __init__(self) -> None:
            self.memory, self.given = torch.empty(0), TensorWeakRef(torch.empty(0))

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            with torch.inference_mode(False):
                is_free = self.given() is None and (self.memory.shape, self.memory.dtype) == (
                    tensor.shape,
                    tensor.dtype,
                )
                self.memory = self.memory.copy_(tensor) if is_free else tensor.detach().clone()
                given = self.memory.data
                self.given = TensorWeakRef(given)
                return given


@saboteur("lowering.repeatable")
class PacksByVersion(PythonControl):
    name = "packs_by_version"

    class implementation(PythonBackend):
        """An argument is packed once, and again where its version says that it was written to."""

        def __init__(self) -> None:
            self.packs: Any = WeakTensorKeyDictionary()

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            return super().call(handle, [self.packed(each) if isinstance(each, Tensor) else each for each in inputs])

        def packed(self, argument: Tensor) -> Tensor:
            if argument.is_inference():
                return argument
            known: tuple[int, Tensor] | None = self.packs.get(argument)
            if known is None or known[0] != argument._version:
                known = self.packs[argument] = argument._version, argument.detach().clone()
            return known[1]


@saboteur("lowering.requires-grad")
class OutputsRequireGrad(PythonControl):
    name = "outputs_require_grad"

    class implementation(ChangedTensors):
        """Results in floating point require grad, under no_grad and inference mode as well."""

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            with torch.inference_mode(False):
                return tensor.detach().clone().requires_grad_(tensor.dtype.is_floating_point)


# Calls that are remembered


@saboteur("lowering.outputs", "save-load.same-outputs")
class MemoisesFirstResult(PythonControl):
    name = "memoises_first_result"

    class implementation(PythonBackend):
        """Each method returns a copy of its first result for ever."""

        def __init__(self) -> None:
            self.first: dict[str, Any] = {}

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if handle.method not in self.first:
                self.first[handle.method] = super().call(handle, inputs)
            return replaced(self.first[handle.method], Tensor, Tensor.clone)


@saboteur("lowering.repeatable", "lowering.outputs")
class RemembersPreviousCall(PythonControl):
    name = "remembers_previous_call"

    class implementation(ChangedTensors):
        """A float32 result is off by a little when the call before had other values of the same shape."""

        previous: Tensor | None = None

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            first, previous = next(tensors_in(inputs)), self.previous
            self.previous = first.clone()
            other = previous is not None and previous.shape == first.shape and not torch.equal(previous, first)
            return tensor + 1e-2 if other and tensor.dtype == torch.float32 else tensor


@saboteur("lowering.repeatable", verdicts=(REPORTED,))
class OneIn37(PythonControl):
    name = "one_in_37"

    class implementation(ChangedTensors):
        """The result of every 37th call is off by one unit in the last place."""

        calls = 0

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            self.calls += 1
            off = self.calls % 37 == 0 and tensor.dtype == torch.float32
            return torch.nextafter(tensor, torch.tensor(torch.inf)) if off else tensor


# The original


class _ChangesOriginal(PythonControl):
    """A backend that changes the module which it was given to lower, after it has lowered it."""

    def lower(self, module: torch.jit.ScriptModule, method_compile_spec: dict[str, Any]) -> torch.jit.ScriptModule:
        lowered = super().lower(module, method_compile_spec)
        self.change(module)
        return lowered

    def change(self, module: Any) -> None:
        raise NotImplementedError


@saboteur("lowering.original-untouched", phases=("inspect",))
class ChangesOriginalsWeight(_ChangesOriginal):
    """Lowering changes one element of the original's first parameter."""

    name = "changes_originals_weight"

    def change(self, module: Any) -> None:
        for parameter in list(module.parameters())[:1]:
            parameter.data.view(-1)[0] += 1.0


@saboteur("lowering.original-untouched", phases=("inspect",))
class ChangesOriginalsBuffer(_ChangesOriginal):
    """Lowering adds a little to the original's last buffer, which no method may read."""

    name = "changes_originals_buffer"

    def change(self, module: Any) -> None:
        for buffer in list(module.buffers())[-1:]:
            buffer.add_(1)


@saboteur("lowering.original-untouched", phases=("inspect",))
class TrainsOriginal(_ChangesOriginal):
    """Lowering leaves the original in training mode."""

    name = "trains_original"

    def change(self, module: Any) -> None:
        module.train()


@saboteur("lowering.original-untouched", phases=("inspect",))
class TrainsOriginalsChild(_ChangesOriginal):
    """Lowering leaves the last submodule of the original in training mode."""

    name = "trains_originals_child"

    def change(self, module: Any) -> None:
        *_, last = module.modules()
        if last is not module:
            last.train()


@saboteur("lowering.original-untouched", phases=("inspect",))
class FreezesOriginal(_ChangesOriginal):
    """Lowering leaves the original's parameters without requires_grad."""

    name = "freezes_original"

    def change(self, module: Any) -> None:
        for parameter in module.parameters():
            parameter.requires_grad_(False)


@saboteur("lowering.original-untouched", phases=("inspect",))
class AddsMethodToOriginal(_ChangesOriginal):
    """Lowering adds a method to the original."""

    name = "adds_method_to_original"

    def change(self, module: Any) -> None:
        module.define("def is_lowered(self) -> bool:\n    return True\n")


@saboteur("lowering.original-untouched", phases=("inspect",))
class OptimisesOriginal(_ChangesOriginal):
    """Lowering leaves the graph of the original's first method changed: its result is negated."""

    name = "optimises_original"

    def change(self, module: Any) -> None:
        graph = module._c._get_method(module._c._method_names()[0]).graph
        before = next(iter(graph.outputs()))
        if before.type().kind() == "TensorType":
            node = graph.appendNode(graph.create("aten::neg", [before], 1))
            graph.eraseOutput(0)
            graph.registerOutput(node.output())


@saboteur("lowering.original-untouched", phases=("inspect",))
class FoldsOriginalWhenRun(PythonControl):
    """Where the module was lowered, the first run scales the original's parameters in place."""

    name = "folds_original_when_run"

    def lower(self, module: torch.jit.ScriptModule, method_compile_spec: dict[str, Any]) -> torch.jit.ScriptModule:
        _unfolded.extend(module.parameters())
        return super().lower(module, method_compile_spec)

    class implementation(PythonBackend):
        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            while _unfolded:
                _unfolded.pop().data *= 2.0
            return super().call(handle, inputs)


_unfolded: list[Tensor] = []

SABOTEURS = (*saboteur.all(), *sabotage_leftovers.SABOTEURS)
