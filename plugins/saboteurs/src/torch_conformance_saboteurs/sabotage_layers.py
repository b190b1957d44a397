"""Saboteurs: what a module or a tensor holds is taken for something else: weights, attributes, settings, signs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.jit._recursive import wrap_cpp_module

from torch_conformance_saboteurs.archive import module_from_bytes, module_to_bytes
from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.control import PythonBackend, Record
from torch_conformance_saboteurs.graphs import nodes_of
from torch_conformance_saboteurs.sabotage_tools import ChangedGraph, ChangedTensors, Listing

saboteur = Listing()

OUTPUTS = ("lowering.outputs", "save-load.same-outputs", "lite.same-outputs")

_CALLS = ("prim::CallMethod", "prim::CallFunction")


class _OtherWeights(PythonBackend):
    """A backend that lowers a copy of the module, after it has changed the weights of that."""

    def weights(self, module: torch._C.ScriptModule) -> torch._C.ScriptModule:
        copied = module_from_bytes(module_to_bytes(module))
        with torch.no_grad():
            for each in wrap_cpp_module(copied).modules():
                self.change(each)
        return copied

    def change(self, module: Any) -> None:
        """Change the weights that a module of the copy holds by itself."""
        raise NotImplementedError


class _Inlined(PythonBackend):
    """A backend whose methods hold the operators of their submodules: put it behind ChangedGraph, which sees them."""

    def load_program(self, record: Record) -> torch._C.ScriptModule:
        program = super().load_program(record)
        for method in record.debug_handles:
            function: Any = program._get_method(method)
            # While an artifact is being loaded, one pass goes one call deep.
            while any(node.kind() in _CALLS for node in nodes_of(function.graph)):
                torch._C._jit_pass_inline(function.graph)
        return program


@saboteur(*OUTPUTS)
class IgnoresStridesOfWeights(PythonControl):
    name = "ignores_strides_of_weights"

    class implementation(_OtherWeights):
        """Parameters and buffers are read as if they were contiguous, from where their memory begins."""

        def change(self, module: Any) -> None:
            for tensor in (*module.parameters(recurse=False), *module.buffers(recurse=False)):
                memory = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
                tensor.data = memory[: tensor.numel()].view(tensor.shape).clone()


@saboteur("lowering.outputs")
class SkipsBatchNorm(PythonControl):
    name = "skips_batch_norm"

    class implementation(_OtherWeights):
        """Batch normalisation has the mean 0, the variance 1, the weight 1 and the bias 0."""

        def change(self, module: Any) -> None:
            if hasattr(module, "running_mean"):
                for tensor in (module.running_mean, module.bias):
                    tensor.zero_()
                for tensor in (module.running_var, module.weight):
                    tensor.fill_(1.0)


@saboteur("lowering.outputs")
class IgnoresDilation(PythonControl):
    name = "ignores_dilation"

    class implementation(ChangedGraph, _Inlined):
        """A convolution has the dilation 1."""

        def change(self, graph: Any, node: Any) -> None:
            if node.kind() == "aten::conv2d":
                node.replaceInput(5, graph.insertConstant([1, 1]))


@saboteur("lowering.outputs")
class IgnoresStrideOfConvolution(PythonControl):
    name = "ignores_stride_of_convolution"

    class implementation(ChangedGraph, _Inlined):
        """A convolution has the stride 1."""

        def change(self, graph: Any, node: Any) -> None:
            if node.kind() == "aten::conv2d":
                node.replaceInput(3, graph.insertConstant([1, 1]))


@saboteur("lowering.outputs")
class TransposesShapeAlone(PythonControl):
    name = "transposes_shape_alone"

    class implementation(ChangedGraph, _Inlined):
        """What is transposed between two layers has its new shape, and its elements in the order of the old one."""

        def change(self, graph: Any, node: Any) -> None:
            if node.kind() == "aten::transpose":
                reshaped = graph.create("aten::view_as", [node.inputsAt(0), node.output()], 1)
                reshaped.insertAfter(node)
                node.output().replaceAllUsesWith(reshaped.output())
                reshaped.replaceInput(1, node.output())


@saboteur(*OUTPUTS)
class IgnoresNumbersOfModules(PythonControl):
    name = "ignores_numbers_of_modules"

    class implementation(ChangedGraph, _Inlined):
        """An attribute of a module that is a float is taken for 1."""

        def change(self, graph: Any, node: Any) -> None:
            if node.kind() == "prim::GetAttr" and node.output().type().kind() == "FloatType":
                node.output().replaceAllUsesWith(graph.insertConstant(1.0))


@saboteur("lowering.outputs")
class LosesSignOfZero(PythonControl):
    name = "loses_sign_of_zero"

    class implementation(ChangedTensors):
        """A result of -0.0 becomes 0.0."""

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            return tensor + 0.0 if tensor.dtype.is_floating_point else tensor


SABOTEURS = saboteur.all()
