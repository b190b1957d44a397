"""Values of Python as MessagePack, and back: data alone, read and written many times as fast as PyTorch's own archives.

Strides, shared memory and ``requires_grad`` of tensors do not survive; :mod:`conformance.compare.values` keeps them.
"""

from __future__ import annotations

import ctypes
import math
from typing import Annotated, Any

import msgspec
import torch

from conformance.api.errors import GarbledValue
from conformance.compare.values import decode, encode, plain

#: What an extension of the format holds: a tensor as its dtype, its sizes and its memory; a tuple; a dictionary whose
#: keys are no texts, as pairs; a complex number; and whatever PyTorch writes itself.
_TENSOR, _TUPLE, _DICT, _COMPLEX, _OTHER = range(1, 6)

#: The dtypes whose memory is their value, by name.
_DTYPES = {
    str(each): each
    for each in (
        *(torch.float32, torch.float64, torch.float16, torch.bfloat16),
        *(torch.complex32, torch.complex64, torch.complex128),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.uint64),
        torch.bool,
    )
}
_NAMES = {each: name for name, each in _DTYPES.items()}
_LEAST, _MOST = -(2**63), 2**64


class _Tensor(msgspec.Struct, array_like=True, frozen=True):
    """A tensor, and its elements in memory, in order of its dimensions."""

    dtype: str
    shape: list[Annotated[int, msgspec.Meta(ge=0)]]
    memory: bytes


_encoder = msgspec.msgpack.Encoder()
_tensors = msgspec.msgpack.Decoder(_Tensor)


def packed(value: Any) -> bytes:
    """Serialise a value that :func:`~conformance.compare.values.plain` accepts, for :func:`unpacked`.

    What is equal bit by bit, tensors in their dtypes and sizes, gives the same bytes.
    """
    return _encoder.encode(_packable(value))


def _packable(value: Any) -> Any:
    if value is None or isinstance(value, bool | float | str | bytes):
        return value
    if isinstance(value, torch.Tensor):
        return _packed_tensor(value)
    if isinstance(value, int) and _LEAST <= value < _MOST:
        return value
    if isinstance(value, list):
        return [_packable(each) for each in value]
    if isinstance(value, tuple):
        return msgspec.msgpack.Ext(_TUPLE, packed(list(value)))
    if isinstance(value, dict):
        if all(type(key) is str for key in value):
            return {key: _packable(each) for key, each in value.items()}
        return msgspec.msgpack.Ext(_DICT, packed([list(each) for each in value.items()]))
    if isinstance(value, complex):
        return msgspec.msgpack.Ext(_COMPLEX, _encoder.encode((value.real, value.imag)))
    return msgspec.msgpack.Ext(_OTHER, encode(value))


def _packed_tensor(tensor: torch.Tensor) -> msgspec.msgpack.Ext:
    name = _NAMES.get(tensor.dtype)
    if name is None or tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.is_nested:
        return msgspec.msgpack.Ext(_OTHER, encode(tensor))
    dense = plain(tensor).detach().resolve_conj().resolve_neg().contiguous()
    memory = ctypes.string_at(dense.data_ptr(), dense.nbytes) if dense.nbytes else b""
    return msgspec.msgpack.Ext(_TENSOR, _encoder.encode(_Tensor(name, list(tensor.shape), memory)))


def _unpacked_extension(code: int, data: memoryview) -> Any:
    """What an extension of the format stands for. Raises ValueError or GarbledValue."""
    if code == _TENSOR:
        return _unpacked_tensor(data)
    if code == _TUPLE:
        return tuple(unpacked(data, list[Any]))
    if code == _DICT:
        return dict(unpacked(data, list[tuple[Any, Any]]))
    if code == _COMPLEX:
        return complex(*unpacked(data, tuple[float, float]))
    if code == _OTHER:
        return decode(bytes(data))
    raise ValueError(f"an extension of no known kind, {code}")


def _unpacked_tensor(data: memoryview) -> torch.Tensor:
    found = _tensors.decode(data)
    dtype, count = _DTYPES[found.dtype], math.prod(found.shape)
    if count * dtype.itemsize != len(found.memory):
        raise ValueError(f"{len(found.memory)} bytes for sizes {found.shape} of {found.dtype}")
    if not count:
        return torch.empty(found.shape, dtype=dtype)
    return torch.frombuffer(bytearray(found.memory), dtype=dtype).reshape(found.shape)


def unpacked(data: bytes | memoryview, kind: Any = Any) -> Any:
    """The value that :func:`packed` was given, which must be of a type.

    Nothing is executed. Raises GarbledValue for what is no such value.
    """
    try:
        return msgspec.msgpack.decode(data, type=kind, ext_hook=_unpacked_extension)
    except GarbledValue:
        raise
    except Exception as error:  # whatever is made of bytes that a damaged process sent
        raise GarbledValue(f"a value that cannot be read: {type(error).__name__}: {error}") from error
