"""Values of TorchScript as bytes, and back, without executing anything that the bytes say."""

from __future__ import annotations

import contextlib
import io
import pickle
import types
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
from torch.jit import _pickle as typed

from conformance.api.errors import GarbledValue

#: PyTorch's C++ writes containers by these functions of a value (and of its type), each of which returns the value.
_TYPED: list[Callable[..., Any] | tuple[Callable[..., Any], str]] = [
    typed.build_boollist,
    typed.build_doublelist,
    typed.build_intlist,
    typed.build_tensorlist,
    typed.restore_type_tag,
]


class _Pickler(pickle._Pickler):
    """Writes whole numbers beyond 32 bits in eight bytes, as PyTorch's C++ does: it reads them in no other length.

    It is written in Python, and takes twice as long as Python's own in C, in which this cannot be changed: so it writes
    only what has such numbers.
    """

    def _save_int(self, number: int) -> None:
        if -(2**31) <= number < 2**31 or not -(2**63) <= number < 2**63:
            self.save_long(number)  # type: ignore[attr-defined]
        else:
            self.write(pickle.LONG1 + b"\x08" + number.to_bytes(8, "little", signed=True))  # type: ignore[attr-defined]

    dispatch: ClassVar[dict[type, Any]] = {**pickle._Pickler.dispatch, int: _save_int}


#: What torch.save takes for a module of that interface.
_OF_WIDE_NUMBERS = types.SimpleNamespace(__name__=__name__, Pickler=_Pickler)


def plain(value: Any) -> Any:
    """``value`` with named tuples and the like replaced by the builtin container; tensors stay as they are, but for
    zeros that PyTorch keeps without memory.

    What has no plain form, such as an object of a custom class, becomes a string that names its type.
    """
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | torch.dtype | torch.device):
        return value
    if isinstance(value, torch.Tensor):
        return _plain_tensor(value)
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    return f"<object of type {type(value).__name__}>"


def _plain_tensor(tensor: torch.Tensor) -> torch.Tensor:
    if tensor._is_zerotensor():
        # without memory, as autograd has some zeros; nothing can save it
        return tensor.detach().clone().requires_grad_(tensor.requires_grad)
    expect_memory(tensor)
    return tensor if type(tensor) is torch.Tensor else tensor.as_subclass(torch.Tensor)


def expect_memory(tensor: torch.Tensor) -> None:
    """Raise TypeError for a tensor of the processor whose elements are not in memory: a fake one, and one below which
    the memory was resized away."""
    if tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.is_nested:
        return
    storage = tensor.untyped_storage()
    if storage.device.type != "cpu":
        raise TypeError(f"a tensor in memory is due, and this is a {type(tensor).__name__} without any")
    reach = tensor.storage_offset() + sum(
        (size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
    )
    if tensor.numel() and storage.nbytes() < (reach + 1) * tensor.itemsize:
        raise TypeError(
            f"a tensor in memory is due, and this one reaches to byte {(reach + 1) * tensor.itemsize} of memory of "
            f"{storage.nbytes()} bytes"
        )


def encode(value: Any) -> bytes:
    """Serialise a value that :func:`plain` accepts; strides, shared storage and ``requires_grad`` survive.

    Raises TypeError for a tensor that is not in memory.
    """
    buffer, value = io.BytesIO(), plain(value)
    torch.save(value, buffer, pickle_module=_OF_WIDE_NUMBERS if _has_wide_numbers(value) else pickle)
    return buffer.getvalue()


def _has_wide_numbers(value: Any) -> bool:
    """Whether a whole number beyond 32 bits is in a plain value."""
    if isinstance(value, int):
        return not -(2**31) <= value < 2**31
    if isinstance(value, dict):
        return any(_has_wide_numbers(key) or _has_wide_numbers(item) for key, item in value.items())
    return isinstance(value, tuple | list) and any(map(_has_wide_numbers, value))


def decode(data: bytes) -> Any:
    """The value that :func:`encode`, or ``torch::pickle_save`` in C++, was given.

    Loads data only (``weights_only``): nothing is executed. Raises GarbledValue for what is no such value.
    """
    try:
        with torch.serialization.safe_globals(_TYPED):
            return torch.load(io.BytesIO(data), weights_only=True)
    except Exception as error:  # whatever torch.load makes of bytes that a damaged process sent
        raise GarbledValue(f"a value that cannot be read: {type(error).__name__}: {error}") from error


def tensors_in(value: Any) -> list[torch.Tensor]:
    """Every tensor of a value, containers included, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, tuple | list):
        return [tensor for item in value for tensor in tensors_in(item)]
    if isinstance(value, dict):
        return tensors_in(list(value.values()))
    return []


def refill(old: Any, new: Any, *, counted: bool = True) -> bool:
    """Write a tensor's values into another one, where both have one shape and dtype, and say whether they have. What is
    not to be ``counted`` by the version of what is written is written behind its back, as by ``.data`` or NumPy."""
    if not isinstance(old, torch.Tensor) or not isinstance(new, torch.Tensor):
        return False
    if (old.shape, old.dtype) != (new.shape, new.dtype):
        return False
    with torch.no_grad(), contextlib.suppress(RuntimeError):  # such as where several elements share memory
        (old if counted else old.data).copy_(new)
    return True


def refilled(arguments: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """The arguments of another call: the tensors that were given before, with these values written behind the backs of
    their versions, where both have one shape and dtype; else the values themselves."""
    return [old if refill(old, new, counted=False) else new for old, new in zip(arguments, values, strict=True)]


def telling_strides(tensor: torch.Tensor) -> list[int]:
    """The strides that say where an element lies: those of dimensions of several, and none of a tensor without any."""
    if tensor.numel() == 0:
        return []
    return [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]


def place_of(tensor: torch.Tensor) -> tuple[list[int], int, int] | None:
    """How a tensor lies in memory, and in which: its telling strides, the offset of its first element, and the address
    of its storage. None where there is no such memory."""
    if tensor.layout != torch.strided or not tensor.numel():
        return None
    return telling_strides(tensor), int(tensor.storage_offset()), tensor.untyped_storage().data_ptr()
