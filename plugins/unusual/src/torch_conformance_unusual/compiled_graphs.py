"""Backends of torch.compile that compute a graph's nodes in another order, once for several, or before it is called."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from torch_conformance_unusual.compiled_elsewhere import cloned
from torch_conformance_unusual.functional import Functional, is_alias, is_plain, shown

Graph = torch.fx.Graph


def _made_of(graph: torch.fx.GraphModule, changed: Graph) -> Callable[..., Sequence[Any]]:
    changed.lint()
    made = torch.fx.GraphModule(graph, changed)
    return made.forward


class Reordered(Functional):
    """Nodes that do not depend on each other run in the order opposite to that of the program."""

    name = "unusual_reordered"

    def code(self, graph: torch.fx.GraphModule) -> Callable[..., Sequence[Any]]:
        changed = copy.deepcopy(graph.graph)
        nodes = [node for node in changed.nodes if node.op not in ("placeholder", "output")]
        waits = {node: set(node.all_input_nodes) & set(nodes) for node in nodes}
        fixed = [node for node in nodes if node.op != "get_attr" and not _may_move(node)]
        for before, after in itertools.pairwise(fixed):
            waits[after].add(before)
        output = changed.output_node()
        while waits:
            chosen = next(node for node in reversed(waits) if not waits[node])
            output.prepend(chosen)
            del waits[chosen]
            for others in waits.values():
                others.discard(chosen)
        return _made_of(graph, changed)


def _may_move(node: torch.fx.Node) -> bool:
    return is_plain(node.target) or getattr(node.target, "__module__", "") == "_operator"


class Folded(Functional):
    """What depends on no argument is computed once, when the graph is lowered, and copied at each call."""

    name = "unusual_folded"

    def code(self, graph: torch.fx.GraphModule) -> Callable[..., Sequence[Any]]:
        changed = copy.deepcopy(graph.graph)
        constant: dict[torch.fx.Node, Any] = {}
        for node in list(changed.nodes):
            if node.op != "call_function" or not is_plain(node.target) or is_alias(node.target):
                continue
            if "empty" in str(node.target) or not all(each in constant for each in node.all_input_nodes):
                continue
            values = torch.fx.map_arg((node.args, node.kwargs), constant.__getitem__)
            with torch._C._DisableTorchDispatch(), torch._subclasses.fake_tensor.unset_fake_temporarily():
                constant[node] = node.target(*values[0], **values[1])
        made = torch.fx.GraphModule(graph, changed)
        for index, (node, value) in enumerate(constant.items()):
            if not isinstance(value, torch.Tensor):
                continue
            name = f"_folded_{index}"
            made.register_buffer(name, value, persistent=False)
            with changed.inserting_before(node):
                kept = changed.call_function(cloned, (changed.get_attr(name),))
            node.replace_all_uses_with(kept)
        changed.eliminate_dead_code(lambda node: node.op == "placeholder" or not _may_move(node))
        made.recompile()
        return made.forward


class Shared(Functional):
    """What is computed twice of the same values is computed once, and what nobody uses is not computed."""

    name = "unusual_shared"

    def code(self, graph: torch.fx.GraphModule) -> Callable[..., Sequence[Any]]:
        changed = copy.deepcopy(graph.graph)
        results = shown(changed)
        known: dict[Any, torch.fx.Node] = {}
        for node in list(changed.nodes):
            if node.op != "call_function" or not is_plain(node.target) or is_alias(node.target) or node in results:
                continue  # a result is a tensor of its own
            key = (node.target, repr(node.args), repr(sorted(node.kwargs.items())))
            first = known.setdefault(key, node)
            if first is not node:
                node.replace_all_uses_with(first)
                changed.erase_node(node)
        changed.eliminate_dead_code(lambda node: node.op == "placeholder" or not _may_move(node))
        return _made_of(graph, changed)
