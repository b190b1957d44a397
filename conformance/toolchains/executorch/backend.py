"""What the author of an ExecuTorch delegate derives from."""

from __future__ import annotations

from typing import Any

from conformance.api.backend import Backend, LoweredCase


class ExecuTorchBackend(Backend):
    """A delegate of ExecuTorch: a partitioner and its preprocess ahead of time, and a library with the run-time half.

    ``name`` is the id in the partitioner's DelegationSpec, and in the registry of the runtime.
    """

    toolchain = "executorch"
    #: The shared libraries whose loading registers the run-time half, as paths; none where ExecuTorch itself has it.
    libraries: tuple[str, ...] = ()
    #: Why no program of it can be run on this machine, in a sentence; empty where programs run. It is then held against
    #: the contract as far as lowering goes, and what has to run a program is NOT_EXERCISED, for this reason.
    only_lowers: str = ""

    def partitioner(self, case: LoweredCase) -> Any:
        """A fresh ``executorch.exir.backend.partitioner.Partitioner`` for a model. Called only where models are
        lowered; import the ahead-of-time half here."""
        raise NotImplementedError(f"{type(self).__name__} says by partitioner() how a model is delegated")

    def quantizer(self, case: LoweredCase) -> Any:
        """A fresh quantizer of PT2E, by which a model is prepared before it is lowered; None where there is none, and
        quantised models are not asked for."""
        return None

    def load(self) -> None:
        """Load :attr:`libraries` into the process of ExecuTorch's runtime. Called only where programs run."""
        import ctypes

        import executorch.runtime  # noqa: F401  (what the libraries are linked against)

        for library in self.libraries:
            ctypes.CDLL(library)
