"""What the conformance harness is told about the reference backend."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conformance import Environment, Features, TorchScriptBackend, features

if TYPE_CHECKING:
    from conformance.api.backend import LoweredCase


class ReferenceBackend(TorchScriptBackend):
    """Compiles in preprocess to a small bytecode, and interprets it with PyTorch's own operators."""

    name = "reference"
    features = (
        Features.all()
        .without(features.fork, "prim::fork is refused: a call runs on the caller's thread alone")
        .without(features.mutable_state, "writing to attributes is refused: a lowered module has no state")
    )

    unavailable = Environment(REFERENCE_BACKEND_COMPILE="0", REFERENCE_BACKEND_EXECUTE="0")
    compile_only = Environment(REFERENCE_BACKEND_EXECUTE="0")
    execute_only = Environment(REFERENCE_BACKEND_COMPILE="0")
    # Artifacts of each release stay here: a later one must read them.
    goldens = str(Path(__file__).parent / "goldens")
    # The switches are read at every question, so that they work on a running process too.
    lost = unavailable

    def prepare(self) -> Environment:
        """Compile the library if there is none yet, and tell the devices where it is. Raises BuildError if it fails."""
        from torch_conformance_reference.build import library_path

        return Environment(REFERENCE_BACKEND_LIBRARY=str(library_path()))

    @functools.cached_property
    def libraries(self) -> tuple[str, ...]:  # type: ignore[override]
        """The library that was prepared; where nothing was, it is looked for, and compiled if there is none yet."""
        prepared = os.environ.get("REFERENCE_BACKEND_LIBRARY")
        if prepared:
            return (prepared,)
        from torch_conformance_reference.build import library_path

        return (str(library_path()),)

    def compile_spec(self, case: LoweredCase) -> dict[str, Any]:
        """Example values: this backend keeps any spec and needs none."""
        return {method: {"options": {"level": 1}, "limits": {"memory": 1 << 40}} for method in case.methods}

    def preprocess_count(self) -> int:
        """How often preprocess has run in this process."""
        import torch

        count: int = torch.ops.reference_backend.preprocess_count()
        return count

    def received_spec(self, processed: Any) -> dict[str, Any] | None:
        """The method compile spec that preprocess was given: it lies in the processed module."""
        spec: dict[str, Any] = processed["compile_spec"]
        return spec
