"""Finds what the control backend cannot take: other threads, calls into Python, methods that keep state.

The walk knows what cannot change at run time: an attribute of a module that no method writes is a constant.
Without that, every network in evaluation mode would be refused for the training of its batch normalisation.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import torch

from torch_conformance_saboteurs.graphs import inlined_graph

_REFUSED_KINDS = {
    "prim::fork": "it starts another thread of execution",
    "aten::wait": "it waits for another thread of execution",
    "prim::awaitable": "it defers execution",
    "prim::awaitable_wait": "it waits for deferred execution",
    "prim::rpc_sync": "it calls another process",
    "prim::rpc_async": "it calls another process",
    "prim::rpc_remote": "it calls another process",
    "prim::PythonOp": "it calls Python, which an artifact cannot hold",
}
_CONTAINERS = frozenset({"prim::ListConstruct", "prim::TupleConstruct", "prim::DictConstruct"})
_PASSES_ON = frozenset(
    {"prim::ListUnpack", "prim::TupleUnpack", "prim::TupleIndex", "prim::unchecked_cast"}
    | {"aten::__getitem__", "aten::_unwrap_optional", "aten::values", "aten::items", "aten::get"}
)
# These write the buffers in arguments 3 and 4 when argument 5 is true, although their schemas do not say so.
_NORMALISATIONS = frozenset({"aten::batch_norm", "aten::instance_norm"})
_UNKNOWN = object()


class UnsupportedOperator(RuntimeError):
    """An operator that the backend does not take; the text names it and shows the line of the model."""

    def __init__(self, node: Any, reason: str) -> None:
        name = f"{node.kind()} ({node.pyname()})" if node.kind() == "prim::PythonOp" else node.kind()
        super().__init__(f"{name} is not supported by this backend: {reason}.\n{_source_of(node)}")


def check_supported(module: torch._C.ScriptModule, method: str) -> None:
    """Raise :class:`UnsupportedOperator` for the first operator that is refused, calls included."""
    for node, reason in _Walk(module).refused(inlined_graph(module, method)):
        raise UnsupportedOperator(node, reason)


def _source_of(node: torch._C.Node) -> str:
    """The line of the model. PyTorch records none for setting an attribute, but what is assigned has one."""
    source = str(node.sourceRange())
    if not source.strip() and node.kind() == "prim::SetAttr":
        source = str(node.inputsAt(1).node().sourceRange())
    return f"Source code:\n{source}"


class _Walk:
    """A pass over a graph that follows the attributes of ``self`` through views, branches and containers."""

    def __init__(self, module: torch._C.ScriptModule) -> None:
        self._module = module
        self._known: dict[str, Any] = {}
        self._state: set[str] = set()  # values that are, or share memory with, an attribute
        self._holders: set[str] = set()  # containers made here that hold such values

    def refused(self, graph: torch._C.Graph) -> Iterator[tuple[torch._C.Node, str]]:
        self._known[next(iter(graph.inputs())).debugName()] = self._module
        yield from self._block(graph)

    def _block(self, block: Any) -> Iterator[tuple[torch._C.Node, str]]:
        for node in block.nodes():
            kind = node.kind()
            if kind in _REFUSED_KINDS:
                yield node, _REFUSED_KINDS[kind]
            elif kind == "prim::If":
                yield from self._branch(node)
            elif kind == "prim::Loop":
                yield from self._loop(node)
            elif kind == "prim::GetAttr":
                self._get_attribute(node)
            elif kind == "prim::SetAttr":
                target = node.inputsAt(0).debugName()
                if target in self._state or isinstance(self._value(target), torch._C.ScriptModule):
                    yield node, f"the method writes the attribute {node.s('name')!r} of its module"
            else:
                yield from self._operator(node)

    def _value(self, name: str) -> Any:
        return self._known.get(name, _UNKNOWN)

    def _flow(self, source: Any, target: Any) -> None:
        """Let ``target`` be a further name of ``source``."""
        for names in (self._state, self._holders):
            if source.debugName() in names:
                names.add(target.debugName())

    def _branch(self, node: torch._C.Node) -> Iterator[tuple[torch._C.Node, str]]:
        condition = self._value(node.inputsAt(0).debugName())
        blocks = list(node.blocks())
        taken = blocks if condition is _UNKNOWN else [blocks[0] if condition else blocks[1]]
        for block in taken:
            yield from self._block(block)
            for source, target in zip(block.outputs(), node.outputs(), strict=True):
                self._flow(source, target)
                if len(taken) == 1 and source.debugName() in self._known:
                    self._known[target.debugName()] = self._known[source.debugName()]

    def _loop(self, node: torch._C.Node) -> Iterator[tuple[torch._C.Node, str]]:
        # The node takes a trip count, a condition and values; its block takes an index and values, and gives
        # a condition and values.
        (block,) = node.blocks()
        before, inside = list(node.inputs())[2:], list(block.inputs())[1:]
        for source, target in zip(before, inside, strict=True):
            self._flow(source, target)
        yield from self._block(block)
        for source, target, after in zip(list(block.outputs())[1:], inside, node.outputs(), strict=True):
            self._flow(source, target)
            self._flow(target, after)
        yield from self._block(block)  # once more, with what the first turn hands to the second

    def _get_attribute(self, node: torch._C.Node) -> None:
        owner = node.inputsAt(0).debugName()
        output, name = node.output(), node.s("name")
        module = self._value(owner)
        if isinstance(module, torch._C.ScriptModule):
            submodules = dict(torch._C.ModuleDict(module).items())
            attributes: Any = module
            value = submodules[name] if name in submodules else attributes.getattr(name)
            self._known[output.debugName()] = value
            if not (value is None or isinstance(value, bool | int | float | str | torch._C.ScriptModule)):
                self._state.add(output.debugName())
        elif owner in self._state:
            self._state.add(output.debugName())

    def _operator(self, node: torch._C.Node) -> Iterator[tuple[torch._C.Node, str]]:
        kind = node.kind()
        inputs, outputs = list(node.inputs()), list(node.outputs())
        self._evaluate(node, kind, [self._value(value.debugName()) for value in inputs])
        state = [value.debugName() in self._state for value in inputs]
        holders = [value.debugName() in self._holders for value in inputs]
        if not any(state) and not any(holders):
            return
        if kind in _CONTAINERS:
            self._holders.update(value.debugName() for value in outputs)
            return
        if kind in _PASSES_ON:
            self._state.update(value.debugName() for value in outputs)
            return
        if kind in _NORMALISATIONS and any(state[3:5]) and self._value(inputs[5].debugName()) is not False:
            yield node, "in training it writes the running statistics of its module"
        schema = _schema(node.schema())
        if schema is None:
            return
        for argument, value, is_state in zip(schema.arguments, inputs, state, strict=False):
            alias = argument.alias_info
            if alias is None:
                continue
            if alias.is_write and is_state:
                yield node, "it changes an attribute of its module in place"
            for result, output in zip(schema.returns, outputs, strict=False):
                if result.alias_info is not None and _overlap(alias.before_set, result.alias_info.before_set):
                    self._flow(value, output)
        if any(state) and kind in ("aten::append", "aten::insert", "aten::_set_item"):
            self._holders.add(inputs[0].debugName())

    def _evaluate(self, node: torch._C.Node, kind: str, values: list[Any]) -> None:
        """Compute the few operators that conditions on the configuration of a module are made of."""
        result: Any
        if kind == "prim::Constant":
            result = node.output().toIValue()
            if not (result is None or isinstance(result, bool | int | float | str)):
                return
        elif not values or any(value is _UNKNOWN for value in values):
            return
        elif kind == "aten::__not__":
            result = not values[0]
        elif kind == "aten::__is__":
            result = values[0] is values[1]
        elif kind == "aten::__isnot__":
            result = values[0] is not values[1]
        elif kind == "aten::eq":
            result = values[0] == values[1]
        elif kind == "aten::ne":
            result = values[0] != values[1]
        elif kind == "prim::unchecked_cast":
            result = values[0]
        else:
            return
        self._known[node.output().debugName()] = result


def _overlap(first: set[str], second: set[str]) -> bool:
    return bool(first & second) or any(name.endswith("*") for name in second)


@functools.lru_cache(maxsize=1024)
def _schema(text: str) -> torch._C.FunctionSchema | None:
    """The schema of a node; None for the nodes that have none."""
    return None if text == "(no schema)" else torch._C.parse_schema(text)
