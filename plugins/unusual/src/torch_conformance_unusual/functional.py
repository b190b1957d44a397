"""What most of the torch.compile backends share: AOT Autograd makes functional graphs, which are run in an unusual way.

AOT Autograd sees to aliases, to writes and to gradients, so that whoever runs its graphs may do with them as he likes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch_conformance_saboteurs.dynamo_control import Code, DynamoControl


class Functional(DynamoControl):
    """A subclass overrides :meth:`code`, which is given the forward graph and the backward graph, one by one."""

    name = ""

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        from torch._dynamo.backends.common import aot_autograd

        compiled: Code = aot_autograd(
            fw_compiler=self._compiled,
            bw_compiler=self._compiled,
            inference_compiler=self._compiled,
            decompositions=self.decompositions(),
        )(graph, example_inputs)
        return compiled

    def decompositions(self) -> dict[Any, Callable[..., Any]]:
        """What operators are replaced by while AOT Autograd traces."""
        return {}

    def code(self, graph: torch.fx.GraphModule) -> Callable[..., Sequence[Any]]:
        """What computes a functional graph: given its arguments, it returns a sequence of its results."""
        raise NotImplementedError

    def _compiled(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Any:
        places = {node: place for place, node in enumerate(graph.graph.find_nodes(op="placeholder"))}
        returned = [places.get(each) for each in results_of(graph.graph)]
        code = self.code(graph)

        def run(arguments: list[Any]) -> list[Any]:
            given = list(arguments)
            arguments.clear()  # so that nobody holds on to what the caller gave up
            results = code(*given)
            # An argument that is returned is that very tensor: Autograd looks at its version.
            return [result if place is None else given[place] for result, place in zip(results, returned, strict=True)]

        run._boxed_call = True  # type: ignore[attr-defined]
        return run


def results_of(graph: torch.fx.Graph) -> list[Any]:
    """What a graph returns, one by one: nodes, or what is no node's value."""
    results: Any = graph.output_node().args[0]
    return list(results)


def shown(graph: torch.fx.Graph) -> set[torch.fx.Node]:
    """The nodes whose values a graph returns, and those in whose memory these lie."""
    found = {each for each in results_of(graph) if isinstance(each, torch.fx.Node)}
    for node in reversed(graph.nodes):
        if (node in found and is_alias(node.target)) or (node in found and node.target is operator.getitem):
            found.update(node.all_input_nodes)
    return found


def is_random(target: Any) -> bool:
    """Whether an operator of a graph draws random numbers."""
    return isinstance(target, torch._ops.OpOverload) and torch.Tag.nondeterministic_seeded in target.tags


def is_plain(target: Any) -> bool:
    """Whether an operator of a graph is one of PyTorch's that only computes: it writes nothing and draws nothing."""
    return (
        isinstance(target, torch._ops.OpOverload)
        and target.namespace in ("aten", "prims")
        and not target._schema.is_mutable
        and not is_random(target)
    )


def is_alias(target: Any) -> bool:
    """Whether the results of an operator share memory with its arguments."""
    return isinstance(target, torch._ops.OpOverload) and any(each.alias_info for each in target._schema.returns)
