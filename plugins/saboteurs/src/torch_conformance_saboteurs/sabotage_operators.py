"""Saboteurs: one operator, or one dtype, on which the operator table and the operators that are drawn meet them."""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import Tensor

from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.control import Handle, PythonBackend
from torch_conformance_saboteurs.sabotage_tools import ChangedGraph, ChangedTensors, Listing, tensors_in

saboteur = Listing()


@saboteur("lowering.outputs", "save-load.same-outputs", "lite.same-outputs")
class ImpreciseTanh(PythonControl):
    name = "imprecise_tanh"

    class implementation(ChangedGraph):
        """aten::tanh is computed at a place five hundredths too far out."""

        def change(self, graph: Any, node: Any) -> None:
            if node.kind() == "aten::tanh":
                further = graph.create("aten::mul", [node.inputsAt(0), graph.insertConstant(1.05)], 1)
                node.replaceInput(0, graph.insertNode(further).output())


@saboteur("lowering.outputs", "save-load.same-outputs", "lite.same-outputs", verdicts=("CRASH",))
class DiesOfIntegers(PythonControl):
    name = "dies_of_integers"

    class implementation(PythonBackend):
        """Where every tensor is int64, a run ends the process."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if {tensor.dtype for tensor in tensors_in(inputs)} == {torch.int64}:
                os.abort()
            return super().call(handle, inputs)


@saboteur("operators.correct")
class ConjugatesTables(PythonControl):
    name = "conjugates_tables"

    class implementation(ChangedTensors):
        """Complex results of two dimensions or more are conjugated."""

        def change(self, tensor: Tensor, inputs: list[Any]) -> Tensor:
            return tensor.conj().resolve_conj() if tensor.is_complex() and tensor.dim() > 1 else tensor


@saboteur("operators.correct")
class FailsWithHalves(PythonControl):
    name = "fails_with_halves"

    class implementation(PythonBackend):
        """Half-precision inputs are an error of the run, though nothing is declared missing and nothing was refused."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if any(each.dtype in (torch.float16, torch.bfloat16) for each in tensors_in(inputs)):
                raise RuntimeError("no kernel for this dtype")
            return super().call(handle, inputs)


SABOTEURS = saboteur.all()
