"""Verbs about PyTorch itself, which a backend leaves as it is."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import torch
import torch._dynamo
from torch._decomp import core_aten_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd.utils import make_boxed_func

from conformance.compare.values import decode, encode
from conformance.devices import Subject
from conformance.toolchains.dynamo.verbs.session import Session, verb
from conformance.toolchains.pytorch_state import PyTorchState

#: Modules whose settings are compared, if they are imported, and tables that compilers consult.
_CONFIGURED = ("torch._dynamo.config", "torch._functorch.config", "torch._inductor.config", "torch.compiler.config")
_TABLES = (
    ("torch._decomp", "decomposition_table"),
    ("torch._decomp", "meta_table"),
    ("torch._dynamo.backends.registry", "_COMPILER_FNS"),
    ("torch._inductor.decomposition", "decompositions"),
    ("torch._inductor.lowering", "lowerings"),
    ("torch._inductor.lowering", "fallbacks"),
)


def _settings(modules: Sequence[str] = _CONFIGURED) -> dict[str, str]:
    """The settings of PyTorch's compilers, as far as these are imported."""
    found: dict[str, str] = {}
    for module_name in modules:
        module: Any = sys.modules.get(module_name)
        values = module.get_config_copy() if hasattr(module, "get_config_copy") else {}
        found |= {f"{module_name}.{name}": repr(value) for name, value in values.items()}
    return found


#: Taken before any backend is loaded: in the zygote that devices are forked from, or at the beginning of a script.
_AT_FIRST = PyTorchState(_settings, _TABLES)


@verb
def pytorch_changes(session: Session, imports: list[str]) -> dict[str, Any]:
    """What of PyTorch itself has changed in this process since it began; the modules are imported first."""
    return _AT_FIRST.changes(imports)


@verb
def compile_by_others(session: Session, model: int, calls: Sequence[bytes]) -> tuple[dict[str, str], bytes]:
    """Compile a model, in a Dynamo that has forgotten what it knew, by backends that show what they are given:
    the text of each graph, by where it comes from; and all results, encoded."""
    module = session.get(model).module
    graphs: dict[str, str] = {}
    results = []
    for name, backend in _others(graphs):
        with Subject():
            torch._dynamo.reset()
            compiled: Any = torch.compile(module, backend=backend)
            results += [compiled(*decode(inputs)) for inputs in calls]
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
    return [("Dynamo", captured), ("AOT Autograd", behind), ("aot_eager", "aot_eager")]


def _text_of(graph: torch.fx.GraphModule) -> str:
    """The operators of a graph, what each is given, and the dtype, sizes and strides of what it makes."""
    lines = []
    for node in graph.graph.nodes:
        value = node.meta.get("example_value", node.meta.get("val"))
        made = f"{value.dtype} {list(value.shape)} {value.stride()}" if isinstance(value, torch.Tensor) else ""
        lines.append(f"{node.format_node()} -> {made}")
    return "\n".join(lines)
