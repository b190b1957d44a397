"""Mutants of ``torch.compile``: the conforming backend, with what a specification says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from torch_conformance_saboteurs.dynamo_control import Code, DynamoControl
from torch_conformance_saboteurs.mutants.effects import CHANGES, exchanged
from torch_conformance_saboteurs.mutants.engine import Mutant, spec_of_environment
from torch_conformance_saboteurs.mutants.history import Lowered


class _DynamoMutant(Mutant):
    """A mutant that knows the sizes of a graph's results before there are any."""

    def zeros(self, lowered: Lowered) -> Any:
        results = getattr(lowered, "results", ())
        return tuple(
            torch.zeros([int(size) for size in each.shape], dtype=each.dtype) if isinstance(each, Tensor) else each
            for each in results
        )


class DynamoMutant(DynamoControl):
    """Which mutant it is stands in the environment; without one it is the control."""

    name = "dynamo_mutant"

    def __init__(self) -> None:
        self._mutant: Mutant | None = None

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        """The code for a graph, with what is wrong with it."""
        if self._mutant is None:
            self._mutant = _DynamoMutant(spec_of_environment())
        mutant = self._mutant
        lowered = Lowered(_kernels(graph))
        lowered.results = _results(graph)  # type: ignore[attr-defined]
        is_weight = [_is_weight(node) for node in graph.graph.nodes if node.op == "placeholder"]
        inputs = [each for each, weight in zip(example_inputs, is_weight, strict=False) if not weight]
        if mutant.lowering(lowered, inputs, graph) and change_constant(graph):
            mutant.fire()

        def code(*arguments: Any) -> Any:
            pairs = zip(arguments, is_weight, strict=False)
            weights = [each for each, weight in pairs if weight and isinstance(each, Tensor)]
            return mutant.run(lowered, graph.forward, arguments, weights)

        mutant.released_with(code, lowered)
        return code


def _kernels(graph: torch.fx.GraphModule) -> list[str]:
    """What a graph calls, by name."""
    return [
        node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
        for node in graph.graph.nodes
        if node.op in ("call_function", "call_method")
    ]


def _is_weight(node: torch.fx.Node) -> bool:
    return "_parameters_" in str(node.target) or "_buffers_" in str(node.target)


def _results(graph: torch.fx.GraphModule) -> list[Any]:
    """What stands for the results of a graph in Dynamo's notes."""
    outputs: Any = graph.graph.output_node().args[0]
    return [each.meta.get("example_value") if isinstance(each, torch.fx.Node) else each for each in outputs]


def change_constant(graph: torch.fx.GraphModule) -> bool:
    """Make the first fractional or whole number that an operator is given another one. False where there is none."""
    for node in graph.graph.nodes:
        if node.op not in ("call_function", "call_method"):
            continue
        for index, argument in enumerate(node.args):
            if index and type(argument) in (int, float):
                node.update_arg(index, argument + 1)
                graph.recompile()
                return True
    return False


__all__ = ["CHANGES", "DynamoMutant", "exchanged"]
