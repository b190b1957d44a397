"""The ahead-of-time half of a delegate over the bridge, whose steps are methods of the author's class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import PartitionResult
from torch_conformance_reference_executorch.partition import ReferencePartitioner, put_aside, tag_of

if TYPE_CHECKING:
    from conformance.api.backend import LoweredCase
    from torch_conformance_saboteurs_executorch.control import BridgeControl


class _Partitioner(ReferencePartitioner):
    """Asks the author's class at each step."""

    def __init__(self, backend: BridgeControl, case: LoweredCase) -> None:
        specs = tuple(CompileSpec(key, value) for key, value in backend.specs(case).items())
        super().__init__(specs, id=backend.name)
        self._backend = backend

    def ops_to_not_decompose(self, program: Any) -> tuple[Any, Any]:
        """What must be whole, and no further condition."""
        return list(self._backend.whole(program)), None

    def partition(self, program: Any) -> PartitionResult:
        """See the base class."""
        self._backend.begin(program)
        return super().partition(program)

    def takes(self, node: Any) -> bool:
        """See the base class."""
        return self._backend.takes(node)

    def tag_state(self, program: Any) -> None:
        """See the base class."""
        self._backend.tag_state(program)


def partitioner_of(backend: BridgeControl, case: LoweredCase) -> Any:
    """A partitioner for a delegate. ExecuTorch finds preprocess by the name of a class, which is made at first."""
    if all(each.__name__ != backend.name for each in BackendDetails.__subclasses__()):
        _details.append(_details_of(backend))
    return _Partitioner(backend, case)


#: The classes that were made: nothing else holds them.
_details: list[type] = []


def _details_of(backend: BridgeControl) -> type:
    def preprocess(edge_program: Any, compile_specs: Any) -> PreprocessResult:
        handles, tag = backend.debug_handles(edge_program), tag_of(edge_program)
        blob, data = put_aside(backend.preprocess(edge_program, compile_specs), tag)
        return PreprocessResult(processed_bytes=blob, debug_handle_map=handles, data_store_output=data)

    steps: dict[str, Any] = {"preprocess": staticmethod(preprocess)}
    if not backend.copies_parts:
        steps["copy_exported_program_for_preprocess"] = classmethod(lambda cls, program, specs: program)
    return type(backend.name, (BackendDetails,), steps)
