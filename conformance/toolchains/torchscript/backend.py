"""What the author of a TorchScript delegate derives from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.api.backend import Backend, LoweredCase

if TYPE_CHECKING:
    import torch


class TorchScriptBackend(Backend):
    """A TorchScript delegate: a library that registers itself for ``torch._C._jit_to_backend``."""

    toolchain = "torchscript"
    #: The shared libraries whose loading registers the backend, as paths.
    libraries: tuple[str, ...] = ()

    def load(self) -> None:
        """Load :attr:`libraries` with ``torch.ops.load_library``."""
        import torch

        for library in self.libraries:
            torch.ops.load_library(library)

    def compile_spec(self, case: LoweredCase) -> dict[str, Any]:
        """The method compile spec for a model: a value for each of its methods, all of the same type."""
        return dict.fromkeys(case.methods, "")

    def lower(self, module: torch.jit.ScriptModule, method_compile_spec: dict[str, Any]) -> torch.jit.ScriptModule:
        """Lower a scripted module. Override it only if users of the backend lower by another call."""
        import torch

        lowered: torch.jit.ScriptModule = torch._C._jit_to_backend(self.name, module, method_compile_spec)  # type: ignore[attr-defined]
        return lowered

    def received_spec(self, processed: Any) -> dict[str, Any] | None:
        """The method compile spec that preprocess was given, read from its result; None if it does not keep it."""
        return None
