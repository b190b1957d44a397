"""Saboteurs of torch.compile: what was assumed when a graph was lowered is kept where it does not hold."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch
from torch._guards import TracingContext, tracing

from conformance import features
from conformance.api.saboteur import REPORTED
from torch_conformance_saboteurs.dynamo_control import RUNS_IN_PYTORCH, Code, DynamoControl, changed, tensors
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


@saboteur("guards.one-shape-env", verdicts=(REPORTED,))
class DynamoAddsSymbols(DynamoControl):
    """A tensor of its own is made fake in Dynamo's fake mode, with symbolic sizes that belong to no input."""

    name = "dynamo_adds_symbols"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        mode = TracingContext.get().fake_mode
        assert mode is not None
        mode.from_tensor(torch.zeros(5, 7))
        return super().lower(graph, example_inputs)


@saboteur("guards.one-shape-env", verdicts=(REPORTED,))
class DynamoReplacesFakeMode(DynamoControl):
    """Dynamo's fake mode is replaced by one with a ShapeEnv of its own."""

    name = "dynamo_replaces_fake_mode"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        from torch._subclasses import FakeTensorMode
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        TracingContext.get().fake_mode = FakeTensorMode(shape_env=ShapeEnv())
        return super().lower(graph, example_inputs)


@saboteur("guards.dynamic-sizes", phases=("lower",))
class DynamoSpecialises(DynamoControl):
    """A symbolic size is asked for its value, which makes it a constant."""

    name = "dynamo_specialises"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        for each in example_inputs:
            if isinstance(each, torch.SymInt):
                int(each)
        return super().lower(graph, example_inputs)


@saboteur("guards.automatic", phases=("inspect",))
class DynamoSpecialisesUnmarked(DynamoSpecialises):
    """A symbolic size is made a constant: each size that comes is lowered for."""

    name = "dynamo_specialises_unmarked"


@saboteur("guards.dynamic-sizes", "guards.automatic", "guards.many-sizes")
class DynamoKeepsFirstSize(DynamoControl):
    """The size that a graph computes with is always that of its first call."""

    name = "dynamo_keeps_first_size"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        first: list[Any] = []

        def code(*arguments: Any) -> Any:
            sizes = [each for each in arguments if isinstance(each, int)]
            first.extend([] if first else sizes[:1])
            return graph.forward(*(first[0] if isinstance(each, int) else each for each in arguments))

        return code


class AtEachSize(DynamoControl):
    """Code is made for the size of a graph's example inputs, and for each other size when it comes."""

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        first = [each.node.hint if isinstance(each, torch.SymInt) else each for each in example_inputs]
        made = {_sizes_of(first): self.for_size(graph, first)}

        def code(*arguments: Any) -> Any:
            sizes = _sizes_of(arguments)
            if sizes not in made:
                made[sizes] = self.for_size(graph, arguments)
            return made[sizes](*arguments)

        return code

    def for_size(self, graph: torch.fx.GraphModule, arguments: Sequence[Any]) -> Code:
        raise NotImplementedError


def _sizes_of(arguments: Sequence[Any]) -> tuple[int, ...]:
    return tuple(each for each in arguments if isinstance(each, int))


@saboteur("guards.dynamic-sizes", "guards.many-sizes")
class DynamoTracesEachSize(AtEachSize):
    """AOT Autograd runs again for each new size, of which Dynamo hears nothing."""

    name = "dynamo_traces_each_size"

    def for_size(self, graph: torch.fx.GraphModule, arguments: Sequence[Any]) -> Code:
        from torch._dynamo.backends.debugging import aot_eager

        with tracing(None):
            return aot_eager(graph, list(arguments))


@saboteur("guards.many-sizes", verdicts=(REPORTED,))
class DynamoCompilesEachSize(AtEachSize):
    """The first call with a size spends a fiftieth of a second in native code."""

    name = "dynamo_compiles_each_size"

    def for_size(self, graph: torch.fx.GraphModule, arguments: Sequence[Any]) -> Code:
        sum(range(1_000_000))
        return graph.forward


@saboteur("guards.many-sizes", verdicts=(REPORTED,))
class DynamoPilesUpSizes(DynamoControl):
    """Each new size is one more layer of code around the one before."""

    name = "dynamo_piles_up_sizes"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        seen: set[Any] = set()

        def deeper(layers: int, arguments: Sequence[Any]) -> Any:
            return deeper(layers - 1, arguments) if layers > 0 else graph.forward(*arguments)

        def code(*arguments: Any) -> Any:
            seen.add(tuple(each.shape for each in tensors(arguments)))
            return deeper(len(seen), arguments)

        return code


