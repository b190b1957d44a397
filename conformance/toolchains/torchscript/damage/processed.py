"""Damage inside a backend's own processed module, in an archive that stays well formed.

The processed module stands in the archive's ``data.pkl``, in the state of the lowered module. It is read into plain
Python values without importing or calling anything that the pickle names, damaged in one place, and written back with
the opcodes that PyTorch's own unpickler knows.
"""

from __future__ import annotations

import dataclasses
import io
import math
import pickle
import random
import struct
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from conformance.toolchains.torchscript.damage.archive import records, rewritten


@dataclasses.dataclass(frozen=True)
class _Global:
    """A name that the pickle refers to: a class or a function."""

    module: str
    name: str

    def __call__(self, *arguments: Any) -> _Reduced:
        return _Reduced(self, arguments)


@dataclasses.dataclass
class _Reduced:
    """A call that the pickle asks for: how PyTorch writes typed containers and tensors."""

    function: _Global
    arguments: tuple[Any, ...]


@dataclasses.dataclass
class _Object:
    """An instance of a TorchScript class, with its state."""

    type: _Global
    state: Any = None
    was_tuple: bool = False


@dataclasses.dataclass
class _Persistent:
    """A reference to a record of the archive: the storage of a tensor."""

    id: Any


#: Storages of whole numbers → the bytes of one. A tensor of these can hold a program. Floats are weights, and so are
#: numbers of eight bits with a sign, to which weights are quantised.
_WHOLE = {"ByteStorage": 1, "ShortStorage": 2, "IntStorage": 4, "LongStorage": 8}


#: How many bytes of a tensor are drawn for the one that is changed: the first that is not zero. Archives are filled up
#: with zeros, in which no change could be seen.
_DRAWN = 8


def damaged_programs(artifact: bytes, seed: int, count: int) -> list[tuple[str, bytes]]:
    """``count`` artifacts with one place of the processed module damaged, and what was done. Empty if it has no place.

    The places and the damage come from the seed. A tensor of whole numbers may hold a program, and one of its bytes is
    changed; the elements of other tensors are left alone: other weights are no damage that anyone could see.
    """
    contents = records(artifact)
    (name,) = [name for name in contents if name.endswith("/data.pkl")]
    data = contents[name]
    randomness = random.Random(seed)
    places = list(_places(_lowered_state(_read(data))[1]))
    damaged = []
    for _ in range(count if places else 0):
        tree = _read(data)
        state = _lowered_state(tree)
        path = randomness.choice(places)
        slot = _at(_Slot(state, 1), path)
        if _is_tensor(slot.get()):
            folder = f"{name.removesuffix('data.pkl')}data"
            drawn = [_byte_of(slot.get(), randomness, folder) for _ in range(_DRAWN)]
            record, at = next((each for each in drawn if contents[each[0]][each[1]]), drawn[0])
            changed = bytearray(contents[record])
            changed[at] ^= randomness.randrange(1, 256)
            what, replacing = f"byte {at} of {len(changed)} became {changed[at]}", _replacing(record, bytes(changed))
        else:
            what, value = _damaged(slot.get(), randomness)
            slot.set(value)
            replacing = _replacing(name, _write(tree))
        where = "".join(f"[{key!r}]" for key in path if not isinstance(key, _Inside))
        damaged.append((f"processed module{where}: {what}", rewritten(artifact, replacing)))
    return damaged


def _replacing(name: str, data: bytes) -> Callable[[str, bytes], bytes]:
    return lambda record, content: data if record == name else content


def _lowered_state(tree: Any) -> list[Any]:
    """The state of the first lowered module in a tree: compile spec, processed module, flag."""
    for value in _walk(tree):
        if isinstance(value, _Object) and "LoweredModule" in value.type.module + value.type.name:
            state: list[Any] = value.state
            return state
    raise ValueError("the artifact holds no lowered module")


def _walk(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, _Object):
        yield from _walk(value.state)
    elif isinstance(value, _Reduced):
        yield from _walk(list(value.arguments))
    elif isinstance(value, dict):
        yield from _walk(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _walk(item)


# Places, and what can happen to them.


class _Inside:
    """A step of a path into what wraps a value: an argument of a call."""

    def __init__(self, index: int) -> None:
        self.index = index


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, _Reduced):
        if _holds_whole_numbers(value):
            yield path
        elif value.arguments and isinstance(value.arguments[0], dict | list):
            yield from _places(value.arguments[0], (*path, _Inside(0)))
    elif isinstance(value, dict):
        if value:
            yield path
        for key, item in value.items():
            yield from _places(item, (*path, key))
    elif isinstance(value, list | tuple):
        if value and isinstance(value, list):
            yield path
        for index, item in enumerate(value):
            yield from _places(item, (*path, index))
    elif isinstance(value, bool | int | float | str):
        yield path


@dataclasses.dataclass
class _Slot:
    """Where a value stands in its container, so that it can be replaced there."""

    container: Any
    key: Any

    def get(self) -> Any:
        return self.container[self.key]

    def set(self, value: Any) -> None:
        self.container[self.key] = value

    def inner(self, step: Any) -> _Slot:
        value = self.get()
        if isinstance(step, _Inside):
            value.arguments = list(value.arguments)
            return _Slot(value.arguments, step.index)
        if isinstance(value, tuple):
            value = _Tuple(value)
            self.set(value)
        return _Slot(value, step)


class _Tuple(list[Any]):
    """A tuple that is being changed; written as the tuple that it was."""


def _at(slot: _Slot, path: tuple[Any, ...]) -> _Slot:
    for step in path:
        slot = slot.inner(step)
    return slot


def _is_tensor(value: Any) -> bool:
    return isinstance(value, _Reduced) and value.function.name.startswith("_rebuild_tensor")


