"""The ahead-of-time half: which nodes the delegate takes, and what becomes of them."""

from __future__ import annotations

import hashlib
import operator
import struct
import zlib
from collections.abc import Callable
from typing import Any, final

import torch
from executorch.exir import EdgeProgramManager
from executorch.exir._serialize._named_data_store import NamedDataStore
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.utils import tag_constant_data, tag_mutated_buffer
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from torch.export import ExportedProgram
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

#: The id of the delegate, which is the name of the class that preprocesses for it.
ID = "ReferenceBackend"
_MAGIC = b"CREF"
#: In its place where the program lies elsewhere, by the name that follows the head.
_NAMED = b"CREN"
_VERSION = 1
#: What is left to ExecuTorch's kernels: scans go on from element to element, and would gain nothing.
_LEFT = (torch.ops.aten.cumsum.default,)
#: Sums, which the portable kernels that the delegate computes with add up in 32 bits, whatever the dtype is.
_ADDED_IN_32_BITS = (torch.ops.aten.sum.dim_IntList, torch.ops.aten.mean.dim)


def is_taken(node: torch.fx.Node) -> bool:
    """Whether the delegate takes a node: operators of the Edge dialect. Symbolic sizes, operators that are given one,
    and operators that call graphs are left where they are: a size that is an input of a program has no type there, and
    ExecuTorch's runtime refuses any value for it."""
    if node.op != "call_function":
        return False
    if any(isinstance(each.meta.get("val"), torch.SymInt) for each in node.all_input_nodes):
        return False
    if node.target is operator.getitem:
        return is_taken(node.all_input_nodes[0])
    if not isinstance(node.target, EdgeOpOverload) or node.target._op in _LEFT:
        return False
    return node.target._op not in _ADDED_IN_32_BITS or node.meta["val"].dtype not in (torch.float64, torch.complex128)


def tag_state(program: ExportedProgram) -> None:
    """Tag the constants and buffers that tagged nodes use, so that they are the delegate's.

    One that the model returns as well is not: ExecuTorch's helper does not look at results, and to_backend refuses it.
    Nor is one that is written, unless all that reads it and what writes it are in one part: the helper gives it to one
    of several parts, each of which would have a state of its own.
    """
    tag_constant_data(program)
    tag_mutated_buffer(program)
    for node in program.graph.output_node().all_input_nodes:
        if node.op == "placeholder":
            node.meta.pop("delegation_tag", None)
    signature = program.graph_signature
    writers = {target: name for name, target in signature.buffers_to_mutate.items()}
    nodes = {node.name: node for node in program.graph.nodes}
    for name, target in signature.inputs_to_buffers.items():
        if target in writers:
            using = (nodes[name], *nodes[name].users, nodes[writers[target]])
            if len({each.meta.get("delegation_tag") for each in using if each.op != "output"}) > 1:
                nodes[name].meta.pop("delegation_tag", None)


class _Support(OperatorSupportBase):
    """A function that says which nodes are taken, as PyTorch asks for it."""

    def __init__(self, takes: Callable[[torch.fx.Node], bool]) -> None:
        self._takes = takes

    def is_node_supported(self, submodules: Any, node: torch.fx.Node) -> bool:
        """See the class."""
        return self._takes(node)


class ReferencePartitioner(Partitioner):  # type: ignore[misc]
    """Takes nearly everything. The compile specs are handed to preprocess as they are; ``id`` names the delegate."""

    def __init__(self, specs: tuple[CompileSpec, ...] = (), id: str = ID) -> None:
        super().__init__()
        self._delegation = DelegationSpec(id, list(specs))

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tag the nodes that the delegate takes, and the constants and buffers that they use."""
        graph = exported_program.graph_module
        support = _Support(self.takes)
        tags = {}
        for part in CapabilityBasedPartitioner(graph, support, allows_single_node_partition=True).propose_partitions():
            tag = f"reference_{part.id}"
            for node in part.nodes:
                node.meta["delegation_tag"] = tag
            tags[tag] = self._delegation
        self.tag_state(exported_program)
        return PartitionResult(tagged_exported_program=exported_program, partition_tags=tags)

    def takes(self, node: torch.fx.Node) -> bool:
        """Whether a node is delegated."""
        return is_taken(node)

    def tag_state(self, program: ExportedProgram) -> None:
        """Tag what tagged nodes use."""
        tag_state(program)


@final
class ReferenceBackend(BackendDetails):  # type: ignore[misc]
    """Writes a partition as a program of its own, behind a head by which damage shows."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """The blob; ``csrc/reference.h`` says what it is."""
        handles = handles_of(edge_program)
        blob, data = put_aside(blob_of(program_of(edge_program), compile_specs), tag_of(edge_program))
        return PreprocessResult(blob, debug_handle_map=handles, data_store_output=data)


def handles_of(edge_program: ExportedProgram) -> dict[int, tuple[int, ...]]:
    """A part is one step, number 0, of all the nodes that have a debug handle."""
    handles = [node.meta.get("debug_handle") for node in edge_program.graph.nodes if node.op == "call_function"]
    known = tuple(handle for handle in handles if handle is not None)
    return {0: known} if known else {}


def program_of(edge_program: ExportedProgram) -> bytes:
    """A part as a program of its own."""
    program: bytes = EdgeProgramManager(edge_program).to_executorch().buffer
    return program


def tag_of(edge_program: ExportedProgram) -> str | None:
    """The file that weights of a part are meant for, where somebody has tagged them."""
    tags = (node.meta.get("custom") or {} for node in edge_program.graph.nodes if node.op == "placeholder")
    return next((str(each["delegate_constant_tag"]) for each in tags if each.get("delegate_constant_tag")), None)


def put_aside(blob: bytes, tag: str | None) -> tuple[bytes, Any]:
    """A blob that names its program, which lies in the file of the tag, and the data of that file; the blob as it is
    where there is no tag."""
    if tag is None:
        return blob, None
    head, program = blob[: len(_MAGIC) + 12], blob[len(_MAGIC) + 12 :]
    key = hashlib.sha256(program).hexdigest()
    data = NamedDataStore()
    data.add_named_data(key, program, alignment=16, external_tag=tag)
    return _NAMED + head[len(_MAGIC) :] + key.encode(), data.get_named_data_store_output()


def blob_of(program: bytes, specs: list[CompileSpec]) -> bytes:
    """A head, then the program."""
    said = b"".join(spec.key.encode() + b"\0" + struct.pack("<Q", len(spec.value)) + spec.value for spec in specs)
    return _MAGIC + struct.pack("<III", _VERSION, zlib.crc32(program), zlib.crc32(said)) + program
