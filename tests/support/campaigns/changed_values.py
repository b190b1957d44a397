"""Values of models changed at random: other tensors, other containers, and what is no value at all."""

from __future__ import annotations

import contextlib
import io
from random import Random
from typing import Any

import torch

from support.campaigns.changes import at, changed, damaged, places

#: How a value begins that was encoded.
_ENCODED = b"PK\x03\x04"
#: What stands in place of a tensor, or of any other part of a value.
_TENSORS = (
    lambda: torch.zeros(()),
    lambda: torch.zeros(0),
    lambda: torch.zeros(2, 3),
    lambda: torch.full((2, 3), float("nan")),
    lambda: torch.zeros(1).expand(1 << 22),
    lambda: torch.zeros(2, 3, dtype=torch.complex64),
    lambda: torch.zeros(2, 3, dtype=torch.bool),
    lambda: torch.zeros(2, 3, dtype=torch.float16),
    lambda: torch.zeros(2, 3, device="meta"),
    lambda: torch.eye(3).to_sparse(),
    lambda: torch.eye(3).to_sparse_csr(),
    lambda: torch.eye(3).to_mkldnn(),
    lambda: torch.quantize_per_tensor(torch.eye(3), 0.1, 0, torch.qint8),
    lambda: torch.nested.nested_tensor([torch.zeros(2), torch.zeros(3)]),
    lambda: torch.zeros(2, 3, requires_grad=True),
    lambda: torch.nn.Parameter(torch.zeros(2, 3)),
    lambda: torch.zeros(2, 3).t().conj(),
)
_OTHERS: tuple[Any, ...] = (
    None,
    0,
    True,
    -1,
    2**70,
    0.5,
    float("nan"),
    float("inf"),
    1j,
    "",
    "x" * 5000,
    b"",
    (),
    [],
    {},
)


def changed_value(random: Random, value: Any) -> Any:
    """A copy of what a verb gave, changed in its structure, or in one of the values that are encoded in it."""
    encoded = [path for path in ((), *places(value)) if _is_encoded(at(value, path))]
    if not encoded or random.random() < 0.4:
        # lists travel as lists and tuples as tuples: both can be changed as lists
        return changed(random, {"": _listed(value)}).get("", None)
    *parents, last = random.choice(encoded) or (None,)
    if not parents and last is None:
        return _changed_bytes(random, value)
    value = changed_copy = _listed(value)
    for part in parents:
        value = value[part]
    value[last] = _changed_bytes(random, value[last])
    return changed_copy


def _is_encoded(value: Any) -> bool:
    return isinstance(value, bytes) and value.startswith(_ENCODED)


def _listed(value: Any) -> Any:
    """A copy in which tuples are lists."""
    if isinstance(value, list | tuple):
        return [_listed(each) for each in value]
    return {key: _listed(each) for key, each in value.items()} if isinstance(value, dict) else value


def _changed_bytes(random: Random, data: bytes) -> bytes:
    if random.random() < 0.3:
        return damaged(random, data)
    with contextlib.suppress(Exception):
        return _saved(_replaced(random, torch.load(io.BytesIO(data), weights_only=True)))
    return damaged(random, data)


def _saved(value: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def _replaced(random: Random, value: Any) -> Any:
    """The value with one of its parts replaced, or in another container."""
    if isinstance(value, list | tuple | dict) and value and random.random() < 0.7:
        if isinstance(value, dict):
            key = random.choice(list(value))
            return {**value, key: _replaced(random, value[key])}
        place = random.randrange(len(value))
        items = [*value[:place], _replaced(random, value[place]), *value[place + 1 :]]
        return type(value)(items)
    match random.choice(["tensor", "other", "list", "tuple", "dict", "twice", "dtype", "shape"]):
        case "tensor":
            return random.choice(_TENSORS)()
        case "list":
            return [value]
        case "tuple":
            return (value,)
        case "dict":
            return {"a": value, 1: value}
        case "twice":
            return [value, value]
        case "dtype" if isinstance(value, torch.Tensor):
            return value.to(random.choice([torch.float64, torch.int8, torch.complex64, torch.bool]))
        case "shape" if isinstance(value, torch.Tensor):
            return random.choice([value.flatten(), value.unsqueeze(0), value[..., :0] if value.dim() else value[None]])
    return random.choice(_OTHERS)
