"""Values of TorchScript as bytes, and back, without executing anything that the bytes say."""

from __future__ import annotations

import io
from typing import Any

import torch


def plain(value: Any) -> Any:
    """``value`` with named tuples and the like replaced by the builtin container; tensors stay as they are.

    What has no plain form, such as an object of a custom class, becomes a string that names its type.
    """
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | torch.dtype | torch.device):
        return value
    if isinstance(value, torch.Tensor):
        return value.as_subclass(torch.Tensor)
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    return f"<object of type {type(value).__name__}>"


def encode(value: Any) -> bytes:
    """Serialise a value that :func:`plain` accepts; strides, shared storage and ``requires_grad`` survive."""
    buffer = io.BytesIO()
    torch.save(plain(value), buffer)
    return buffer.getvalue()


def decode(data: bytes) -> Any:
    """The value that :func:`encode` was given. Loads data only (``weights_only``): nothing is executed."""
    return torch.load(io.BytesIO(data), weights_only=True)


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Every tensor of a value, containers included, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, tuple | list):
        return [tensor for item in value for tensor in tensors_in(item)]
    if isinstance(value, dict):
        return tensors_in(list(value.values()))
    return []
