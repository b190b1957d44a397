"""What the target does, in terms of ExecuTorch's runtime."""

from __future__ import annotations

import contextlib
import ctypes
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from executorch.runtime import Program, Runtime


def file_of(data: bytes) -> Path:
    """A new file with these bytes."""
    path = Path(tempfile.mkdtemp(), "program.pte")
    path.write_bytes(data)
    return path


def loaded_from(path: Path) -> Program:
    """A program that is read from a file, part by part, when it is needed."""
    return Runtime.get().load_program(path)


def loaded_with_data(program: bytes, data: bytes) -> Program:
    """A program whose data lies in a .ptd."""
    path = Path(tempfile.mkdtemp(), "weights.ptd")
    path.write_bytes(data)
    return Runtime.get().load_program(program, data_path=path)


def events_of(program: Program) -> list[list[dict[str, Any]]]:
    """What a traced program has recorded of each call so far, as its ETDump has it."""
    from executorch.devtools.etdump.serialize import deserialize_from_etdump_flatcc

    folder = Path(tempfile.mkdtemp())
    program.write_etdump_result_to_file(str(folder / "trace.etdp"), str(folder / "debug.bin"))
    dump = deserialize_from_etdump_flatcc((folder / "trace.etdp").read_bytes())
    calls = [block.events for block in dump.run_data if block.name == "Execute"]
    return [[_event(each.profile_event) for each in events if each.profile_event] for events in calls]


def _event(event: Any) -> dict[str, Any]:
    text, number = event.delegate_debug_id_str, event.delegate_debug_id_int
    return {
        "name": event.name or "",
        "id": text or ("" if number in (None, -1) else str(number)),
        "instruction": event.instruction_id,
        "begins": event.start_time,
        "ends": event.end_time,
    }


def bundled_module(data: bytes) -> Any:
    """A bundled program, loaded; it looks at the bytes for as long as it lives."""
    from executorch.extension.pybindings import portable_lib

    return portable_lib._load_bundled_program_from_buffer(data)


def program_within(bundled: Any) -> Any:
    """The program of a bundled one, as a module whose methods can be run."""
    from executorch.extension.pybindings import portable_lib

    return portable_lib._load_for_executorch_from_bundled_program(bundled)


def resident_bytes() -> int:
    """The memory that the process has resident, without what it has freed and keeps."""
    with contextlib.suppress(OSError, AttributeError):  # a C library that has no such function
        ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def loader(data: bytes, via: str) -> Callable[[], Program]:
    """What loads a program in one of the ways that the runtime offers, each time from the same bytes."""
    runtime = Runtime.get()
    if via in ("bytes", "bytearray"):
        source = data if via == "bytes" else bytearray(data)
        return lambda: runtime.load_program(source)
    path = file_of(data)
    if via == "path":
        return lambda: runtime.load_program(path)

    def from_file() -> Program:
        with path.open("rb") as file:
            return runtime.load_program(file)

    return from_file
