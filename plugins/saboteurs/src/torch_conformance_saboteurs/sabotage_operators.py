"""Saboteurs: one operator, or one dtype. The operator table shows just these."""

from __future__ import annotations

import os
from typing import Any

import torch

from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.control import Handle, PythonBackend
from torch_conformance_saboteurs.sabotage_tools import ChangedGraph, Listing, tensors_in

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


SABOTEURS = saboteur.all()
