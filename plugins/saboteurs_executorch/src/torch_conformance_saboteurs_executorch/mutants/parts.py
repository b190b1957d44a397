"""A part of a program as a graph of PyTorch's operators, which a mutant computes one by one, and its bytes."""

from __future__ import annotations

import io
import struct
from typing import Any

import torch
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from torch.export import ExportedProgram
from torch.fx import GraphModule
from torch.fx.graph import CodeGen

#: At the end of a blob that has a part behind it; ahead of it the length of the part, in eight bytes.
_MARK = b"PART"


def part_of(program: ExportedProgram) -> GraphModule:
    """The graph of a part, its constants and buffers within."""
    whole = program.module(check_guards=False)
    for node in whole.graph.nodes:
        if isinstance(node.target, EdgeOpOverload):
            node.target = node.target._op
    whole.graph.set_codegen(CodeGen())
    # What the graph does not use is left behind: some of it cannot be written.
    return GraphModule(whole, whole.graph)


def inputs_of(part: GraphModule) -> list[Any]:
    """What stands for the inputs of a part."""
    return [node.meta.get("val") for node in part.graph.nodes if node.op == "placeholder"]


def kernels_of(part: GraphModule) -> list[str]:
    """What a part calls, by name."""
    calls = (node for node in part.graph.nodes if node.op == "call_function")
    return [each.target._schema.name.partition("::")[2] for each in calls if hasattr(each.target, "_schema")]


def tensors_of(part: GraphModule) -> list[torch.Tensor]:
    """The constants and buffers of a part, in the order in which it uses them."""
    found = []
    for node in part.graph.nodes:
        if node.op == "get_attr":
            value: Any = part
            for name in str(node.target).split("."):
                value = getattr(value, name)
            found.append(value)
    return [each for each in found if isinstance(each, torch.Tensor)]


def with_part(blob: bytes, part: GraphModule) -> bytes:
    """A blob with a part behind it."""
    for node in part.graph.nodes:
        node.meta.clear()  # symbols and fake tensors, which are of this process
    part.meta.clear()
    buffer = io.BytesIO()
    torch.save(part, buffer)
    return blob + buffer.getvalue() + struct.pack("<Q", len(buffer.getvalue())) + _MARK


def taken_apart(blob: bytes) -> tuple[bytes, GraphModule | None]:
    """A blob as it was, and a new copy of the part behind it; None where there is none."""
    if not blob.endswith(_MARK):
        return blob, None
    (length,) = struct.unpack("<Q", blob[-len(_MARK) - 8 : -len(_MARK)])
    end = len(blob) - len(_MARK) - 8
    part = torch.load(io.BytesIO(blob[end - length : end]), weights_only=False)
    return blob[: end - length], part
