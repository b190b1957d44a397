"""What the zygote of ExecuTorch targets does ahead of them: it has the runtime and its kernels, and lowers nothing."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from executorch.runtime import Runtime

import conformance.toolchains.executorch.programs
import conformance.toolchains.executorch.runtime
import conformance.toolchains.executorch.verbs  # noqa: F401


def warm_up() -> Iterator[None]:
    """Import what every target imports."""
    Runtime.get()
    importlib.import_module("executorch.kernels.quantized")  # the kernels of quantised models
    yield
