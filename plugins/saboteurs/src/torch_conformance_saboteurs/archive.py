"""A scripted module as bytes, and back, by way of what is below ``torch.jit.save`` and ``torch.jit.load``."""

from __future__ import annotations

import io
from typing import Any

import torch

# PyTorch's type stubs lack half of what is used here, or have it otherwise.
_core: Any = torch._C

# The version of the format lies under the second name since version 6.
_VERSIONS = ("version", ".data/version")
# Written by the archive writer itself.
_OWN_RECORDS = (*_VERSIONS, "byteorder", ".data/serialization_id")


def module_to_bytes(module: torch._C.ScriptModule) -> bytes:
    """The module's archive without the records that hold the paths of its author's source files."""
    saveable: Any = module
    reader = _core.PyTorchFileReader(io.BytesIO(saveable.save_to_buffer({})))
    stripped = io.BytesIO()
    writer = _core.PyTorchFileWriter(stripped)
    (version,) = (name for name in _VERSIONS if reader.has_record(name))
    writer.set_min_version(int(reader.get_record(version)))
    for name in reader.get_all_records():
        if name not in _OWN_RECORDS and not name.endswith(".debug_pkl"):
            data = reader.get_record(name)
            writer.write_record(name, data, len(data))
    writer.write_end_of_file()
    return stripped.getvalue()


def module_from_bytes(data: bytes, unit: torch._C.CompilationUnit | None = None) -> torch._C.ScriptModule:
    """The module of an archive, which shares nothing with any other; ``unit``, if given, receives its code.

    Its tensors are ordinary ones even when inference mode is on, so that it can be run later in any mode.
    """
    with torch.inference_mode(False):
        module: torch._C.ScriptModule = _core.import_ir_module_from_buffer(
            unit or torch._C.CompilationUnit(), data, None, {}, False
        )
        return module
