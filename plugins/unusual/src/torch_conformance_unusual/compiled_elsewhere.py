"""Backends of torch.compile that compute with other tensors, in another place, or at another time."""

from __future__ import annotations

import collections
import copy
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from torch_conformance_unusual.elsewhere import bytes_of, in_a_process, in_a_thread
from torch_conformance_unusual.functional import Functional, is_alias, is_plain, shown

#: Not so many calls, and not so many sizes, are remembered that a backend would grow without an end.
REMEMBERED = 4


class Copied(Functional):
    """Every argument is cloned before it is used."""

    name = "unusual_copies"

    def code(self, graph: torch.fx.GraphModule) -> Callable[..., Sequence[Any]]:
        return lambda *arguments: graph.forward(*map(cloned, arguments))


class Threaded(Functional):
    """Each call is computed by a thread of its own, in the modes of the caller."""

    name = "unusual_thread"

    def code(self, graph: torch.fx.GraphModule) -> Callable[..., Sequence[Any]]:
        return lambda *arguments: in_a_thread(lambda: graph.forward(*arguments))


class Forked(Functional):
    """Each call is computed by a process of its own, which sends the results back."""

    name = "unusual_process"

    def code(self, graph: torch.fx.GraphModule) -> Callable[..., Sequence[Any]]:
        return lambda *arguments: in_a_process(lambda: tuple(map(_detached, graph.forward(*arguments))))


class Remembering(Functional):
    """Where a call has bit by bit the arguments of one of the last ones, it gets copies of their results."""

    name = "unusual_memo"

    def code(self, graph: torch.fx.GraphModule) -> Callable[..., Sequence[Any]]:
        computing = [node for node in graph.graph.nodes if node.op in ("call_function", "call_module", "call_method")]
        plain = all(is_plain(node.target) or node.target is operator.getitem for node in computing)
        if not plain or any(is_alias(node.target) for node in shown(graph.graph)):
            return graph.forward
        last: collections.deque[tuple[list[Any], list[Any]]] = collections.deque(maxlen=REMEMBERED)

        def call(*arguments: Any) -> Any:
            for known, results in list(last):
                if all(map(same, known, arguments)):
                    return _all_cloned(results)
            results = graph.forward(*arguments)
            last.append((list(map(cloned, arguments)), _all_cloned(results)))
            return results

        return call


class SpecialisedBySizes(Functional):
    """Each set of sizes, strides and numbers has code of its own, in which symbolic sizes are constants."""

    name = "unusual_sizes"

    def code(self, graph: torch.fx.GraphModule) -> Callable[..., Sequence[Any]]:
        made: collections.OrderedDict[Any, torch.fx.GraphModule] = collections.OrderedDict()

        def call(*arguments: Any) -> Any:
            key = tuple(map(_signature, arguments))
            special = made.get(key)
            if special is None:
                special = made[key] = _with_numbers(graph, arguments)
                while len(made) > REMEMBERED:
                    made.popitem(last=False)
            return special(*arguments)

        return call


def cloned(value: Any) -> Any:
    """A copy of a tensor with the same strides, as far from the beginning of its memory; anything else as it is.

    Where sizes are dynamic, AOT Autograd makes a result that is a view of an argument anew from the argument, at the
    place in memory where the backend's result lies in its own (``gen_alias_from_base``).
    """
    if not isinstance(value, Tensor):
        return value
    copied = value.detach().clone(memory_format=torch.preserve_format)
    offset = value.storage_offset() if value.layout is torch.strided else 0
    if value.layout is not torch.strided or (copied.stride() == value.stride() and not offset):
        return copied
    overlaps = any(stride == 0 and size > 1 for size, stride in zip(value.shape, value.stride(), strict=True))
    strides = copied.stride() if overlaps else value.stride()
    extent = 1 + sum((size - 1) * stride for size, stride in zip(value.shape, strides, strict=True))
    memory = torch.empty(offset + max(extent, 0), dtype=value.dtype)
    return memory.as_strided(value.shape, strides, offset).copy_(value.detach())


def _all_cloned(values: Sequence[Any]) -> list[Any]:
    """Copies of tensors; what is there twice is one tensor in the copies, too."""
    copies = {id(each): cloned(each) for each in values}
    return [copies[id(each)] for each in values]


def same(one: Any, other: Any) -> bool:
    """Whether two arguments of a graph are the same in every bit."""
    if not isinstance(one, Tensor) or not isinstance(other, Tensor):
        return type(one) is type(other) and bool(one == other)
    if (one.dtype, one.shape, one.stride(), one.layout) != (other.dtype, other.shape, other.stride(), other.layout):
        return False
    return one.layout is torch.strided and not one.is_quantized and torch.equal(bytes_of(one), bytes_of(other))


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


def _signature(value: Any) -> Any:
    if isinstance(value, Tensor):
        strides = value.stride() if value.layout is torch.strided else None
        return value.dtype, value.layout, tuple(value.shape), strides, value.requires_grad
    return type(value), value


def _with_numbers(graph: torch.fx.GraphModule, arguments: Sequence[Any]) -> torch.fx.GraphModule:
    """A copy of a graph with the numbers among its arguments, and what is computed of them alone, as constants."""
    special = torch.fx.GraphModule(graph, copy.deepcopy(graph.graph))
    inputs = special.graph.find_nodes(op="placeholder")
    known: dict[torch.fx.Node, Any] = {
        node: value for node, value in zip(inputs, arguments, strict=True) if isinstance(value, int | float | bool)
    }

    def number(node: torch.fx.Node) -> Any:
        return known.get(node, node)

    for node in special.graph.nodes:
        if node.op == "placeholder":
            continue
        of_numbers = bool(node.all_input_nodes) and all(each in known for each in node.all_input_nodes)
        node.args, node.kwargs = torch.fx.map_arg((node.args, node.kwargs), number)
        if of_numbers and getattr(node.target, "__module__", "") in ("_operator", "math"):
            known[node] = node.target(*node.args, **node.kwargs)
    special.recompile()
    return special
