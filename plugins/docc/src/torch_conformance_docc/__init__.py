"""Daisytuner's docc, a backend of ``torch.compile`` that makes C++ of a graph, for a compiler of the system's."""

from __future__ import annotations

import os
import shutil

from conformance import DynamoBackend, Features, features

#: How docc is told which compiler to start: its own default is a name that few distributions have.
COMPILER = "DOCC_BACKEND_COMPILER"
#: The versions of Clang that docc's documentation names (install.md: LLVM 21; python/README.md: Clang 19).
COMPILERS = ("clang++-21", "clang++-19")


class Docc(DynamoBackend):
    """As its documentation has it: ``import docc.torch``, then ``torch.compile(model, backend="docc")``.

    That has no list of what a graph may hold. What is declared missing is refused for what it is when a graph is read.
    """

    name = "docc"
    runtime = ("docc", "torch_mlir")
    features = (
        Features.all()
        .without(features.control_flow, "torch-mlir: \"Higher-order operation 'cond' not implemented\"")
        .without(features.custom_operators, "torch-mlir: \"failed to legalize operation 'torch.operator'\"")
        .without(features.random_numbers, "docc: 'Failed to parse MLIR module'")
        .without(features.packages, "compiled code is a plain function, which PyTorch cannot save")
    )

    def load(self) -> None:
        """Importing the package registers the backend; a compiler is named for it unless the user has named one."""
        if COMPILER not in os.environ:
            os.environ[COMPILER] = _installed_compiler()
        import docc.torch  # noqa: F401

        super().load()


def _installed_compiler() -> str:
    """The first of the compilers that is here; raises RuntimeError where none is: docc would end the process."""
    found = next((each for each in COMPILERS if shutil.which(each)), None)
    if found is None:
        raise RuntimeError(
            f"docc compiles C++ when a graph is lowered: expected {' or '.join(COMPILERS)} on PATH, found neither; "
            f"install one, or name another Clang in {COMPILER}"
        )
    return found
