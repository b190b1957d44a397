"""Saboteurs of torch.compile: one operator. The operator table shows just this."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torch_conformance_saboteurs.dynamo_control import Code, DynamoControl
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


SABOTEURS = saboteur.all()
