"""Devices without Python: a child of the zygote becomes a small C++ program that has nothing but libtorch.

The program (``csrc/``) is compiled on first use. It answers those verbs that make sense there, and says so of the
others, which makes their cells NOT_EXERCISED. Everything that watches over a device watches over it too.
"""

from __future__ import annotations

import ctypes
import io
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import platformdirs
import torch

from conformance.compiling import Compilation, CompileError, compiled, torch_folder
from conformance.devices._child import Child, Limits
from conformance.devices._framing import Codec
from conformance.devices._pool import ZygotePool
from conformance.errors import TargetUnable
from conformance.values import decode

_SOURCES = Path(__file__).with_name("csrc")
_START_SECONDS = 60


class NativePool:
    """Makes children of a zygote into programs without Python. ``announce`` is called before the first is compiled."""

    def __init__(self, local: ZygotePool, announce: Callable[[], None] = lambda: None) -> None:
        self._local = local
        self._announce = announce
        self._program: Path | None = None
        self._problem = ""

    def fork(
        self,
        toolchain: str,
        subject: dict[str, Any] | None,
        environment: dict[str, str | None],
        limits: Limits | None = None,
    ) -> Child:
        """A native program with the backend's libraries. Raises TargetUnable, with the reason, where there is none."""
        if toolchain != "torchscript":
            raise TargetUnable(f"the native target speaks torchscript, and not {toolchain}")
        name, libraries = ("", []) if subject is None else (subject["name"], subject["libraries"])
        if subject is not None and not libraries:
            raise TargetUnable(
                "the backend has no library that a program without Python could load (attribute 'libraries')"
            )
        program = [str(self.program()), name, *libraries]
        return self._local.fork(toolchain, subject, environment, limits, program, MESSAGES)

    def program(self) -> Path:
        """The program for the PyTorch that is installed, compiled now if need be (10 to 20 s). Raises TargetUnable."""
        if self._problem:
            raise TargetUnable(self._problem)
        if self._program is None:
            try:
                program = compiled(native_program(), platformdirs.user_cache_path("torch-conformance"), self._announce)
                _expect_start(program)
            except CompileError as error:
                self._problem = f"no native target: {str(error).partition(chr(10))[0]}"
                raise TargetUnable(self._problem) from error
            self._program = program
        return self._program


def native_program() -> Compilation:
    """How the program is compiled: it finds libtorch where the installed PyTorch has it, and needs all of it."""
    libraries = torch_folder() / "lib"
    linking = ("-Wl,--no-as-needed", "-Wl,--disable-new-dtags", f"-Wl,-rpath,{libraries}", "-pthread")
    return Compilation("native_target", _SOURCES, "main.cpp", ("-O1", "-Wall", "-Wextra", *linking))


def _expect_start(program: Path) -> None:
    """Raise CompileError unless the program starts, which it does not where a library is missing."""
    try:
        done = subprocess.run(
            [str(program), "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_START_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        why = error.strerror if isinstance(error, OSError) else f"it did not end within {_START_SECONDS} s"
        raise CompileError(f"the native program was compiled and cannot be started: {why}") from error
    if done.returncode != 0:
        raise CompileError(f"the native program was compiled and does not start: {done.stderr.strip()}")


def _dumps(message: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(_map_leaves(message, bytes, _as_tensor), buffer)
    return buffer.getvalue()


def _as_tensor(data: bytes) -> torch.Tensor:
    if not data:
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def _loads(data: bytes) -> Any:
    try:
        message = decode(data)
    except Exception as error:  # whatever torch.load makes of bytes that a damaged process sent
        raise ValueError(f"no message: {type(error).__name__}: {error}") from error
    return _map_leaves(message, torch.Tensor, lambda tensor: ctypes.string_at(tensor.data_ptr(), tensor.numel()))


def _map_leaves(message: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """A message with every leaf of that kind changed."""
    if isinstance(message, dict):
        return {key: _map_leaves(value, kind, change) for key, value in message.items()}
    if isinstance(message, list | tuple):
        return type(message)(_map_leaves(value, kind, change) for value in message)
    return change(message) if isinstance(message, kind) else message


#: Messages as torch.save writes them, which C++ can read without a parser of ours: raw bytes are tensors of uint8.
MESSAGES = Codec(_dumps, _loads)
