"""Saboteurs of torch.compile that only generated cells see."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from typing import Any, ClassVar

import torch

from torch_conformance_saboteurs.dynamo_control import Code, DynamoControl
from torch_conformance_saboteurs.sabotage_tools import Listing, replaced

saboteur = Listing()
_FUNCTIONS = (
    "ceil", "trunc", "round", "sin", "cos", "tan", "atan", "sinh", "cosh", "asinh", "erf", "erfc", "expm1", "log1p",
    "log2", "log10", "exp2", "frac", "reciprocal", "rsqrt",
)  # fmt: skip


def _calls(node: torch.fx.Node, name: str) -> bool:
    """Whether a node calls an operator, as a function or as a method."""
    return node.target in (name, getattr(torch, name))


@saboteur("compile.generated.programs")
class DynamoRoundsDown(DynamoControl):
    """Functions of one number that no case has, such as torch.ceil, are computed as torch.floor."""

    name = "dynamo_rounds_down"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        for node in graph.graph.nodes:
            if any(_calls(node, name) for name in _FUNCTIONS):
                node.target = "floor" if node.op == "call_method" else torch.floor
        graph.recompile()
        return super().lower(graph, example_inputs)


@saboteur("compile.generated.programs", verdicts=("CRASH",))
class DynamoDiesOfReciprocals(DynamoControl):
    """A graph with torch.reciprocal ends the process that compiles it."""

    name = "dynamo_dies_of_reciprocals"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        if any(_calls(node, "reciprocal") for node in graph.graph.nodes):
            os.abort()
        return super().lower(graph, example_inputs)


@saboteur("compile.generated.scenarios")
class DynamoThreeSlots(DynamoControl):
    """There is room for three graphs; one that is compiled while there are three computes one too much."""

    name = "dynamo_three_slots"
    _slots: ClassVar[weakref.WeakSet[torch.fx.GraphModule]] = weakref.WeakSet()

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        is_beyond = len(self._slots) >= 3
        self._slots.add(graph)
        code = super().lower(graph, example_inputs)
        return (lambda *arguments: replaced(code(*arguments), torch.Tensor, _one_more)) if is_beyond else code


def _one_more(tensor: torch.Tensor) -> torch.Tensor:
    return tensor + 1 if tensor.is_floating_point() else tensor


SABOTEURS = saboteur.all()
