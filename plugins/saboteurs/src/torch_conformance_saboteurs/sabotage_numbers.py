"""Saboteurs: wrong numbers, dtypes, shapes and order."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from conformance.api.saboteur import REPORTED
from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.control import Handle, PythonBackend
from torch_conformance_saboteurs.sabotage_tools import ChangedGraph, ChangedTensors, Listing, replaced, tensors_in

saboteur = Listing()

OUTPUTS = ("lowering.outputs", "save-load.same-outputs", "lite.same-outputs")


# Values


@saboteur(*OUTPUTS)
class WrongForLargeTensors(PythonControl):
    name = "wrong_for_large_tensors"

    class implementation(ChangedTensors):
        """The last element of a result of more than 100,000 elements is off by a little."""

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            if tensor.numel() > 100_000:
                tensor.view(-1)[-1] += 1e-3
            return tensor


@saboteur(*OUTPUTS)
class IgnoresStrides(PythonControl):
    name = "ignores_strides"

    class implementation(PythonBackend):
        """Inputs that are not contiguous are read as if they were."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            return super().call(handle, replaced(inputs, Tensor, self._in_memory_order))

        def _in_memory_order(self, tensor: Tensor) -> Tensor:
            if tensor.is_contiguous():
                return tensor
            memory = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())[tensor.storage_offset() :]
            return memory[torch.arange(tensor.numel()) % memory.numel()].view(tensor.shape)


@saboteur(*OUTPUTS)
class LaundersNan(PythonControl):
    name = "launders_nan"

    class implementation(ChangedTensors):
        """NaN in a result becomes 0."""

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            return torch.where(tensor.isnan(), torch.zeros_like(tensor), tensor)


@saboteur(*OUTPUTS)
class ClampsInfinity(PythonControl):
    name = "clamps_infinity"

    class implementation(ChangedTensors):
        """Infinity in a result becomes the largest finite number."""

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            return tensor.nan_to_num(nan=float("nan")) if tensor.dtype.is_floating_point else tensor


@saboteur(*OUTPUTS)
class WrongBroadcasting(PythonControl):
    name = "wrong_broadcasting"

    class implementation(PythonBackend):
        """A dimension of size 1 is broadcast by repeating the whole operand in memory order."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            shapes = {tensor.shape for tensor in inputs if isinstance(tensor, Tensor)}
            if len(shapes) > 1:
                shape = torch.broadcast_shapes(*shapes)
                inputs = replaced(inputs, Tensor, lambda tensor: self._repeated(tensor, shape))
            return super().call(handle, inputs)

        def _repeated(self, tensor: Tensor, shape: torch.Size) -> Tensor:
            return tensor.flatten()[torch.arange(shape.numel()) % tensor.numel()].view(shape)


@saboteur(*OUTPUTS)
class IntegersThroughFloat32(PythonControl):
    name = "integers_through_float32"

    class implementation(PythonBackend):
        """Where every tensor is int64, the method computes in float32."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if {tensor.dtype for tensor in tensors_in(inputs)} != {torch.int64}:
                return super().call(handle, inputs)
            result = super().call(handle, replaced(inputs, Tensor, Tensor.float))
            return replaced(result, Tensor, Tensor.long)


@saboteur(*OUTPUTS)
class SaturatesUnsigned(PythonControl):
    name = "saturates_unsigned"

    class implementation(PythonBackend):
        """Results in uint8 stop at 0 and 255 where they should wrap around."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if {tensor.dtype for tensor in tensors_in(inputs)} != {torch.uint8}:
                return super().call(handle, inputs)
            result = super().call(handle, replaced(inputs, Tensor, Tensor.long))
            return replaced(result, Tensor, lambda tensor: tensor.clamp(0, 255).to(torch.uint8))


@saboteur(*OUTPUTS)
class TruncatesBfloat16(PythonControl):
    name = "truncates_bfloat16"

    class implementation(PythonBackend):
        """Where every tensor is bfloat16, inputs lose their two lowest bits and results are cut, not rounded."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if {tensor.dtype for tensor in tensors_in(inputs)} != {torch.bfloat16}:
                return super().call(handle, inputs)
            result = super().call(handle, replaced(inputs, Tensor, lambda each: self._cut(each.float(), 18)))
            return replaced(result, Tensor, lambda each: self._cut(each, 16).bfloat16())

        def _cut(self, tensor: Tensor, bits: int) -> Tensor:
            return (tensor.view(torch.int32) & -(1 << bits)).view(torch.float32)