def _holds_whole_numbers(value: _Reduced) -> bool:
    """Whether it is a tensor with elements, of whole numbers."""
    return _is_tensor(value) and value.arguments[0].id[1].name in _WHOLE and math.prod(value.arguments[2]) > 0


def _byte_of(tensor: _Reduced, randomness: random.Random, folder: str) -> tuple[str, int]:
    """One byte of a tensor's elements: the record of its storage, and where it stands there."""
    storage, offset, sizes, strides = tensor.arguments[:4]
    _, kind, key, *_ = storage.id
    element = offset + sum(randomness.randrange(size) * stride for size, stride in zip(sizes, strides, strict=True))
    return f"{folder}/{key}", element * _WHOLE[kind.name] + randomness.randrange(_WHOLE[kind.name])


def _damaged(value: Any, randomness: random.Random) -> tuple[str, Any]:
    if isinstance(value, dict):
        lost = randomness.choice(list(value))
        return f"lost its entry {lost!r}", {key: item for key, item in value.items() if key != lost}
    if isinstance(value, list):
        lost_index = randomness.randrange(len(value))
        return f"lost its element {lost_index}", [*value[:lost_index], *value[lost_index + 1 :]]
    if isinstance(value, bool):
        return f"became {not value}", not value
    if isinstance(value, int):
        other = value + randomness.choice((-1, 1, 7, 1 << 20, -(1 << 40)))
        return f"{value} became {other}", other
    if isinstance(value, float):
        return f"{value} became {-value - 1.0}", -value - 1.0
    assert isinstance(value, str)
    return _damaged_text(value, randomness)


def _damaged_text(text: str, randomness: random.Random) -> tuple[str, str]:
    if not text:
        return "'' became 'x'", "x"
    at = randomness.randrange(len(text))
    if randomness.random() < 0.5:
        return f"cut to {at} of {len(text)} characters", text[:at]
    other = chr((ord(text[at]) - 32 + randomness.randrange(1, 95)) % 95 + 32)
    return f"character {at} of {len(text)} became {other!r}", text[:at] + other + text[at + 1 :]


# Reading and writing the pickle.


class _Reader(pickle._Unpickler):  # the C one cannot be told what an instance is
    stack: list[Any]

    def find_class(self, module: str, name: str) -> _Global:
        return _Global(module, name)

    def persistent_load(self, identity: Any) -> _Persistent:
        return _Persistent(identity)

    def load_newobj(self) -> None:
        self.stack.pop()
        self.stack[-1] = _Object(self.stack[-1])

    def load_build(self) -> None:
        state = self.stack.pop()
        self.stack[-1].state = list(state) if isinstance(state, tuple) else state
        self.stack[-1].was_tuple = isinstance(state, tuple)

    def load_reduce(self) -> None:
        arguments = self.stack.pop()
        self.stack[-1] = _Reduced(self.stack[-1], arguments)

    dispatch: ClassVar[dict[int, Any]] = {
        **pickle._Unpickler.dispatch,
        pickle.NEWOBJ[0]: load_newobj,
        pickle.BUILD[0]: load_build,
        pickle.REDUCE[0]: load_reduce,
    }


def _read(data: bytes) -> Any:
    return _Reader(io.BytesIO(data)).load()


def _write(value: Any) -> bytes:
    out = io.BytesIO()
    out.write(pickle.PROTO + b"\x02")
    _Writer(out).put(value)
    out.write(pickle.STOP)
    return out.getvalue()


class _Writer:
    """Writes the opcodes of protocol 2 that PyTorch's unpickler knows; nothing is shared, as nothing needs to be."""

    def __init__(self, out: io.BytesIO) -> None:
        self._write = out.write

    def put(self, value: Any) -> None:
        """Write one value."""
        if value is None or isinstance(value, bool):
            self._write({None: pickle.NONE, True: pickle.NEWTRUE, False: pickle.NEWFALSE}[value])
        elif isinstance(value, int):
            self._write(pickle.LONG1 + b"\x08" + value.to_bytes(8, "little", signed=True))
        elif isinstance(value, float):
            self._write(pickle.BINFLOAT + struct.pack(">d", value))
        elif isinstance(value, str):
            data = value.encode("utf-8", "surrogatepass")
            self._write(pickle.BINUNICODE + struct.pack("<I", len(data)) + data)
        elif isinstance(value, _Global):
            self._write(pickle.GLOBAL + f"{value.module}\n{value.name}\n".encode())
        else:
            self._put_compound(value)

    def _put_compound(self, value: Any) -> None:
        if isinstance(value, tuple | _Tuple):
            self._put_marked(list(value), pickle.TUPLE)
        elif isinstance(value, list):
            self._write(pickle.EMPTY_LIST)
            self._put_marked(value, pickle.APPENDS)
        elif isinstance(value, dict):
            self._write(pickle.EMPTY_DICT)
            self._put_marked([each for item in value.items() for each in item], pickle.SETITEMS)
        elif isinstance(value, _Reduced):
            self.put(value.function)
            self._put_marked(list(value.arguments), pickle.TUPLE)
            self._write(pickle.REDUCE)
        elif isinstance(value, _Object):
            self.put(value.type)
            self._write(pickle.EMPTY_TUPLE + pickle.NEWOBJ)
            self.put(_Tuple(value.state) if value.was_tuple else value.state)
            self._write(pickle.BUILD)
        elif isinstance(value, _Persistent):
            self.put(value.id)
            self._write(pickle.BINPERSID)
        else:
            raise TypeError(f"a TorchScript archive holds no {type(value).__name__}")

    def _put_marked(self, values: list[Any], opcode: bytes) -> None:
        self._write(pickle.MARK)
        for value in values:
            self.put(value)
        self._write(opcode)
