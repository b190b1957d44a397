"""Finds the backend's library, and compiles it where there is none yet.

A library fits one PyTorch, one set of sources, one compiler command and one platform: these make the key of
the folder that it lies in. So a stale library is never found, and nothing needs to be cleaned up to rebuild.

``python -m torch_conformance_reference.build`` compiles ahead of time, into the package's own folder.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch

_PACKAGE = Path(__file__).resolve().parent
_SOURCES = _PACKAGE / "csrc"
_LIBRARY = "libreference_backend.so"

_COMPILE_SECONDS = 900
# Longer than a compilation, so that waiting for another process's build does not give up before it ends.
_LOCK_SECONDS = _COMPILE_SECONDS + 60


class BuildError(RuntimeError):
    """The library could not be compiled; the text holds the compiler's output and what to do."""


def library_path() -> Path:
    """The library for this process's PyTorch: built ahead of time, or cached, or compiled now (some 20 s).

    Raises :class:`BuildError` when it has to be compiled and cannot be.
    """
    ahead_of_time = _library_in(_ahead_of_time_folder())
    if ahead_of_time.exists():
        return ahead_of_time
    cached = _library_in(_cache_folder())
    if not cached.exists():
        _build_once(cached)
    return cached


def build_ahead_of_time() -> Path:
    """Compile the library into the package's own folder, where it is preferred to the cache."""
    library = _library_in(_ahead_of_time_folder())
    library.unlink(missing_ok=True)
    _build_once(library)
    return library


def _ahead_of_time_folder() -> Path:
    return _PACKAGE / "lib"


def _cache_folder() -> Path:
    override = os.environ.get("REFERENCE_BACKEND_CACHE")
    if override:
        return Path(override)
    import platformdirs

    return platformdirs.user_cache_path("torch-conformance-reference")


def _library_in(folder: Path) -> Path:
    return folder / _key() / _LIBRARY


@functools.cache
def _key() -> str:
    """What the library depends on, as the name of a folder."""
    parts = [torch.__version__, platform.system(), platform.machine(), *_compiler(), *_flags()]
    digest = hashlib.sha256(json.dumps(parts).encode())
    for source in sorted(_SOURCES.iterdir()):
        digest.update(f"\0{source.name}\0".encode() + source.read_bytes())
    return digest.hexdigest()[:24]


def _compiler() -> Sequence[str]:
    return shlex.split(os.environ.get("CXX") or "g++")


def _flags() -> Sequence[str]:
    """The flags that do not depend on where things lie."""
    return (
        "-std=c++20",
        "-O2",
        "-fPIC",
        "-shared",
        "-Wall",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
    )


def _command(output: Path) -> Sequence[str]:
    # Imported only here: it costs more than all the rest, and is not needed to find a library.
    from torch.utils.cpp_extension import include_paths

    root = Path(torch.__file__).parent
    return (
        *_compiler(),
        *_flags(),
        # Error messages name PyTorch's headers; no path of this machine belongs into a library.
        f"-ffile-prefix-map={root}=torch",
        *(flag for folder in include_paths() for flag in ("-isystem", folder)),
        "library.cpp",
        "-o",
        str(output),
        # The process that loads the library has loaded PyTorch, and needs no Python: only what is used is
        # linked, and no search path is written down.
        "-Wl,--as-needed",
        "-Wl,--no-undefined",
        f"-L{root / 'lib'}",
        "-ltorch_cpu",
        "-lc10",
    )


def _build_once(library: Path) -> None:
    """Compile, unless another process has done so in the meantime.

    The operating system gives the lock back when its owner dies: a killed build leaves nothing to wait for.
    """
    import filelock

    library.parent.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(library.with_suffix(".lock"), timeout=_LOCK_SECONDS)
    try:
        with lock:
            if not library.exists():
                _build(library)
    except filelock.Timeout as error:
        raise BuildError(
            f"expected another process to finish building {library} within {_LOCK_SECONDS} s, and it still "
            f"holds {error.lock_file}; end that process and try again"
        ) from error


def _build(library: Path) -> None:
    """Compile to a temporary file, and rename it when it is complete."""
    if platform.system() != "Linux":
        raise BuildError(f"the reference backend is built on Linux only, found {platform.system()}")
    # The lock is held: what lies here was left by a build that was killed.
    for abandoned in library.parent.glob("build-*"):
        shutil.rmtree(abandoned, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=library.parent, prefix="build-") as folder:
        unfinished = Path(folder) / library.name
        _compile(_command(unfinished))
        os.replace(unfinished, library)


def _compile(command: Sequence[str]) -> None:
    try:
        # In the sources' folder, so that the paths in the library are relative.
        finished = subprocess.run(
            command,
            cwd=_SOURCES,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_COMPILE_SECONDS,
            check=False,
        )
    except OSError as error:
        raise BuildError(
            f"expected a C++20 compiler, and {command[0]!r} could not be started: {error.strerror}\n"
            "Install one (for example `apt install g++`), or name it in the environment variable CXX, or "
            "build where there is one: python -m torch_conformance_reference.build"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise BuildError(
            f"expected the compiler to finish within {_COMPILE_SECONDS} s, and it did not:\n{shlex.join(command)}"
        ) from error
    if finished.returncode != 0:
        raise BuildError(
            f"expected the sources to compile against torch {torch.__version__}, and the compiler ended with "
            f"{finished.returncode}. It must know C++20, as g++ 11 does; CXX names another one.\n"
            f"{shlex.join(command)}\n{finished.stdout}"
        )


def main() -> int:
    """Build ahead of time; the exit code is 1 when that fails."""
    try:
        print(build_ahead_of_time())
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
