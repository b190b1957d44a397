"""What the conformance harness is told about the reference delegate."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

from conformance import Environment, ExecuTorchBackend

if TYPE_CHECKING:
    from conformance.api.backend import LoweredCase


class ReferenceExecuTorch(ExecuTorchBackend):
    """Keeps a partition as a program of its own, and runs it by ExecuTorch's kernels."""

    name = "ReferenceBackend"
    unavailable = Environment(REFERENCE_EXECUTORCH_AVAILABLE="0")
    # The switch is read at every question.
    lost = unavailable

    def prepare(self) -> Environment:
        """Compile the library if there is none yet, and tell the devices where it is."""
        from torch_conformance_reference_executorch.build import library_path

        return Environment(REFERENCE_EXECUTORCH_LIBRARY=str(library_path()))

    @functools.cached_property
    def libraries(self) -> tuple[str, ...]:  # type: ignore[override]
        """The library that was prepared; where nothing was, it is looked for, and compiled if there is none yet."""
        prepared = os.environ.get("REFERENCE_EXECUTORCH_LIBRARY")
        if prepared:
            return (prepared,)
        from torch_conformance_reference_executorch.build import library_path

        return (str(library_path()),)

    def partitioner(self, case: LoweredCase) -> Any:
        """The delegate's own, with a compile spec that nobody needs: that it arrives is seen by its checksum."""
        from executorch.exir.backend.compile_spec_schema import CompileSpec

        from torch_conformance_reference_executorch.partition import ReferencePartitioner

        return ReferencePartitioner((CompileSpec("model", case.name.encode()), CompileSpec("zeros", bytes(3))))

    def quantizer(self, case: LoweredCase) -> Any:
        """Eight bits, with a scale for each channel of the weights."""
        from torch_conformance_reference_executorch.quantizer import reference_quantizer

        return reference_quantizer()
