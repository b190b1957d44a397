"""Builds the small extension ``_bridge`` for the PyTorch that is installed, once, and loads it.

The compiled file lies in a cache of the user's, under a name that changes with PyTorch, Python, the source
and the compiler's command line. ``SABOTEURS_CACHE`` puts the cache elsewhere; ``CXX`` chooses the compiler.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import importlib.util
import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType

import torch

SOURCE = Path(__file__).parent / "csrc" / "bridge.cpp"
_MODULE = "torch_conformance_saboteurs._bridge"
_MINUTES = 10


class BuildError(RuntimeError):
    """The extension could not be compiled; the text is the command and what the compiler said."""


def cache_directory() -> Path:
    """Where compiled extensions lie: ``SABOTEURS_CACHE``, or the user's cache directory."""
    override = os.environ.get("SABOTEURS_CACHE")
    if override:
        return Path(override)
    import platformdirs

    return platformdirs.user_cache_path("torch-conformance-saboteurs")


def command() -> list[str]:
    """The compiler's command line, without its input and its output."""
    torch_directory = Path(torch.__file__).parent
    return [
        *shlex.split(os.environ.get("CXX") or "g++"),
        *("-std=c++20", "-O1", "-fPIC", "-shared", "-fvisibility=hidden"),
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
        *(f"-I{torch_directory / 'include' / part}" for part in ("", "torch/csrc/api/include")),
        f"-I{sysconfig.get_paths()['include']}",
        f"-L{torch_directory / 'lib'}",
        *("-lc10", "-ltorch", "-ltorch_cpu", "-ltorch_python"),
    ]


def library_path() -> Path:
    """Where the extension for this PyTorch, Python, source and command lies, or will lie once it is built."""
    key = hashlib.sha256()
    for part in (torch.__version__, sys.version, *command()):
        key.update(part.encode() + b"\0")
    key.update(SOURCE.read_bytes())
    return cache_directory() / key.hexdigest()[:24] / f"_bridge{importlib.machinery.EXTENSION_SUFFIXES[0]}"


def build() -> Path:
    """Compile the extension unless it is there already, and return its path.

    Safe to call from several processes at once: one compiles and the others wait. Raises :class:`BuildError`.
    """
    path = library_path()
    if path.is_file():
        return path
    import filelock

    path.parent.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(path.with_name("lock")):
        if not path.is_file():
            _compile_to(path)
    return path


def _compile_to(path: Path) -> None:
    """Compile into a temporary file beside ``path`` and move it there: nobody loads half a file."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    os.close(descriptor)
    compiler, *options = command()
    line = [compiler, str(SOURCE), "-o", temporary, *options]
    try:
        try:
            result = subprocess.run(
                line,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=_MINUTES * 60,
            )
        except FileNotFoundError as error:
            raise BuildError(f"no compiler {compiler!r} was found; install g++, or name another in CXX") from error
        except subprocess.TimeoutExpired as error:
            raise BuildError(f"not finished within {_MINUTES} minutes: {shlex.join(line)}") from error
        if result.returncode != 0:
            raise BuildError(f"{shlex.join(line)}\nended with code {result.returncode}:\n{result.stdout}")
        os.chmod(temporary, 0o755)
        os.replace(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def load() -> ModuleType:
    """The extension as a module, built first if need be. The same module when called again in a process."""
    if _MODULE in sys.modules:
        return sys.modules[_MODULE]
    path = build()
    loader = importlib.machinery.ExtensionFileLoader(_MODULE, str(path))
    spec = importlib.util.spec_from_file_location(_MODULE, path, loader=loader)
    if spec is None:
        raise ImportError(f"{path} cannot be loaded as an extension module")
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    sys.modules[_MODULE] = module
    return module
