"""What is in a .pte, read and changed through ExecuTorch's own serialisation. Its names are private to ExecuTorch, and
are used nowhere else."""

from __future__ import annotations

from typing import Any

from executorch.exir._serialize._program import PTEFile, deserialize_pte_binary, serialize_pte_binary
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.schema import DelegateCall, Program


def contents_of(data: bytes) -> dict[str, dict[str, Any]]:
    """What the execution plan of each method names."""
    found = {}
    for plan in deserialize_pte_binary(data).program.execution_plan:
        instructions = [each.instr_args for chain in plan.chains for each in chain.instructions]
        calls = [each.delegate_index for each in instructions if isinstance(each, DelegateCall)]
        found[plan.name] = {
            "delegates": [each.id for each in plan.delegates],
            "calls": [plan.delegates[index].id for index in calls],
            "operators": [f"{each.name}.{each.overload}" if each.overload else each.name for each in plan.operators],
            "specs": [{spec.key: bytes(spec.value) for spec in each.compile_specs} for each in plan.delegates],
        }
    return found


def blobs_of(data: bytes) -> list[bytes]:
    """The blob of each delegate, method by method."""
    program = deserialize_pte_binary(data).program
    return [bytes(program.backend_delegate_data[index].data) for index in _blob_indices(program)]


def program_with_blob(data: bytes, index: int, blob: bytes) -> bytes:
    """The .pte with another blob for the delegate of that index, as :func:`blobs_of` counts them."""
    file: PTEFile = deserialize_pte_binary(data)
    file.program.backend_delegate_data[_blob_indices(file.program)[index]].data = blob
    return bytes(serialize_pte_binary(file, extract_delegate_segments=True))


def program_with_specs(data: bytes, index: int, specs: dict[str, bytes]) -> bytes:
    """The .pte with other compile specs for the delegate of that index."""
    file: PTEFile = deserialize_pte_binary(data)
    delegates = [each for plan in file.program.execution_plan for each in plan.delegates]
    delegates[index].compile_specs = [CompileSpec(key, value) for key, value in specs.items()]
    return bytes(serialize_pte_binary(file, extract_delegate_segments=True))


def _blob_indices(program: Program) -> list[int]:
    return [each.processed.index for plan in program.execution_plan for each in plan.delegates]
