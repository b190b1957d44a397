"""What the host does, in terms of ExecuTorch's ahead-of-time half: ``torch.export``, lowering, emitting."""

from __future__ import annotations

import dataclasses
import operator
import tempfile
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from executorch.exir import (
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    memory,
    to_edge,
    to_edge_transform_and_lower,
)
from executorch.exir.delegate import executorch_call_delegate
from executorch.exir.lowered_backend_module import LoweredBackendModule, get_lowered_backend_modules
from executorch.exir.passes import MemoryPlanningPass
from torch.export import Dim, ExportedProgram

#: Nodes that compute nothing: of a delegate's tuple one result, and memory for a kernel to write to.
_BOOKKEEPING = (operator.getitem, memory.alloc)


class _OneMethod(torch.nn.Module):
    """A module whose ``forward`` is another method of a model."""

    def __init__(self, model: torch.nn.Module, method: str) -> None:
        super().__init__()
        self.model = model
        self._method = method

    def forward(self, *inputs: Any) -> Any:
        """See the class."""
        return getattr(self.model, self._method)(*inputs)


def exported_methods(model: torch.nn.Module, examples: Mapping[str, tuple[Any, ...]]) -> dict[str, ExportedProgram]:
    """Each method of a model, exported for an example of its inputs.

    A model may say in ``dynamic`` which dimensions have any size between two bounds: for a method and each of its
    arguments, dimension → name, least and greatest. Dimensions of one name have one size.
    """
    found = {}
    for method, inputs in examples.items():
        module = model if method == "forward" else _OneMethod(model, method)
        shapes = _dynamic_shapes(getattr(model, "dynamic", {}).get(method))
        if shapes is not None and module is not model:
            shapes = (shapes,)  # all of them are one argument, *inputs
        found[method] = torch.export.export(module.eval(), inputs, dynamic_shapes=shapes)
    return found


def with_data_aside(program: ExportedProgram, inputs: tuple[Any, ...], name: str) -> ExportedProgram:
    """An exported program whose weights are tagged for a .ptd of that name, as a delegate's preprocess sees them."""
    from executorch.exir.passes.external_constants_pass import delegate_external_constants_pass_unlifted

    module = program.module()
    delegate_external_constants_pass_unlifted(module, gen_tag_fn=lambda node: name)
    return torch.export.export(module, inputs)


def quantised(program: ExportedProgram, quantizer: Any, calibrating: Sequence[tuple[Any, ...]]) -> ExportedProgram:
    """An exported program after PT2E: prepared by a quantizer, calibrated with some inputs, converted and exported
    again."""
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    prepared = prepare_pt2e(program.module(), quantizer)
    for inputs in calibrating:
        prepared(*inputs)
    return torch.export.export(convert_pt2e(prepared), calibrating[0])


def plain_quantizer() -> Any:
    """The quantizer of those who have no backend: static, of each channel of the weights."""
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )

    return XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))


def quanta_of(program: ExportedProgram) -> list[float]:
    """For each output of a quantised program the step between two values of it; 0 where it is not quantised."""
    outputs = program.graph.output_node().args[0]
    assert isinstance(outputs, list | tuple)
    return [_quantum(node) for node in outputs if isinstance(node, torch.fx.Node)]


def _quantum(node: torch.fx.Node) -> float:
    is_step = node.target is torch.ops.quantized_decomposed.dequantize_per_tensor.default
    return float(typing.cast(float, node.args[1])) if is_step else 0.0


def _dynamic_shapes(bounds: Any) -> Any:
    if bounds is None:
        return None
    dims: dict[str, Any] = {}
    for argument in bounds:
        for name, least, greatest in argument.values():
            dims.setdefault(name, Dim(name, min=least, max=greatest))
    return tuple({dimension: dims[bound[0]] for dimension, bound in argument.items()} for argument in bounds)


def lowered_programs(
    programs: Mapping[str, ExportedProgram], partitioners: Mapping[str, Sequence[Any]], *, by_steps: bool = False
) -> EdgeProgramManager:
    """The programs, each lowered with its partitioners in their order; one without any is left to ExecuTorch's kernels.

    Of those who are lowered ``by_steps`` each has one partitioner.
    """
    if by_steps:
        manager = to_edge(dict(programs))
        chosen = {method: each for method, (each,) in partitioners.items()}
        return manager.to_backend(chosen) if chosen else manager
    return to_edge_transform_and_lower(
        dict(programs), partitioner={method: list(each) for method, each in partitioners.items()} or None
    )