@saboteur(*OUTPUTS)
class Conjugates(PythonControl):
    name = "conjugates"

    class implementation(ChangedTensors):
        """A complex result is conjugated."""

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            return tensor.conj().resolve_conj()


@saboteur(*OUTPUTS)
class WrongInOtherMethods(PythonControl):
    name = "wrong_in_other_methods"

    class implementation(ChangedTensors):
        """Every method but forward gives the negative."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            return super().call(handle, inputs) if handle.method != "forward" else handle.function(*inputs)

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            return -tensor


# Dtypes, shapes, strides


@saboteur(*OUTPUTS)
class NarrowsFloat64(PythonControl):
    name = "narrows_float64"

    class implementation(ChangedTensors):
        """Results in float64 come back in float32."""

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            return tensor.float() if tensor.dtype == torch.float64 else tensor


@saboteur(*OUTPUTS)
class Float64ThroughFloat32(PythonControl):
    name = "float64_through_float32"

    class implementation(PythonBackend):
        """Where every tensor is float64, the method computes in float32."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if {tensor.dtype for tensor in tensors_in(inputs)} != {torch.float64}:
                return super().call(handle, inputs)
            result = super().call(handle, replaced(inputs, Tensor, Tensor.float))
            return replaced(result, Tensor, Tensor.double)


@saboteur(*OUTPUTS)
class NarrowsInt64(PythonControl):
    name = "narrows_int64"

    class implementation(ChangedTensors):
        """Results in int64 come back in int32."""

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            return tensor.int() if tensor.dtype == torch.int64 else tensor


@saboteur(*OUTPUTS)
class ZeroDimAsOneElement(PythonControl):
    name = "zero_dim_as_one_element"

    class implementation(ChangedTensors):
        """A zero-dim result comes back with the shape [1]."""

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            return tensor.reshape(1) if tensor.dim() == 0 else tensor


@saboteur(*OUTPUTS)
class FlattensEmpty(PythonControl):
    name = "flattens_empty"

    class implementation(ChangedTensors):
        """An empty result comes back with the shape [0]."""

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            return tensor.flatten() if tensor.numel() == 0 else tensor


@saboteur(*OUTPUTS)
class SqueezesResults(PythonControl):
    name = "squeezes_results"

    class implementation(ChangedTensors):
        """A result loses its first dimension when that is of size 1."""

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            return tensor.squeeze(0) if tensor.dim() else tensor


@saboteur("lowering.layout", verdicts=(REPORTED,))
class TransposedStrides(PythonControl):
    name = "transposed_strides"

    class implementation(ChangedTensors):
        """A result of two dimensions or more has the right values, but its last two dimensions lie transposed."""

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            return tensor.mT.contiguous().mT if tensor.dim() > 1 else tensor


# What methods take and return


@saboteur(*OUTPUTS)
class SwapsOutputs(PythonControl):
    name = "swaps_outputs"

    class implementation(PythonBackend):
        """The last two of several outputs are swapped."""

        def outputs_of(self, handle: Handle, value: Any) -> list[Any]:
            *others, last = super().outputs_of(handle, value)
            return [*others[:-1], last, *others[-1:]]


@saboteur("lowering.outputs", "lowering.output-types", "save-load.same-outputs", "lite.same-outputs")
class NestsSingleTuple(PythonControl):
    name = "nests_single_tuple"

    class implementation(PythonBackend):
        """A tuple of one element is handed over as one output that is a tuple."""

        def outputs_of(self, handle: Handle, value: Any) -> list[Any]:
            return [value] if isinstance(value, tuple) and len(value) == 1 else super().outputs_of(handle, value)


