"""Devices without Python: a child of the zygote becomes a small C++ program that has nothing but libtorch.

The program is the toolchain's own, and compiled on first use. It answers those verbs that make sense there, and says so
of the others, which makes their cells NOT_EXERCISED. Everything that watches over a device watches over it too.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import platformdirs

from conformance._util.compiling import CompileError, compiled
from conformance.api.errors import TargetUnable
from conformance.devices import Child, DeviceKind, Limits, ZygotePool
from conformance.toolchains import NativeProgram, toolchain_named

_START_SECONDS = 60


class NativePool:
    """Makes children of a zygote into programs without Python. ``announce`` is called before the first is compiled."""

    def __init__(self, local: ZygotePool, announce: Callable[[], None] = lambda: None) -> None:
        self._local = local
        self._announce = announce
        self._compiled: dict[str, Path | str] = {}

    def fork(
        self,
        kind: DeviceKind,
        subject: dict[str, Any] | None,
        environment: dict[str, str | None],
        limits: Limits | None = None,
    ) -> Child:
        """A native program with the backend's libraries. Raises TargetUnable, with the reason, where there is none."""
        native = toolchain_named(kind.toolchain).native_program()
        if native is None:
            raise TargetUnable(f"no program without Python speaks for the toolchain {kind.toolchain}")
        name, libraries = ("", []) if subject is None else (subject["name"], subject["libraries"])
        if subject is not None and not libraries:
            raise TargetUnable(
                "the backend has no library that a program without Python could load (attribute 'libraries')"
            )
        program = [str(self._program(kind.toolchain, native)), name, *libraries]
        return self._local.fork(kind, subject, environment, limits, program, native.codec)

    def _program(self, toolchain: str, native: NativeProgram) -> Path:
        """A toolchain's program, compiled now if need be (10 to 20 s). Raises TargetUnable."""
        if toolchain not in self._compiled:
            self._compiled[toolchain] = self._compile(native)
        found = self._compiled[toolchain]
        if isinstance(found, str):
            raise TargetUnable(found)
        return found

    def _compile(self, native: NativeProgram) -> Path | str:
        """The program, or why there is none."""
        try:
            program = compiled(native.compilation, platformdirs.user_cache_path("torch-conformance"), self._announce)
            _expect_start(program)
        except CompileError as error:
            return f"no native target: {str(error).partition(chr(10))[0]}"
        return program


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
