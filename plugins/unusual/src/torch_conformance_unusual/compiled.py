"""Backends of torch.compile that make and call their code in unusual ways."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch_conformance_saboteurs.dynamo_control import Code, DynamoControl

from torch_conformance_unusual.functional import Functional

#: What PyTorch's decompositions do otherwise than eager PyTorch.
_OTHERWISE = (
    # the dtype of what is put in (reports/findings/aot_select_scatter.py)
    torch.ops.aten.select_scatter.default,
    # values that are out of range are not refused (reports/findings/inductor_cross_entropy_range.py)
    torch.ops.aten.binary_cross_entropy.default,
    # zeros where there is no number (reports/findings/inductor_smooth_l1_at_nan.py)
    torch.ops.aten.smooth_l1_loss_backward.default,
    # a limit at minus infinity, where eager PyTorch divides infinities
    torch.ops.aten.soft_margin_loss_backward.default,
)


class Interpreted(DynamoControl):
    """The graph that Dynamo made is interpreted node by node; no code is made of it."""

    name = "unusual_interpreter"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        return lambda *arguments: torch.fx.Interpreter(graph).run(*arguments)


class InterpretedBothWays(Functional):
    """AOT Autograd's graphs for the way forward and the way back are each interpreted node by node."""

    name = "unusual_both_ways"

    def code(self, graph: torch.fx.GraphModule) -> Callable[..., Sequence[Any]]:
        return lambda *arguments: torch.fx.Interpreter(graph).run(*arguments)


class Boxed(Functional):
    """Arguments are taken out of a list one by one, and each value is forgotten after its last use."""

    name = "unusual_boxed"

    def code(self, graph: torch.fx.GraphModule) -> Callable[..., Sequence[Any]]:
        boxed = torch.fx.GraphModule(graph, copy.deepcopy(graph.graph))
        boxed.graph.set_codegen(torch.fx.graph._BoxedCodeGen())
        boxed.recompile()
        return lambda *arguments: boxed.forward(list(arguments))


class Lazy(Functional):
    """The code of a graph is made at the first call, by whichever thread is first."""

    name = "unusual_lazy"

    def code(self, graph: torch.fx.GraphModule) -> Callable[..., Sequence[Any]]:
        made: list[torch.fx.GraphModule] = []
        lock = threading.Lock()

        def call(*arguments: Any) -> Any:
            with lock:
                if not made:
                    made.append(torch.fx.GraphModule(graph, copy.deepcopy(graph.graph)))
            return made[0](*arguments)

        return call


class Recompiled(Functional):
    """The code of a graph is made anew at each call."""

    name = "unusual_recompiler"

    def code(self, graph: torch.fx.GraphModule) -> Callable[..., Sequence[Any]]:
        return lambda *arguments: torch.fx.GraphModule(graph, copy.deepcopy(graph.graph))(*arguments)


class Decomposed(Functional):
    """Operators are decomposed into those of core ATen, which round in other places than eager PyTorch."""

    name = "unusual_decomposed"

    def decompositions(self) -> dict[Any, Callable[..., Any]]:
        from torch._decomp import core_aten_decompositions

        return {
            operator: function
            for operator, function in core_aten_decompositions().items()
            # Else other random numbers would be drawn than eager PyTorch draws.
            if torch.Tag.nondeterministic_seeded not in operator.tags and operator not in _OTHERWISE
        }

    def code(self, graph: torch.fx.GraphModule) -> Callable[..., Sequence[Any]]:
        return graph.forward
