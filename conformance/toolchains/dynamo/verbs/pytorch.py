"""Verbs about PyTorch itself, which a backend leaves as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch._dynamo
from torch._decomp import core_aten_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd.utils import make_boxed_func

from conformance.api.case import case_named
from conformance.compare.values import decode, encode
from conformance.devices import Subject
from conformance.toolchains.dynamo.verbs.session import Session, verb
from conformance.toolchains.pytorch_state import changes_since


@verb
def pytorch_changes(session: Session, imports: list[str]) -> dict[str, Any]:
    """What of PyTorch itself has changed in this process since it began; the modules are imported first."""
    return changes_since(imports)


@verb
def compile_by_others(session: Session, case: str, seed: int) -> tuple[dict[str, str], bytes]:
    """Compile a case's model, in a Dynamo that has forgotten what it knew, by backends that show what they are given:
    the text of each graph, by where it comes from; and all results, encoded."""
    graphs: dict[str, str] = {}
    results = []
    for name, backend in _others(graphs):
        module, samples = case_named(case, "dynamo").build(seed)
        with Subject():
            torch._dynamo.reset()
            compiled: Any = torch.compile(module, backend=backend)
            results += [compiled(*decode(encode(inputs))) for inputs in samples["forward"]]
        graphs.setdefault(name, "no graph")
    torch._dynamo.reset()
    return graphs, encode(results)


def _others(graphs: dict[str, str]) -> list[tuple[str, Any]]:
    """Backends that note the graphs that they are given, and run them as they are."""

    def captured(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Any:
        graphs["Dynamo"] = _text_of(graph)
        return graph.forward

    def decomposed(graph: torch.fx.GraphModule, inputs: Sequence[Any]) -> Any:
        graphs["AOT Autograd"] = _text_of(graph)
        return make_boxed_func(graph.forward)

    make: Any = aot_autograd
    behind = make(fw_compiler=decomposed, decompositions=core_aten_decompositions())
    return [("Dynamo", captured), ("AOT Autograd", behind), ("eager", "eager"), ("aot_eager", "aot_eager")]


def _text_of(graph: torch.fx.GraphModule) -> str:
    """The operators of a graph, what each is given, and the dtype, sizes and strides of what it makes."""
    lines = []
    for node in graph.graph.nodes:
        value = node.meta.get("example_value", node.meta.get("val"))
        made = f"{value.dtype} {list(value.shape)} {value.stride()}" if isinstance(value, torch.Tensor) else ""
        lines.append(f"{node.format_node()} -> {made}")
    return "\n".join(lines)
