"""The backends of this distribution, as the harness knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from conformance import Environment, Features, TorchScriptBackend, features
from torch_conformance_saboteurs import bridge
from torch_conformance_saboteurs.build import build
from torch_conformance_saboteurs.control import PythonBackend

if TYPE_CHECKING:
    from conformance.api.backend import LoweredCase


class PythonControl(TorchScriptBackend):
    """The conforming backend. A saboteur is a subclass with a name and an implementation of its own."""

    name = "python_control"
    implementation: ClassVar[type[PythonBackend]] = PythonBackend
    features = (
        Features.all()
        .without(features.fork, "Execution is on the calling thread; prim::fork and aten::wait are refused.")
        .without(features.mutable_state, "A lowered module has no state; writes to attributes are refused.")
    )
    unavailable = Environment(SABOTEUR_COMPILE="0", SABOTEUR_EXECUTE="0")
    compile_only = Environment(SABOTEUR_EXECUTE="0")
    execute_only = Environment(SABOTEUR_COMPILE="0")
    lost = unavailable

    def prepare(self) -> None:
        """Compile the extension through which the backend is registered, unless that was done before."""
        build()

    def load(self) -> None:
        """Register the backend in this process.

        Raises CompileError, or RuntimeError if the name is taken by another backend.
        """
        if bridge.registered(self.name) is not self.implementation:
            bridge.register(self.name, self.implementation)

    def compile_spec(self, case: LoweredCase) -> dict[str, Any]:
        """A nested value of several types for each method, to see that it arrives."""
        return {method: {"options": ({"levels": [1]}, 0.5, "fast", True)} for method in case.methods}

    def preprocess_count(self) -> int:
        """Counted by the bridge, outside of the implementation."""
        return bridge.preprocess_count(self.name)

    def received_spec(self, processed: Any) -> dict[str, Any]:
        """The spec in the processed module. Raises BlobError if it is damaged."""
        return self.implementation().received_spec(processed)
