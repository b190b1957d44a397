"""Saboteurs of torch.compile: results, and what a call leaves behind, are not those of eager PyTorch."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import TensorWeakRef

from torch_conformance_saboteurs.dynamo_control import Code, DynamoControl, cast, changed, tensors
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


@saboteur("compile.outputs", "compile.by-name")
class DynamoSwapsOperands(DynamoControl):
    """A subtraction takes its operands the other way round."""

    name = "dynamo_swaps_operands"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        for node in graph.graph.nodes:
            if node.op == "call_function" and node.target.__name__ == "sub":
                node.args = node.args[::-1]
        graph.recompile()
        return super().lower(graph, example_inputs)


@saboteur("compile.outputs")
class DynamoReordersOutputs(DynamoControl):
    """Several outputs come back to front."""

    name = "dynamo_reorders_outputs"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        return tuple(reversed(super().call(code, arguments)))


@saboteur("compile.result-form", phases=("run", "inspect"))
class DynamoReturnsBareTensor(DynamoControl):
    """A single output is returned as it is, not in a tuple."""

    name = "dynamo_returns_bare_tensor"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        result = super().call(code, arguments)
        return result[0] if len(result) == 1 else result


@saboteur("compile.result-form", phases=("inspect",))
class DynamoReturnsMore(DynamoControl):
    """Behind the outputs stands one value more."""

    name = "dynamo_returns_more"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        return (*super().call(code, arguments), torch.zeros(1))


@saboteur("compile.result-form", phases=("inspect",))
class DynamoAddsToGraph(DynamoControl):
    """Lowering gives Dynamo's own graph one output more, which the code returns."""

    name = "dynamo_adds_to_graph"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        output = graph.graph.output_node()
        outputs: Any = output.args[0]  # a tuple, in the graphs that Dynamo makes
        output.args = ((*outputs, outputs[0]),)
        graph.recompile()
        return super().lower(graph, example_inputs)


@saboteur("compile.outputs")
class DynamoComputesInFloat32(DynamoControl):
    """float64 is computed in float32."""

    name = "dynamo_computes_in_float32"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        wide = any(each.dtype == torch.float64 for each in tensors(arguments))
        result = super().call(code, cast(arguments, torch.float64, torch.float32))
        return cast(result, torch.float32, torch.float64) if wide else result


@saboteur("compile.outputs")
class DynamoTruncatesIntegers(DynamoControl):
    """int64 is computed in int32."""

    name = "dynamo_truncates_integers"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        wide = any(each.dtype == torch.int64 for each in tensors(arguments))
        result = super().call(code, cast(arguments, torch.int64, torch.int32))
        return cast(result, torch.int32, torch.int64) if wide else result


@saboteur("compile.outputs")
class DynamoSaturates(DynamoControl):
    """uint8 saturates at 0 and 255 and does not wrap around."""

    name = "dynamo_saturates"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        if not any(each.dtype == torch.uint8 for each in tensors(arguments)):
            return super().call(code, arguments)
        result = super().call(code, cast(arguments, torch.uint8, torch.int32))
        return changed(result, lambda tensor: tensor.clamp(0, 255).to(torch.uint8))


@saboteur("compile.outputs")
class DynamoLosesNan(DynamoControl):
    """NaN comes out as zero."""

    name = "dynamo_loses_nan"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        return changed(super().call(code, arguments), _without_nan)


def _without_nan(tensor: Tensor) -> Tensor:
    if not tensor.is_floating_point() or not bool(tensor.isnan().any()):
        return tensor
    return torch.where(tensor.isnan(), torch.zeros_like(tensor), tensor)


@saboteur("compile.strides")
class DynamoPacksResults(DynamoControl):
    """Every result is laid out contiguously."""

    name = "dynamo_packs_results"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        return changed(super().call(code, arguments), lambda tensor: tensor.contiguous())


@saboteur("compile.aliases")
class DynamoCopiesResults(DynamoControl):
    """Every result is a copy, also where it should be a view of an input or the input itself."""

    name = "dynamo_copies_results"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        return changed(super().call(code, arguments), lambda tensor: tensor.clone())


@saboteur("compile.aliases")
class DynamoDropsClones(DynamoControl):
    """A copy that nothing is computed from is taken for its original: what a model returns of it is the argument."""

    name = "dynamo_drops_clones"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        for node in graph.graph.nodes:
            if node.op == "call_method" and node.target == "clone":
                node.replace_all_uses_with(node.args[0])
        graph.recompile()
        return super().lower(graph, example_inputs)