@saboteur("guards.sizes-zero-and-one")
class DynamoFailsOnEmpty(DynamoControl):
    """Code that is given an empty tensor returns a row of zeros."""

    name = "dynamo_fails_on_empty"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        result = super().call(code, arguments)
        return changed(result, lambda tensor: tensor if tensor.numel() else tensor.new_zeros(1, *tensor.shape[1:]))


@saboteur("guards.made-while-lowering")
class DynamoKeepsGuardsToItself(DynamoControl):
    """AOT Autograd runs in a fake mode of its own, from which no guard gets to Dynamo."""

    name = "dynamo_keeps_guards_to_itself"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        from torch._dynamo.backends.debugging import aot_eager

        with tracing(None):
            plain = [each.node.hint if isinstance(each, torch.SymInt) else each for each in example_inputs]
            return aot_eager(graph, plain)


@saboteur("guards.duplicate-arguments")
class DynamoRemembersFirstArgument(DynamoControl):
    """Results are remembered by the values of the first argument alone."""

    name = "dynamo_remembers_first_argument"

    def __init__(self) -> None:
        self.known: dict[bytes, Any] = {}

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        key = str(tensors(arguments)[0].tolist()).encode()
        return self.known.setdefault(key, super().call(code, arguments))


@saboteur("guards.overlapping-views", verdicts=("CRASH",))
class DynamoCrashesOnOverlap(DynamoControl):
    """Two arguments in one memory end the process."""

    name = "dynamo_crashes_on_overlap"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        if share_memory(arguments):
            os.abort()
        return super().call(code, arguments)


def share_memory(arguments: Sequence[Any]) -> bool:
    """Whether two of the arguments are in one memory."""
    places = [each.untyped_storage().data_ptr() for each in tensors(arguments)]
    return len(set(places)) < len(places)


@saboteur("guards.overlapping-views")
class DynamoStumblesOverOverlap(DynamoControl):
    """Two arguments in one memory end in an error of the backend's own, where AOT Autograd alone computes something."""

    name = "dynamo_stumbles_over_overlap"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        if share_memory(arguments):
            raise IndexError("list index out of range")
        return super().call(code, arguments)


@saboteur("guards.kinds")
class DynamoKeepsFirstDtype(DynamoControl):
    """Graphs of the same operators share their code, which computes in the dtype that it was first made for."""

    name = "dynamo_keeps_first_dtype"

    def __init__(self) -> None:
        self.known: dict[str, torch.dtype] = {}

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        operators = str([str(node.target) for node in graph.graph.nodes])
        dtype = self.known.setdefault(operators, tensors(example_inputs)[0].dtype)
        return lambda *arguments: changed(graph.forward(*arguments), lambda tensor: tensor.to(dtype))


@saboteur("guards.kinds")
class DynamoKeepsFirstOffset(DynamoControl):
    """Tensors begin in their memory where those did that a graph was lowered for."""

    name = "dynamo_keeps_first_offset"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        offsets = [each.storage_offset() if isinstance(each, torch.Tensor) else 0 for each in example_inputs]
        return lambda *arguments: graph.forward(*map(_beginning_at, arguments, offsets))


def _beginning_at(argument: Any, offset: int | torch.SymInt) -> Any:
    if not isinstance(argument, torch.Tensor) or argument.storage_offset() == offset:
        return argument
    return argument.as_strided(argument.size(), argument.stride(), offset)


@saboteur("guards.unbacked-sizes", verdicts=(REPORTED,))
class DynamoKeepsFirstCount(DynamoControl):
    """A result has never more rows than it had at first."""

    name = "dynamo_keeps_first_count"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        rows: list[int] = []

        def code(*arguments: Any) -> Any:
            result = graph.forward(*arguments)
            rows.extend([] if rows else [each.shape[0] for each in result if isinstance(each, torch.Tensor)][:1])
            return changed(result, lambda tensor: tensor[: rows[0]])

        return code


@saboteur("guards.specialisation", phases=("lower",))
class DynamoHidesDynamicShapes(DynamoControl):
    """Dynamic shapes are declared missing, and dimensions marked dynamic are accepted all the same."""

    name = "dynamo_hides_dynamic_shapes"
    features = RUNS_IN_PYTORCH.without(features.dynamic_shapes, "every size is compiled for")


SABOTEURS = saboteur.all()
