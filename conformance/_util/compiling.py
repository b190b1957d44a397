"""Compiles C++ against the PyTorch that is installed, once: a program, or a library.

What comes of it fits one PyTorch, one set of sources, one command line and one platform: these make the key of the
folder that it lies in. So nothing stale is ever found, and nothing needs to be cleaned up to compile anew.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

_COMPILE_SECONDS = 900
#: Longer than a compilation, so that waiting for another process's does not give up before it ends.
_LOCK_SECONDS = _COMPILE_SECONDS + 60


class CompileError(RuntimeError):
    """It could not be compiled; the first line says why, and the rest holds the compiler's output."""


@dataclasses.dataclass(frozen=True, slots=True)
class Compilation:
    """A file that the compiler makes: ``output`` from the ``main`` file in the folder ``sources``, with ``flags``.

    The flags for finding PyTorch, and for linking libtorch, are added; what else is linked is in ``libraries``. What is
    compiled against something else overrides :meth:`includes` and :meth:`links`, and names its version in ``flags``.
    """

    output: str
    sources: Path
    main: str
    flags: tuple[str, ...]
    libraries: tuple[str, ...] = ()

    def path(self, cache: Path) -> Path:
        """Where in the folder ``cache`` the file lies, or will once it is compiled. Raises CompileError."""
        parts = (
            self.output,
            self.main,
            platform.system(),
            platform.machine(),
            *_compiler(),
            *self._flags(),
            *self.libraries,
        )
        digest = hashlib.sha256(json.dumps((_torch_version(), *parts)).encode())
        for source in sorted(each for each in self.sources.iterdir() if each.is_file()):
            digest.update(f"\0{source.name}\0".encode() + source.read_bytes())
        return cache / digest.hexdigest()[:24] / self.output

    def _flags(self) -> tuple[str, ...]:
        import torch

        return ("-std=c++20", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}", *self.flags)

    def command(self, output: Path) -> list[str]:
        """The compiler's command line, for the folder of the sources."""
        return [
            *_compiler(),
            *self._flags(),
            *self.includes(),
            *(self.main, "-o", str(output), *self.libraries),
            *self.links(),
        ]

    def includes(self) -> list[str]:
        """The flags by which the compiler finds headers."""
        root = torch_folder()
        return [
            f"-ffile-prefix-map={root}=torch",  # no path of this machine belongs into what is compiled
            *("-isystem", str(root / "include"), "-isystem", str(root / "include/torch/csrc/api/include")),
        ]

    def links(self) -> list[str]:
        """The flags by which the linker finds what every file of the kind needs."""
        return [f"-L{torch_folder() / 'lib'}", "-ltorch", "-ltorch_cpu", "-lc10", "-ldl"]


def torch_folder() -> Path:
    """Where the installed PyTorch lies."""
    import torch

    return Path(torch.__file__).parent


def compiled(wanted: Compilation, cache: Path, announce: Callable[[], None] = lambda: None) -> Path:
    """The compiled file: found in ``cache``, or compiled now, which is announced.

    Safe to call from several processes at once: one compiles and the others wait. The operating system takes the lock
    from an owner that dies, so a build that is killed leaves nothing to wait for. Raises CompileError.
    """
    import filelock

    path = wanted.path(cache)
    if path.is_file():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(path.with_name("lock"), timeout=_LOCK_SECONDS):
            if not path.is_file():
                announce()
                _compile(wanted, path)
    except filelock.Timeout as error:
        raise CompileError(
            f"another process has been compiling {path.name} for {_LOCK_SECONDS} s; end it and try again"
        ) from error
    except OSError as error:
        raise CompileError(
            f"{path.name} cannot be kept in {cache}: {error.strerror or error}; make room there and let this user write"
        ) from error
    return path


def _compile(wanted: Compilation, path: Path) -> None:
    """Compile to a temporary file, and rename it when it is complete."""
    for abandoned in path.parent.glob("build-*"):  # the lock is held: a build that was killed has left them
        shutil.rmtree(abandoned, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="build-") as folder:
        unfinished = Path(folder, path.name)
        _run(wanted.command(unfinished), wanted.sources)
        os.replace(unfinished, path)


def _run(command: list[str], folder: Path) -> None:
    try:
        finished = subprocess.run(
            command,
            cwd=folder,  # so that the paths in what is compiled are relative
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_COMPILE_SECONDS,
            check=False,
        )
    except OSError as error:
        raise CompileError(
            f"no C++ compiler: {command[0]!r} could not be started ({error.strerror}); install one that knows C++20, "
            "such as g++, or name it in the environment variable CXX"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise CompileError(f"the compiler did not finish within {_COMPILE_SECONDS} s\n{shlex.join(command)}") from error
    if finished.returncode != 0:
        raise CompileError(
            f"the compiler {command[0]!r} ended with {finished.returncode} (it must know C++20; CXX names another)\n"
            f"{shlex.join(command)}\n{finished.stdout}"
        )


def _compiler() -> list[str]:
    command = os.environ.get("CXX", "")
    try:
        return shlex.split(command) or ["g++"]
    except ValueError as error:
        raise CompileError(
            f"no C++ compiler: the environment variable CXX is no command, {command!r} ({error}); name one there that "
            "knows C++20, such as g++, or unset it"
        ) from error


def _torch_version() -> str:
    import torch

    return str(torch.__version__)
