"""What the target does, in terms of ExecuTorch's runtime."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from executorch.runtime import Program, Runtime


def loader(data: bytes, via: str) -> Callable[[], Program]:
    """What loads a program in one of the ways that the runtime offers, each time from the same bytes."""
    runtime = Runtime.get()
    if via in ("bytes", "bytearray"):
        source = data if via == "bytes" else bytearray(data)
        return lambda: runtime.load_program(source)
    path = Path(tempfile.mkdtemp(), "program.pte")
    path.write_bytes(data)
    if via == "path":
        return lambda: runtime.load_program(path)

    def from_file() -> Program:
        with path.open("rb") as file:
            return runtime.load_program(file)

    return from_file
