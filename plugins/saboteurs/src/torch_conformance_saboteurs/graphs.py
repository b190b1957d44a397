"""Walking a method's graph, and naming places in it as TorchScript's tracebacks do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch

#: Where an operator stands: the calls that lead to it, outermost first, and the operator itself.
Place = tuple[str, ...]

_FRAME = re.compile(r'^ *File "(?P<file>[^"]*)", line (?P<line>\d+)', re.MULTILINE)
_MARK = " <--- HERE"


def inlined_graph(module: torch._C.ScriptModule, method: str) -> torch._C.Graph:
    """The graph of a method with everything that it calls in it."""
    function: Any = module._get_method(method)
    graph: torch._C.Graph = function.inlined_graph
    return graph


def nodes_of(block: torch._C.Graph | torch._C.Block) -> Iterator[torch._C.Node]:
    """Every node: a node, then the nodes in its blocks, then the next node; the order of debug handles."""
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from nodes_of(inner)


def does_work(node: torch._C.Node) -> bool:
    """Whether the node is an operator, not a constant or an attribute, which serialisation may move."""
    return node.kind() not in ("prim::Constant", "prim::GetAttr")


def operators_of(
    module: torch._C.ScriptModule, method: str, unit: torch._C.CompilationUnit
) -> Iterator[tuple[torch._C.Node, Place]]:
    """The operators of a method and of what it calls, in the order of the inlined graph, each with its place.

    The inlined graph itself does not tell Python by which calls a node came into it.
    """
    yield from _operators_in(module._get_method(method).graph, module, unit, ())


def _operators_in(
    graph: torch._C.Graph, module: torch._C.ScriptModule | None, unit: torch._C.CompilationUnit, calls: Place
) -> Iterator[tuple[torch._C.Node, Place]]:
    modules: dict[str, torch._C.ScriptModule] = {}
    if module is not None:
        modules[next(iter(graph.inputs())).debugName()] = module
    for node in nodes_of(graph):
        kind = node.kind()
        if kind == "prim::GetAttr" and node.inputsAt(0).debugName() in modules:
            submodules = dict(torch._C.ModuleDict(modules[node.inputsAt(0).debugName()]).items())
            if node.s("name") in submodules:
                modules[node.output().debugName()] = submodules[node.s("name")]
        elif kind == "prim::CallMethod" and node.inputsAt(0).debugName() in modules:
            callee = modules[node.inputsAt(0).debugName()]
            inner = callee._get_method(node.s("name")).graph
            yield from _operators_in(inner, callee, unit, (*calls, _place_in(str(node.sourceRange()))))
        elif kind == "prim::CallFunction" and (function := _function_called_by(node, unit)) is not None:
            yield from _operators_in(function.graph, None, unit, (*calls, _place_in(str(node.sourceRange()))))
        elif does_work(node):
            yield node, (*calls, _place_in(str(node.sourceRange())))


def _function_called_by(node: torch._C.Node, unit: torch._C.CompilationUnit) -> Any | None:
    return unit.find_function(node.inputsAt(0).type().annotation_str)


def place_of_failure(text: str) -> Place:
    """Where an operator failed, from the text of TorchScript's exception; empty if that does not say."""
    starts = [match.start() for match in _FRAME.finditer(text)]
    ends = [*starts[1:], len(text)] if starts else []
    return tuple(_place_in(text[start:end]) for start, end in zip(starts, ends, strict=True))


def _place_in(frame: str) -> str:
    """File, line and underlined columns of one frame of a traceback, or of a node's source range."""
    match = _FRAME.match(frame)
    if match is None:
        return ""
    underlined = frame.partition(_MARK)[0].rpartition("\n")[2]
    return f"{match['file']}:{match['line']}:{len(underlined) - len(underlined.lstrip())}:{len(underlined)}"
