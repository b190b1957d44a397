"""Compiles the run-time half, once for the ExecuTorch that is installed.

The library lies in a cache of the user's; ``REFERENCE_EXECUTORCH_CACHE`` puts it elsewhere, ``CXX`` chooses the
compiler.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import importlib.util
import os
from pathlib import Path

from conformance.compiling import Compilation, compiled

SOURCES = Path(__file__).parent / "csrc"


@dataclasses.dataclass(frozen=True, slots=True)
class DelegateLibrary(Compilation):
    """A library for the runtime of ExecuTorch. It needs neither Python nor PyTorch."""

    def includes(self) -> list[str]:
        """ExecuTorch's headers, and those of PyTorch's that it brings along."""
        folder = _executorch() / "include"
        c10 = folder / "executorch" / "runtime" / "core" / "portable_type" / "c10"
        return ["-DC10_USING_CUSTOM_GENERATED_MACROS", "-isystem", str(folder), "-isystem", str(c10)]

    def links(self) -> list[str]:
        """ExecuTorch's runtime, which the process that loads the library has loaded already."""
        return [f"-L{_executorch() / 'lib'}", "-lexecutorch"]


def delegate_library(output: str, sources: Path, main: str) -> DelegateLibrary:
    """A library of these sources, which can include the reference delegate's own."""
    # What flags say is part of the name under which a library is kept: another version is another library.
    built_for = [f"executorch {importlib.metadata.version('executorch')}"]
    built_for += [hashlib.sha256(each.read_bytes()).hexdigest()[:12] for each in sorted(SOURCES.iterdir())]
    flags = (
        "-O1",
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
        "-DET_EVENT_TRACER_ENABLED",
        f'-DBUILT_FOR="{" ".join(built_for)}"',
        f"-I{SOURCES}",
    )
    return DelegateLibrary(output, sources, main, flags)


def library_path() -> Path:
    """The library of the reference delegate, compiled now if there is none yet.

    Raises conformance.compiling.CompileError.
    """
    return compiled(delegate_library("libreference_executorch.so", SOURCES, "library.cpp"), cache_folder())


def cache_folder() -> Path:
    """Where compiled files lie: ``REFERENCE_EXECUTORCH_CACHE``, or the user's cache directory."""
    override = os.environ.get("REFERENCE_EXECUTORCH_CACHE")
    if override:
        return Path(override)
    import platformdirs

    return platformdirs.user_cache_path("torch-conformance-reference-executorch")


def _executorch() -> Path:
    """Where the installed ExecuTorch lies: the part of that namespace package which has the runtime. Nothing is run."""
    found = importlib.util.find_spec("executorch.runtime")
    assert found is not None, "the distribution depends on it"
    assert found.origin is not None, "executorch.runtime is a package"
    return Path(found.origin).parents[1]
