"""TorchScript backends that interpret a program's graph node by node, from Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch_conformance_saboteurs.archive import module_from_bytes
from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.bridge import opaque
from torch_conformance_saboteurs.control import ExecutionError, Handle, PythonBackend, Record
from torch_conformance_saboteurs.graphs import does_work, inlined_graph, nodes_of, operators_of

from torch_conformance_unusual.operators import in_double, padded

_core: Any = torch._C


class NodeError(Exception):
    """An operator failed; ``place`` is where it stands in the program."""

    def __init__(self, error: Exception, node: Any, place: str) -> None:
        super().__init__(f"{error}\n{node.kind()} failed here:\n{node.sourceRange()}")
        self.place = place


#: What changes a list or a dictionary: Python's own are what values are made of here, and PyTorch would get copies.
_WRITES: dict[str, Callable[..., Any]] = {
    "aten::append": lambda values, item: values.append(item) or values,
    "aten::extend": lambda values, others: values.extend(others),
    "aten::insert": lambda values, place, item: values.insert(place, item),
    "aten::pop": lambda values, *place: values.pop(*place),
    "aten::popitem": lambda values: values.popitem(),
    "aten::remove": lambda values, item: values.remove(item),
    "aten::sort": lambda values, reverse=False: values.sort(reverse=reverse),
    "aten::add_": lambda values, others: values.extend(others) or values,
    "aten::clear": lambda values: values.clear(),
    "aten::reverse": lambda values: values.reverse(),
    "aten::update": lambda values, others: values.update(others),
    "aten::Delete": lambda values, place: values.__delitem__(place),
    "aten::setdefault": lambda values, *others: values.setdefault(*others),
}


class Interpreter:
    """Runs a method's graph. ``compute`` is given an ATen operator with its arguments."""

    def __init__(
        self, program: torch._C.ScriptModule, method: str, unit: torch._C.CompilationUnit, compute: Any
    ) -> None:
        self._program = program
        self._graph: Any = inlined_graph(program, method)
        self._compute = compute
        self._steps: dict[Any, Callable[..., Any]] = {}
        self.schema = program._get_method(method).schema
        places = ["|".join(place) for _, place in operators_of(program, method, unit)]
        nodes = [node for node in nodes_of(self._graph) if does_work(node)]
        found = places if len(places) == len(nodes) else [""] * len(nodes)
        self._places = dict(zip(map(_key, nodes), found, strict=True))

    def __call__(self, *inputs: Any) -> Any:
        values: dict[str, Any] = {}
        for value, given in zip(self._graph.inputs(), (self._program, *inputs), strict=True):
            values[value.debugName()] = given
        self._run(self._graph, values)
        results = [values[each.debugName()] for each in self._graph.outputs()]
        return results[0] if len(results) == 1 else tuple(results)

    def _run(self, block: Any, values: dict[str, Any]) -> None:
        for node in block.nodes():
            kind = node.kind()
            given = [values[each.debugName()] for each in node.inputs()]
            if kind == "prim::If":
                results = self._branch(node, given, values)
            elif kind == "prim::Loop":
                results = self._loop(node, given, values)
            else:
                results = list(self._step(node, kind, given))
            for value, result in zip(node.outputs(), results, strict=True):
                values[value.debugName()] = result

    def _branch(self, node: Any, given: list[Any], values: dict[str, Any]) -> list[Any]:
        first, second = node.blocks()
        block = first if given[0] else second
        self._run(block, values)
        return [values[each.debugName()] for each in block.outputs()]

    def _loop(self, node: Any, given: list[Any], values: dict[str, Any]) -> list[Any]:
        (block,) = node.blocks()
        index_of, *carried = block.inputs()
        trips, goes_on, *state = given
        turn = 0
        while goes_on and turn < trips:
            values[index_of.debugName()] = turn
            values.update({each.debugName(): value for each, value in zip(carried, state, strict=True)})
            self._run(block, values)
            goes_on, *state = [values[each.debugName()] for each in block.outputs()]
            turn += 1
        return state

    def _step(self, node: Any, kind: str, given: list[Any]) -> Sequence[Any]:
        if kind == "prim::Uninitialized" or _is_function(node):
            return [None]
        if kind == "prim::GetAttr":
            return [_attribute(given[0], node.s("name"))]
        if kind == "prim::unchecked_cast":
            return given
        if kind == "aten::_set_item":
            given[0][given[1]] = given[2]
            return [given[0]] if node.outputsSize() else []
        if kind in _WRITES and isinstance(given[0], list | dict):
            result = _WRITES[kind](*given)
            return [result] if node.outputsSize() else []
        key = _key(node)
        if key not in self._steps:
            self._steps[key] = self._made(node, kind)
        try:
            result = self._steps[key](*given)
        except Exception as error:
            raise NodeError(error, node, self._places.get(key, "")) from error
        return [] if node.outputsSize() == 0 else [result] if node.outputsSize() == 1 else result

    def _made(self, node: Any, kind: str) -> Callable[..., Any]:
        """A node as a function: the operator that its schema names, or a graph of that node alone."""
        operator = _overload(node) if kind.startswith("aten::") else None
        if operator is not None:
            return lambda *given: self._compute(operator, given)
        alone: Any = torch._C.Graph()
        names, inside = list[str](), {}
        for value in node.inputs():
            name = value.debugName()
            if name in inside:
                continue
            if _is_function(value.node()):  # what is called stands in the graph itself
                inside[name] = alone.appendNode(alone.createClone(value.node(), lambda value: value)).output()
            else:
                inside[name] = alone.addInput()
                inside[name].setType(value.type())
                names.append(name)
        order = [each.debugName() for each in node.inputs()]
        copied = alone.createClone(node, lambda value: inside[value.debugName()])
        alone.appendNode(copied)
        results = list(copied.outputs())
        if len(results) == 1:
            alone.registerOutput(results[0])
        else:
            together = alone.appendNode(alone.create("prim::TupleConstruct", results, 1)).output()
            together.setType(torch._C.TupleType([each.type() for each in results]))
            alone.registerOutput(together)
        function = _core._create_function_from_graph("node", alone)

        def call(*given: Any) -> Any:
            distinct = dict(zip(order, given, strict=True))
            return function(*[distinct[name] for name in names])

        return call


