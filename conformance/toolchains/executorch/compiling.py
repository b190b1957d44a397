"""Compiles C++ against the runtime of the ExecuTorch that is installed, once."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import importlib.util
from pathlib import Path

from conformance._util.compiling import Compilation


@dataclasses.dataclass(frozen=True, slots=True)
class RuntimeLibrary(Compilation):
    """A library for the runtime of ExecuTorch. It needs neither Python nor PyTorch."""

    def includes(self) -> list[str]:
        """ExecuTorch's headers, and those of PyTorch's that it brings along."""
        folder = executorch_folder() / "include"
        c10 = folder / "executorch" / "runtime" / "core" / "portable_type" / "c10"
        return ["-DC10_USING_CUSTOM_GENERATED_MACROS", "-isystem", str(folder), "-isystem", str(c10)]

    def links(self) -> list[str]:
        """ExecuTorch's runtime, which the process that loads the library has loaded already."""
        return [f"-L{executorch_folder() / 'lib'}", "-lexecutorch"]


def runtime_library(output: str, sources: Path, main: str, *flags: str) -> RuntimeLibrary:
    """A library of these sources. Another version of ExecuTorch makes another library of them."""
    built_for = f'-DBUILT_FOR="executorch {importlib.metadata.version("executorch")}"'
    return RuntimeLibrary(output, sources, main, ("-O1", "-fPIC", "-shared", "-fvisibility=hidden", built_for, *flags))


def executorch_folder() -> Path:
    """Where the installed ExecuTorch lies. Nothing of it is run.

    It is a namespace package: any folder named ``executorch`` on Python's path is a part of it too, such as a checkout,
    so that the part is asked for which has the runtime.
    """
    try:
        found = importlib.util.find_spec("executorch.runtime")
    except ModuleNotFoundError:
        found = None
    if found is None or found.origin is None:
        raise ModuleNotFoundError("executorch.runtime is not installed: pip install 'torch-conformance[executorch]'")
    return Path(found.origin).parents[1]