def companion() -> Any:
    """The partitioner of another delegate than the one under test: XNNPACK, which ExecuTorch brings along."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    return XnnpackPartitioner()


def specs_given(program: ExportedProgram, partitioner: Any) -> list[dict[str, bytes]]:
    """The compile specs of each DelegationSpec that a partitioner gives for a program, before preprocess has them."""
    result = partitioner.partition(to_edge(program).exported_program())
    return [{spec.key: bytes(spec.value) for spec in each.compile_specs} for each in result.partition_tags.values()]


def emitted(manager: EdgeProgramManager, *, planned: bool, alignment: int | None = None) -> ExecutorchProgramManager:
    """The program. Memory for inputs and outputs is part of the plan, or the caller's; blobs begin at multiples of the
    ``alignment``, which ExecuTorch chooses where it is None."""
    plan = MemoryPlanningPass(alloc_graph_input=planned, alloc_graph_output=planned)
    config = ExecutorchBackendConfig(memory_planning_pass=plan)
    if alignment is not None:
        config = dataclasses.replace(config, segment_alignment=alignment)
    return manager.to_executorch(config)


def data_of(program: ExecutorchProgramManager) -> list[bytes]:
    """The .ptd files that belong to a program."""
    with tempfile.TemporaryDirectory() as folder:
        program.write_tensor_data_to_file(folder)
        return [path.read_bytes() for path in sorted(Path(folder).iterdir())]


def bundled(program: ExecutorchProgramManager, suites: Mapping[str, Sequence[tuple[Any, Any]]]) -> bytes:
    """The bytes of a .bpte: the program with inputs for its methods, and what is expected of each."""
    from executorch.devtools import BundledProgram
    from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
    from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer

    chosen = [
        MethodTestSuite(
            method, [MethodTestCase(inputs=inputs, expected_outputs=expected) for inputs, expected in calls]
        )
        for method, calls in suites.items()
    ]
    return bytes(serialize_from_bundled_program_to_flatbuffer(BundledProgram(program, chosen)))


def handle_maps_of(program: ExportedProgram) -> list[dict[str, Any]]:
    """For each delegate of a lowered graph the debug handles that its preprocess ``named``, for which ``ids`` of its
    own, and those that its part of the graph ``has``."""
    return [
        {
            "named": sorted(_handles_named(lowered.meta.get("debug_handle_map") or {})),
            "ids": sorted(map(str, lowered.meta.get("debug_handle_map") or {})),
            "has": sorted(
                {
                    handle
                    for node in lowered.original_module.graph_module.graph.nodes
                    if isinstance(handle := node.meta.get("debug_handle"), int)
                }
            ),
        }
        for lowered in get_lowered_backend_modules(program.graph_module)
    ]


def _handles_named(handles: Mapping[Any, Any]) -> set[int]:
    """Those that a map leads to: its values are one handle each, or several."""
    found: set[int] = set()
    for value in handles.values():
        found |= {value} if isinstance(value, int) else set(value)
    return found


def delegation_of(program: ExportedProgram) -> dict[str, Any]:
    """Who computes the nodes of a lowered graph, those of branches and loop bodies included."""
    found: dict[str, Any] = {"backends": [], "delegated": 0, "left": []}
    _count(program.graph_module, found)
    return found


def _count(graph_module: torch.fx.GraphModule, found: dict[str, Any]) -> None:
    for node in graph_module.graph.nodes:
        if node.op == "get_attr":
            named = getattr(graph_module, str(node.target), None)
            if isinstance(named, torch.fx.GraphModule):  # a branch, or the body of a loop
                _count(named, found)
        elif node.op == "call_function" and node.target is executorch_call_delegate:
            lowered: LoweredBackendModule = getattr(graph_module, str(node.args[0].target))
            found["backends"].append(lowered.backend_id)
            found["delegated"] += len(_computing(lowered.original_module.graph_module))
    found["left"] += [str(node.target) for node in _computing(graph_module)]


def _computing(graph_module: torch.fx.GraphModule) -> list[torch.fx.Node]:
    """The nodes of a graph that compute something here, and not in a delegate."""
    calls = [node for node in graph_module.graph.nodes if node.op == "call_function"]
    return [node for node in calls if node.target not in (executorch_call_delegate, *_BOOKKEEPING)]
