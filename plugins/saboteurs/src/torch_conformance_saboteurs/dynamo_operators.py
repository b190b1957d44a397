"""Saboteurs of torch.compile: one operator, one mode, one size, on which operators that are drawn meet them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torch_conformance_saboteurs.dynamo_control import Code, DynamoControl, changed, tensors
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


@saboteur("compile.outputs", "export.same-outputs")
class DynamoImpreciseTanh(DynamoControl):
    """The hyperbolic tangent is computed at a place five hundredths too far out."""

    name = "dynamo_imprecise_tanh"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        for node in graph.graph.nodes:
            if node.target in (torch.tanh, torch.ops.aten.tanh.default):
                with graph.graph.inserting_before(node):
                    node.args = (graph.graph.call_function(torch.mul, (node.args[0], 1.05)),)
        graph.recompile()
        return super().lower(graph, example_inputs)


@saboteur("compile.operators.correct")
class DynamoRoundsInInference(DynamoControl):
    """Under inference mode float32 results have the precision of bfloat16."""

    name = "dynamo_rounds_in_inference"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        result = super().call(code, arguments)
        return changed(result, _rounded) if torch.is_inference_mode_enabled() else result


def _rounded(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.bfloat16().float() if tensor.dtype == torch.float32 else tensor


@saboteur("compile.operators.correct")
class DynamoFailsWithoutElements(DynamoControl):
    """Tensors without elements are an error of the run, in a graph of whatever operator."""

    name = "dynamo_fails_without_elements"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        if any(each.numel() == 0 for each in tensors(arguments)):
            raise RuntimeError("an allocation of 0 bytes")
        return super().call(code, arguments)


@saboteur("modes.seeds")
class DynamoComputesOnceWhatLooksAlike(DynamoControl):
    """Calls that look alike are made once, also where each would draw random numbers of its own. Results that the model
    returns are left alone: none may come to share memory."""

    name = "dynamo_computes_once_what_looks_alike"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        first: dict[str, torch.fx.Node] = {}
        returned = set(graph.graph.output_node().all_input_nodes)
        for node in list(graph.graph.nodes):
            if node.target is torch.nn.functional.dropout and node not in returned:
                alike = first.setdefault(f"{node.args} {node.kwargs}", node)
                if alike is not node:
                    node.replace_all_uses_with(alike)
                    graph.graph.erase_node(node)
        graph.recompile()
        return super().lower(graph, example_inputs)


SABOTEURS = saboteur.all()