def _is_function(node: Any) -> bool:
    """Whether a node stands for a function of the program, which others call: its value is nothing by itself."""
    return bool(node.kind() == "prim::Constant" and node.output().type().kind() == "FunctionType")


def _key(node: Any) -> Any:
    """What tells a node from the others of its graph: Python's own objects of nodes come and go."""
    return node.kind(), *(each.debugName() for each in (*node.outputs(), *node.inputs())), str(node.sourceRange())


def _attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, torch._C.ScriptModule):
        submodules = dict(torch._C.ModuleDict(owner).items())
        holder: Any = owner
        return submodules[name] if name in submodules else holder.getattr(name)
    return getattr(owner, name)


def _overload(node: Any) -> torch._ops.OpOverload | None:
    """The operator of PyTorch's dispatcher that a node calls, if it is one and computes of tensors."""
    if node.schema() == "(no schema)" or not any(each.type().kind() == "TensorType" for each in node.outputs()):
        return None
    schema = torch._C.parse_schema(node.schema())
    if any(re.search(r"\bt\d?\b", str(each.type)) for each in schema.arguments):  # a type that is a variable
        return None
    packet = getattr(torch.ops.aten, node.kind().removeprefix("aten::"), None)
    return getattr(packet, schema.overload_name or "default", None)


class _Interpreting(PythonBackend):
    """A program is interpreted; a subclass says how an operator is computed."""

    format = "unusual-interpreter/1"

    def compute(self, operator: Any, arguments: Sequence[Any]) -> Any:
        """The results of an operator."""
        given, named = _by_name(operator, arguments)
        return operator(*given, **named)

    def handle_of(self, record: Record, program: torch._C.ScriptModule, method: str) -> Any:
        unit = torch._C.CompilationUnit()
        own = module_from_bytes(record.program, unit)
        return opaque(Handle(method, Interpreter(own, method, unit, self.compute), record.debug_handles[method]))

    def failure(self, handle: Handle, error: Exception) -> Exception:
        place = error.place if isinstance(error, NodeError) else ""
        return ExecutionError(str(error), handle.debug_handles.get(place))


def _by_name(operator: Any, arguments: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments in the order of a schema, as a call in Python has them."""
    declared = operator._schema.arguments
    pairs = list(zip(declared, arguments, strict=True))
    return (
        [value for argument, value in pairs if not argument.kwarg_only],
        {argument.name: value for argument, value in pairs if argument.kwarg_only},
    )


class ScriptInterpreted(PythonControl):
    """Each method's graph, with all that it calls inlined, is interpreted node by node from Python."""

    name = "unusual_script_interpreter"

    class implementation(_Interpreting):
        """Operators are PyTorch's."""


class ScriptInDouble(PythonControl):
    """Each operator computes float32 in float64 and rounds: closer to what is exact than eager PyTorch."""

    name = "unusual_script_double"

    class implementation(_Interpreting):
        """Interpreted, for the sake of each operator."""

        format = "unusual-double/1"

        def compute(self, operator: Any, arguments: Sequence[Any]) -> Any:
            return in_double(operator, *_by_name(operator, arguments))


class ScriptPadded(PythonControl):
    """Elementwise operators and products run on tensors that are padded to multiples of 16, and cut off again."""

    name = "unusual_script_padding"

    class implementation(_Interpreting):
        """Interpreted, for the sake of each operator."""

        format = "unusual-padding/1"

        def compute(self, operator: Any, arguments: Sequence[Any]) -> Any:
            return padded(operator, *_by_name(operator, arguments))
