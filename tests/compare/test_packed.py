"""Values as MessagePack: what goes in comes out, and bytes that nobody packed are garbled."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from conformance.api.errors import GarbledValue
from conformance.compare.packed import packed, unpacked
from conformance.compare.values import encode

EXTENSION = msgspec.msgpack.Ext


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 0, -(2**63), 2**64 - 1, 2**70, 1.5, float("inf"), "text", b"bytes", 1 + 2j, torch.float32),
        *([1, [2]], (1, (2, [3])), {"a": (1,)}, {1: 2, "a": 3, (1, 2): 4}, {}, (), []),
    ],
)
def test_what_is_no_tensor_comes_back_as_it_was(value: Any) -> None:
    read = unpacked(packed(value))
    assert (type(read), read) == (type(value), value)


@pytest.mark.filterwarnings("ignore:ComplexHalf", "ignore:torch.quantize_per_tensor", "ignore:TypedStorage")
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.tensor(1.5),
        lambda: torch.zeros(0, 3, dtype=torch.int16),
        lambda: torch.arange(6.0).reshape(2, 3).t(),
        lambda: torch.arange(6.0)[::2][:1],
        lambda: torch.ones(1, dtype=torch.float64).expand(4, 3),
        lambda: torch.tensor([1 + 2j, 3 - 4j]).conj(),
        lambda: torch.tensor([1 + 2j, 3 - 4j]).imag.resolve_conj(),
        lambda: torch.tensor([1 + 2j, 3 - 4j]).conj().imag,
        lambda: torch.tensor([True, False]),
        lambda: torch.tensor([1.0, -0.0, float("nan"), float("-inf")], dtype=torch.bfloat16),
        lambda: torch.ones(3, dtype=torch.float16, requires_grad=True),
        lambda: torch.zeros(2, dtype=torch.uint16),
        lambda: torch.zeros(2, dtype=torch.float8_e4m3fn),
        lambda: torch.quantize_per_tensor(torch.ones(3), 0.5, 1, torch.qint8),
        lambda: torch.eye(3).to_sparse(),
        lambda: torch.zeros((2,) * 40 + (0,)),
    ],
)
def test_tensors_keep_dtype_sizes_and_elements(make: Any) -> None:
    tensor = make()
    read = unpacked(packed([tensor]))[0]
    assert (read.dtype, read.shape, read.layout) == (tensor.dtype, tensor.shape, tensor.layout)
    assert str(read.detach()) == str(tensor.detach().resolve_conj().resolve_neg())


def test_equal_values_are_the_same_bytes_however_they_lie_in_memory() -> None:
    straight = torch.arange(6.0).reshape(2, 3)
    assert packed(straight) == packed(straight.t().contiguous().t()) == packed(straight.clone().requires_grad_())
    assert packed(straight) != packed(straight.double())
    assert packed(straight) != packed(straight.reshape(3, 2))
    assert packed(torch.tensor(0.0)) != packed(torch.tensor(-0.0))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        packed([1, 2])[:-1],
        msgspec.msgpack.encode(EXTENSION(99, b"")),
        msgspec.msgpack.encode(EXTENSION(1, b"")),
        msgspec.msgpack.encode(EXTENSION(1, msgspec.msgpack.encode(["torch.float32", [2], b"1234567"]))),
        msgspec.msgpack.encode(EXTENSION(1, msgspec.msgpack.encode(["torch.float32", [-1, -2], b"12345678"]))),
        msgspec.msgpack.encode(EXTENSION(1, msgspec.msgpack.encode(["torch.qint8", [1], b"1"]))),
        msgspec.msgpack.encode(EXTENSION(2, msgspec.msgpack.encode({"a": 1}))),
        msgspec.msgpack.encode(EXTENSION(3, msgspec.msgpack.encode([[1, 2, 3]]))),
        msgspec.msgpack.encode(EXTENSION(3, msgspec.msgpack.encode([[[1], 2]]))),
        msgspec.msgpack.encode(EXTENSION(4, msgspec.msgpack.encode(["1", 2.0]))),
        msgspec.msgpack.encode(EXTENSION(5, b"no archive")),
    ],
)
def test_bytes_that_nobody_packed_are_garbled(data: bytes) -> None:
    with pytest.raises(GarbledValue, match="a value that cannot be read"):
        unpacked(data)


def test_a_value_of_another_type_is_garbled() -> None:
    with pytest.raises(GarbledValue, match="Expected `int`, got `str`"):
        unpacked(packed(["text"]), list[int])


def test_memory_that_is_not_there_is_not_read() -> None:
    with FakeTensorMode():
        fake = torch.ones(3)
    short, view = torch.ones(4), torch.ones(4, 4).t()[1:]
    short.untyped_storage().resize_(15)
    view.untyped_storage().resize_(63)
    for write in (packed, encode):
        with pytest.raises(TypeError, match="this is a FakeTensor without any"):
            write([fake])
        with pytest.raises(TypeError, match="this one reaches to byte 16 of memory of 15 bytes"):
            write([short])
        with pytest.raises(TypeError, match="this one reaches to byte 64 of memory of 63 bytes"):
            write([view])
    emptied = torch.ones(0)
    emptied.untyped_storage().resize_(0)
    assert unpacked(packed([emptied]))[0].shape == (0,)