@saboteur("lowering.outputs", "lowering.output-types", "save-load.same-outputs", "lite.same-outputs")
class IntegersAsFloats(PythonControl):
    name = "integers_as_floats"

    class implementation(PythonBackend):
        """An int in the result is handed over as a float."""

        def outputs_of(self, handle: Handle, value: Any) -> list[Any]:
            outputs = value if isinstance(value, tuple) else (value,)
            right = super().outputs_of(handle, value)
            return [float(each) if type(each) is int else same for each, same in zip(outputs, right, strict=True)]


@saboteur(*OUTPUTS)
class ReversesLists(PythonControl):
    name = "reverses_lists"

    class implementation(PythonBackend):
        """A list in the result is reversed."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            return replaced(super().call(handle, inputs), list, lambda items: items[::-1])


@saboteur(*OUTPUTS)
class ReversesDictionaries(PythonControl):
    name = "reverses_dictionaries"

    class implementation(PythonBackend):
        """A dictionary in the result has its values in the reverse order of its keys."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            result = super().call(handle, inputs)
            return replaced(result, dict, lambda each: dict(zip(each, reversed(each.values()), strict=True)))


@saboteur(*OUTPUTS)
class CutsStrings(PythonControl):
    name = "cuts_strings"

    class implementation(PythonBackend):
        """A string in the result is cut to as many bytes as it has characters."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            cut = lambda text: text.encode()[: len(text)].decode(errors="ignore")  # noqa: E731
            return replaced(super().call(handle, inputs), str, cut)


@saboteur(*OUTPUTS)
class RoundsFloats(PythonControl):
    name = "rounds_floats"

    class implementation(PythonBackend):
        """A float in the result has the precision of float16."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            return replaced(super().call(handle, inputs), float, lambda each: torch.tensor(each).half().item())


@saboteur(*OUTPUTS)
class NarrowsIntegers(PythonControl):
    name = "narrows_integers"

    class implementation(PythonBackend):
        """An int in the result has 16 bits."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            return replaced(super().call(handle, inputs), int, lambda each: (each + 2**15) % 2**16 - 2**15)


@saboteur(*OUTPUTS)
class NoneAsZeros(PythonControl):
    name = "none_as_zeros"

    class implementation(PythonBackend):
        """An optional argument that is None is taken for zeros."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            zeros = torch.zeros_like(next(tensors_in(inputs)))
            return super().call(handle, [zeros if each is None else each for each in inputs])


# The graph


@saboteur(*OUTPUTS)
class TakesFirstBranch(PythonControl):
    name = "takes_first_branch"

    class implementation(ChangedGraph):
        """Control flow always takes the first branch."""

        def change(self, graph: Any, node: Any) -> None:
            if node.kind() == "prim::If":
                node.replaceInput(0, graph.insertConstant(True))


@saboteur(*OUTPUTS)
class LoopsOneTimeTooFew(PythonControl):
    name = "loops_one_time_too_few"

    class implementation(ChangedGraph):
        """A loop that counts to a number ends one time too early, unless that number is 1."""

        def change(self, graph: Any, node: Any) -> None:
            # An artifact has a counting loop as one that ends when its counter is no longer less than the number.
            if node.kind() == "aten::lt" and node.inputsAt(1).type().kind() == "IntType":
                fewer = graph.insertNode(graph.create("aten::sub", [node.inputsAt(1), graph.insertConstant(1)], 1))
                fewer.output().setType(torch._C.IntType.get())
                node.replaceInput(1, fewer.output())


@saboteur(*OUTPUTS)
class LosesInPlaceResults(PythonControl):
    name = "loses_in_place_results"

    class implementation(ChangedGraph):
        """An operator that works in place works on a copy."""

        def change(self, graph: Any, node: Any) -> None:
            if node.kind().startswith("aten::") and node.kind().endswith("_") and not node.kind().endswith("__"):
                copy = graph.create("aten::clone", [node.inputsAt(0), graph.insertConstant(None)], 1)
                node.replaceInput(0, graph.insertNode(copy).output())


SABOTEURS = saboteur.all()