@saboteur("compile.inputs-untouched")
class DynamoWritesInput(DynamoControl):
    """The last row of the first input is used as scratch memory."""

    name = "dynamo_writes_input"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        result = super().call(code, [each.clone() if isinstance(each, Tensor) else each for each in arguments])
        tensors(arguments)[0][-1:] = 0
        return result


@saboteur("compile.inputs-untouched")
class DynamoTouchesInput(DynamoControl):
    """Inputs have their values afterwards, but were written to."""

    name = "dynamo_touches_input"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        first = tensors(arguments)[0]
        with torch.no_grad():
            first.copy_(first.clone())
        return super().call(code, arguments)


@saboteur("compile.outputs")
class DynamoPacksParameters(DynamoControl):
    """Weights are laid out for a kernel in the user's own model: their values stay, and memory that they shared with
    others is theirs no more."""

    name = "dynamo_packs_parameters"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        result = super().call(code, arguments)
        for each in arguments:
            if isinstance(each, torch.nn.Parameter) and each.dim() == 2:
                each.data = each.data.t().contiguous().t()
        return result


@saboteur("compile.mutation")
class DynamoLosesWrites(DynamoControl):
    """The graph writes to copies of its inputs."""

    name = "dynamo_loses_writes"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        return super().call(code, [each.clone() if isinstance(each, Tensor) else each for each in arguments])


@saboteur("compile.mutation")
class DynamoWritesUnseen(DynamoControl):
    """What the graph writes arrives, but past the version counters, on which Autograd relies."""

    name = "dynamo_writes_unseen"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        return super().call(code, [each.data if isinstance(each, Tensor) else each for each in arguments])


@saboteur("compile.outputs-kept")
class DynamoReusesBuffers(DynamoControl):
    """The results of each call lie where those of the call before lay."""

    name = "dynamo_reuses_buffers"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        kept: list[Any] = []

        def code(*arguments: Any) -> Any:
            results = self.call(graph.forward, arguments)
            if not kept:
                kept.extend(results)
                return results
            return tuple(old.copy_(new) for old, new in zip(kept, results, strict=True))

        return code


@saboteur("compile.outputs-kept")
class DynamoReusesForgottenMemory(DynamoControl):
    """The memory of a result is used again once its tensor is gone, be it held by another tensor."""

    name = "dynamo_reuses_forgotten_memory"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        slots: dict[int, tuple[Tensor, TensorWeakRef]] = {}

        def placed(place: int, result: Any) -> Any:
            if not isinstance(result, Tensor) or result.requires_grad:
                return result
            memory, given = slots.get(place, (result, None))
            if given is None or given() is not None or memory.shape != result.shape:
                memory = result
            tensor = memory.copy_(result).data
            slots[place] = memory, TensorWeakRef(tensor)
            return tensor

        return lambda *arguments: tuple(itertools.starmap(placed, enumerate(self.call(graph.forward, arguments))))


@saboteur("compile.errors")
class DynamoKeepsWhatAnErrorLeft(DynamoControl):
    """What was computed before an error is taken for the next call's."""

    name = "dynamo_keeps_what_an_error_left"

    def lower(self, graph: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Code:
        left: dict[torch.fx.Node, Any] = {}

        class Interpreter(torch.fx.Interpreter):
            def run_node(self, n: torch.fx.Node) -> Any:
                if n.op == "placeholder" or n not in left:
                    left[n] = super().run_node(n)
                return left[n]

        def code(*arguments: Any) -> Any:
            results = Interpreter(graph).run(*arguments)
            left.clear()
            return results

        return code


@saboteur("compile.errors")
class DynamoClampsIndices(DynamoControl):
    """An index out of bounds is taken for the nearest one within."""

    name = "dynamo_clamps_indices"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        return super().call(code, [each.clamp(-5, 4) if _indices(each) else each for each in arguments])


def _indices(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype == torch.int64 and value.dim() == 1


@saboteur("compile.errors")
class DynamoStaysBroken(DynamoControl):
    """After an error every call fails."""

    name = "dynamo_stays_broken"
    failed = False

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        if self.failed:
            raise RuntimeError("an earlier call has failed")
        self.failed = True
        result = super().call(code, arguments)
        self.failed = False
        return result


@saboteur("compile.non-leaf-inputs")
class DynamoDetachesResults(DynamoControl):
    """Results are cut off from the graph of Autograd."""

    name = "dynamo_detaches_results"

    def call(self, code: Code, arguments: Sequence[Any]) -> Any:
        return changed(super().call(code, arguments), lambda tensor: tensor.detach())


SABOTEURS = saboteur.all()
