"""The program without Python that runs TorchScript artifacts: how it is compiled, and how its messages are encoded."""

from __future__ import annotations

import ctypes
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from conformance._util.compiling import Compilation, torch_folder
from conformance.compare.values import decode
from conformance.devices import Codec
from conformance.toolchains import NativeProgram

_SOURCES = Path(__file__).with_name("csrc")


def native_program() -> NativeProgram:
    """The program, linked against the whole libtorch of the installed PyTorch, which it finds by its path."""
    libraries = torch_folder() / "lib"
    linking = ("-Wl,--no-as-needed", "-Wl,--disable-new-dtags", f"-Wl,-rpath,{libraries}", "-pthread")
    compilation = Compilation("native_target", _SOURCES, "main.cpp", ("-O1", "-Wall", "-Wextra", *linking))
    return NativeProgram(compilation, MESSAGES)


def _dumps(message: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(_map_leaves(message, bytes, _as_tensor), buffer)
    return buffer.getvalue()


def _as_tensor(data: bytes) -> torch.Tensor:
    if not data:
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def _loads(data: bytes) -> Any:
    return _map_leaves(decode(data), torch.Tensor, _as_bytes)


def _as_bytes(tensor: torch.Tensor) -> bytes:
    """The bytes that a tensor stands for. ValueError where it is not simply that: memory beyond its own is not read."""
    simple = tensor.layout is torch.strided and tensor.dtype is torch.uint8 and tensor.dim() == 1
    if not simple or tensor.device.type != "cpu" or not tensor.is_contiguous():
        raise ValueError("no message: a tensor that is no row of bytes")
    if tensor.storage_offset() + tensor.numel() > tensor.untyped_storage().nbytes():
        raise ValueError("no message: a tensor that is longer than its memory")
    return ctypes.string_at(tensor.data_ptr(), tensor.numel())


def _map_leaves(message: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """A message with every leaf of that kind changed."""
    if isinstance(message, dict):
        return {key: _map_leaves(value, kind, change) for key, value in message.items()}
    if isinstance(message, list | tuple):
        return type(message)(_map_leaves(value, kind, change) for value in message)
    return change(message) if isinstance(message, kind) else message


#: Messages as torch.save writes them, which C++ can read without a parser of ours: raw bytes are tensors of uint8.
MESSAGES = Codec(_dumps, _loads)
