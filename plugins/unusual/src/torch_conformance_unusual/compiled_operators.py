"""Backends of torch.compile that compute single operators in unusual ways."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from torch_conformance_unusual.functional import Functional, is_alias, is_plain, shown
from torch_conformance_unusual.operators import in_double, is_pointwise, layout_of, padded, with_strides


class _Padding(torch.fx.Interpreter):
    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if isinstance(target, torch._ops.OpOverload) and is_plain(target):
            return padded(target, args, kwargs)
        return super().call_function(target, args, kwargs)


class Padded(Functional):
    """Elementwise operators and products run on tensors that are padded to multiples of 16, and cut off again."""

    name = "unusual_padding"

    def code(self, graph: torch.fx.GraphModule) -> Callable[..., Sequence[Any]]:
        return lambda *arguments: _Padding(graph).run(*arguments)


class _Wide(torch.fx.Interpreter):
    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if isinstance(target, torch._ops.OpOverload):
            return in_double(target, args, kwargs)
        return super().call_function(target, args, kwargs)


class InDouble(Functional):
    """Each operator computes float32 in float64 and rounds: closer to what is exact than eager PyTorch."""

    name = "unusual_double"

    def code(self, graph: torch.fx.GraphModule) -> Callable[..., Sequence[Any]]:
        return lambda *arguments: _Wide(graph).run(*arguments)


@dataclasses.dataclass(frozen=True)
class _Placed:
    """A tensor in another layout, and the strides that it has in eager PyTorch."""

    tensor: Tensor
    strides: tuple[int, ...]

    def given_back(self) -> Tensor:
        return with_strides(self.tensor, self.strides)


def _placed(value: Any) -> Any:
    """A tensor whose last dimension is the outermost in memory; one with overlaps, or of another kind, as it is."""
    if not isinstance(value, Tensor) or value.dim() < 2 or value.numel() == 0:
        return value
    if value.layout is not torch.strided or value.is_quantized or 0 in value.stride():
        return value
    turned = value.movedim(-1, 0).contiguous().movedim(0, -1)
    return _Placed(turned, value.stride())


def _given_back(value: Any) -> Any:
    return pytree.tree_map(
        lambda each: each.given_back() if isinstance(each, _Placed) else each,
        value,
        is_leaf=lambda each: isinstance(each, _Placed),
    )


def _as_it_lies(value: Any) -> Any:
    return pytree.tree_map(
        lambda each: each.tensor if isinstance(each, _Placed) else each,
        value,
        is_leaf=lambda each: isinstance(each, _Placed),
    )


class _Turning(torch.fx.Interpreter):
    """Results, and what they share memory with, lie as eager's from the beginning."""

    def __init__(self, graph: torch.fx.GraphModule, results: set[torch.fx.Node]) -> None:
        super().__init__(graph)
        self._results = results

    def run_node(self, n: torch.fx.Node) -> Any:
        value = super().run_node(n)
        return _given_back(value) if n in self._results else value

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        return _placed(super().placeholder(target, args, kwargs))

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if is_pointwise(target):
            outline = layout_of(target, *map(_like, (args, kwargs)))
            if outline is not None and len(outline) == 1:
                result = target(*_as_it_lies(args), **_as_it_lies(kwargs))
                return _Placed(result, outline[0].stride()) if result.dim() > 1 and result.numel() else result
        results = super().call_function(target, _given_back(args), _given_back(kwargs))
        # A view stays where it is: whether its memory is shown is known of what it was made of.
        return pytree.tree_map(_placed, results) if is_plain(target) and not is_alias(target) else results

    def call_method(self, target: Any, args: Any, kwargs: Any) -> Any:
        return super().call_method(target, _given_back(args), _given_back(kwargs))

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        return super().call_module(target, _given_back(args), _given_back(kwargs))

    def output(self, target: Any, args: Any, kwargs: Any) -> Any:
        return super().output(target, _given_back(args), kwargs)


def _like(value: Any) -> Any:
    """Arguments without values, laid out as in eager PyTorch."""

    def outline(each: Any) -> Any:
        if isinstance(each, _Placed):
            return torch.empty_strided(each.tensor.shape, each.strides, dtype=each.tensor.dtype, device="meta")
        return each

    return pytree.tree_map(outline, value, is_leaf=lambda each: isinstance(each, _Placed))


class OddLayouts(Functional):
    """Whatever has two dimensions or more lies in memory with its last dimension outermost; results lie as eager's."""

    name = "unusual_layouts"

    def code(self, graph: torch.fx.GraphModule) -> Callable[..., Sequence[Any]]:
        results = shown(graph.graph)
        return lambda *arguments: _Turning(graph, results).run(*arguments)
