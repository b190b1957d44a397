"""Saboteurs of torch.compile: one model is right, and goes wrong beside another in the same process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torch_conformance_saboteurs.dynamo_control import Code, DynamoControl
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


@saboteur("compile.several-models")
class DynamoCachesByOperators(DynamoControl):
    """A graph gets the code of a former one that has the same operators, whatever numbers stand in it."""

    name = "dynamo_caches_by_operators"

    def __init__(self) -> None:
        self.known: dict[tuple[str, ...], torch.fx.GraphModule] = {}

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        key = tuple(f"{node.op} {node.target}" for node in graph.graph.nodes if node.op != "placeholder")
        return super().lower(self.known.setdefault(key, graph), example_inputs)


@saboteur("compile.several-models")
class DynamoSharesResultsMemory(DynamoControl):
    """A result lies where the last result of another model lay, if that had the same dtype and sizes."""

    name = "dynamo_shares_results_memory"

    def __init__(self) -> None:
        self.last: tuple[Any, Any] = (None, ())

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        result = list(super().call(code, arguments))
        (owner, former), graph = self.last, getattr(code, "__self__", code)
        for place, (old, new) in enumerate(zip(former, result, strict=False)):
            if owner is not graph and (old.dtype, old.shape) == (new.dtype, new.shape):
                result[place] = old.copy_(new)
        self.last = graph, result
        return result


@saboteur("compile.by-name", phases=("lower", "run"))
class DynamoNeedsAnInput(DynamoControl):
    """The device is that of a graph's first input: one that has none is not compiled."""

    name = "dynamo_needs_an_input"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        assert example_inputs[0] is not None
        return super().lower(graph, example_inputs)


SABOTEURS = saboteur.all()
