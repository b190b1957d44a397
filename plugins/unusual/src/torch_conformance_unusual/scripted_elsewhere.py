"""TorchScript backends that compute with other tensors, or in another place."""

from __future__ import annotations

import threading
from typing import Any

import torch
from torch import Tensor
from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.control import Handle, PythonBackend
from torch_conformance_saboteurs.sabotage_tools import replaced, tensors_in

from torch_conformance_unusual.elsewhere import bytes_of, in_a_process, in_a_thread


class _Twins:
    """Copies of tensors that share memory with each other exactly where these do."""

    def __init__(self) -> None:
        self._copies: dict[int, tuple[Tensor, Tensor]] = {}

    def twin(self, tensor: Tensor) -> Tensor:
        """The copy of a tensor."""
        if tensor.layout is not torch.strided or tensor.is_quantized:
            return tensor.clone()
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in self._copies:
            original = torch.empty(0, dtype=torch.uint8).set_(storage)
            self._copies[storage.data_ptr()] = original, original.clone()
        memory = self._copies[storage.data_ptr()][1].untyped_storage()
        return _over(memory, tensor)

    def write_back(self) -> None:
        """Give the originals what was written to the copies."""
        for original, copied in self._copies.values():
            if not torch.equal(original, copied):
                original.copy_(copied)

    def original(self, tensor: Tensor) -> Tensor:
        """What is to a tensor as the originals are to their copies; the tensor itself if it shares no memory."""
        if tensor.layout is torch.strided and not tensor.is_quantized:
            for original, copied in self._copies.values():
                if copied.numel() and copied.data_ptr() == tensor.untyped_storage().data_ptr():
                    return _over(original.untyped_storage(), tensor)
        return tensor


def _over(memory: Any, like: Tensor) -> Tensor:
    """A tensor over some memory, where another one is in its own."""
    made = torch.empty(0, dtype=like.dtype).set_(memory, like.storage_offset(), like.shape, like.stride())
    made = made.conj() if like.is_conj() else made
    return torch._neg_view(made) if like.is_neg() else made


class ScriptCopied(PythonControl):
    """The inputs are copied before they are used; what is written to the copies is written back."""

    name = "unusual_script_copies"

    class implementation(PythonBackend):
        """Copies share memory where inputs do."""

        format = "unusual-copies/1"

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            twins = _Twins()
            with torch.no_grad():
                copies = replaced(inputs, Tensor, twins.twin)
                result = super().call(handle, copies)
                twins.write_back()
                return replaced(result, Tensor, twins.original)


class ScriptThreaded(PythonControl):
    """Each call is computed by a thread of its own, in the modes of the caller."""

    name = "unusual_script_thread"

    class implementation(PythonBackend):
        """The thread ends with the call."""

        format = "unusual-thread/1"

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            inherited = super().call
            return in_a_thread(lambda: inherited(handle, inputs))


_forking = threading.Lock()


class ScriptForked(PythonControl):
    """Each call is computed by a process of its own, which sends back the results, and what became of the inputs."""

    name = "unusual_script_process"

    class implementation(PythonBackend):
        """One process at a time is started."""

        format = "unusual-process/1"

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            inherited = super().call
            with _forking:
                result, after = in_a_process(lambda: (inherited(handle, inputs), inputs))
            with torch.no_grad():
                originals: dict[int, Tensor] = {}
                for old, new in zip(tensors_in(inputs), tensors_in(after), strict=True):
                    if new.numel() and new.layout is torch.strided:
                        originals[new.untyped_storage().data_ptr()] = old
                    if not _same(old, new):
                        old.copy_(new)
            return replaced(result, Tensor, lambda each: _of_the_caller(each, originals))


def _same(one: Tensor, other: Tensor) -> bool:
    if one.layout is not torch.strided or one.is_quantized or one.numel() == 0:
        return True
    return torch.equal(bytes_of(one), bytes_of(other))


def _of_the_caller(tensor: Tensor, originals: dict[int, Tensor]) -> Tensor:
    """A result that lies in the memory of an input, in that of the caller's."""
    if tensor.layout is not torch.strided or tensor.untyped_storage().data_ptr() not in originals:
        return tensor
    old = originals[tensor.untyped_storage().data_ptr()]
    return _over(old.untyped_storage(), tensor) if tensor.numel() else tensor
