"""Delegates whose run-time half is written in Python: the reference delegate, with functions before and after it."""

from __future__ import annotations

import ctypes
import dataclasses
from pathlib import Path
from typing import Any, Protocol

import torch

from conformance.compiling import compiled

#: ExecuTorch's numbers of dtypes, which are PyTorch's.
_DTYPES = (
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.float32,
    torch.float64,
    None,
    None,
    None,
    torch.bool,
    None,
    None,
    None,
    torch.bfloat16,
)
_MOST_DIMENSIONS = 16


class _Value(ctypes.Structure):
    _fields_ = (
        ("value", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
        ("dtype", ctypes.c_int64),
        ("dimensions", ctypes.c_int64),
        ("sizes", ctypes.c_int64 * _MOST_DIMENSIONS),
        ("strides", ctypes.c_int64 * _MOST_DIMENSIONS),
    )


_AVAILABLE = ctypes.CFUNCTYPE(ctypes.c_int)
_SPECS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64)
_INIT = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_void_p,
    ctypes.c_uint64,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_uint64),
)
_MADE = ctypes.CFUNCTYPE(None, ctypes.c_uint64)
_BEFORE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.POINTER(_Value), ctypes.c_uint64, ctypes.c_int)
_AFTER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.POINTER(_Value), ctypes.c_uint64)
_FAILED = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.POINTER(_Value), ctypes.c_uint64, ctypes.c_int)
_DESTROY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64)
_OPTION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p)

#: In place of a code: an exception of C++ is thrown.
THROWN = -2


class _Hooks(ctypes.Structure):
    _fields_ = (
        ("available", _AVAILABLE),
        ("specs", _SPECS),
        ("init", _INIT),
        ("made", _MADE),
        ("before", _BEFORE),
        ("after", _AFTER),
        ("failed", _FAILED),
        ("destroy", _DESTROY),
        ("option", _OPTION),
    )


@dataclasses.dataclass(frozen=True)
class Argument:
    """An input or an output of a call; ``tensor`` lies in the runtime's own memory, and is None for other values."""

    tensor: torch.Tensor | None
    #: Where it lies.
    address: int
    value: int
    library: ctypes.CDLL

    def resize(self, *sizes: int) -> None:
        """Give an output other sizes. Its tensor here keeps the former ones."""
        self.library.bridge_resize(ctypes.c_void_p(self.value), (ctypes.c_int64 * len(sizes))(*sizes), len(sizes))

    def move(self, address: int) -> None:
        """Let it lie elsewhere from now on."""
        self.library.bridge_move(ctypes.c_void_p(self.value), ctypes.c_void_p(address))


class Delegate(Protocol):
    """What the run-time half of a backend in Python does; codes are those of ExecuTorch's errors, 0 goes on."""

    def is_available(self) -> bool: ...

    def told_specs(self, specs: bytes) -> None:
        """Told the compile specs of a delegate ahead of its init, one after the other: see :func:`specs_in`."""

    def init(self, method: str, blob: memoryview) -> int | bytes:
        """Called for each delegate of a method, with its blob where it lies: a code, or another blob in its place."""

    def made(self, handle: int) -> None:
        """Told the handle of what init has made."""

    def before(self, handle: int, arguments: list[Argument]) -> int:
        """Called before a call is computed, with inputs and then outputs."""

    def is_traced(self, traced: bool) -> None:
        """Told before that whether somebody listens to what happens."""

    def after(self, handle: int, arguments: list[Argument]) -> int:
        """Called when the outputs are computed."""

    def failed(self, handle: int, arguments: list[Argument], code: int) -> int:
        """Called in place of ``after`` where the call failed with a code: the code that is returned."""

    def destroy(self, handle: int) -> bool:
        """Whether what init made is destroyed indeed."""

    def told_option(self, key: str) -> int:
        """Told of each option that is set or asked for while programs run."""


#: What C holds pointers to.
_kept: list[Any] = []


def register(library: str, name: str, delegate: Delegate) -> None:
    """Register a delegate under a name, for as long as the process lives; a second time for a name does nothing."""
    bridge = _loaded(library)
    replacements: list[Any] = []

    def init(method: bytes, address: int, size: int, replacement: Any, replacement_size: Any) -> int:
        found = delegate.init(method.decode(), memoryview((ctypes.c_char * size).from_address(address)).cast("B"))
        if isinstance(found, int):
            return found
        replacements[:] = [ctypes.create_string_buffer(found, len(found))]
        replacement[0] = ctypes.addressof(replacements[0])
        replacement_size[0] = len(found)
        return 0

    def arguments(values: Any, count: int) -> list[Argument]:
        return [_argument(bridge, values[i]) for i in range(count)]

    def before(handle: int, values: Any, count: int, traced: int) -> int:
        delegate.is_traced(bool(traced))
        return delegate.before(handle, arguments(values, count))

    hooks = _Hooks(
        _AVAILABLE(lambda: int(delegate.is_available())),
        _SPECS(lambda address, size: delegate.told_specs(ctypes.string_at(address, size))),
        _INIT(init),
        _MADE(delegate.made),
        _BEFORE(before),
        _AFTER(lambda handle, values, count: delegate.after(handle, arguments(values, count))),
        _FAILED(lambda handle, values, count, code: delegate.failed(handle, arguments(values, count), code)),
        _DESTROY(lambda handle: int(delegate.destroy(handle))),
        _OPTION(lambda key: delegate.told_option(key.decode())),
    )
    _kept.append((bridge, hooks, replacements))
    bridge.bridge_register(name.encode(), ctypes.byref(hooks))


def temporary_memory(library: str, size: int) -> int:
    """In a hook of a call: the address of memory for that call, 0 where there is none."""
    return _loaded(library).bridge_temporary(size) or 0


def lasting_memory(library: str, size: int) -> int:
    """In a hook of init: the address of memory for as long as the method lives, 0 where there is none."""
    return _loaded(library).bridge_lasting(size) or 0


def count_of_options(library: str) -> int:
    """In a hook of init: how many load-time options the delegate is given."""
    return int(_loaded(library).bridge_options())


def named_data(library: str, key: bytes) -> bytes | None:
    """In a hook of init: the data of that name, None where there is none."""
    bridge = _loaded(library)
    buffer = ctypes.create_string_buffer(bridge.bridge_named(key, None, 0))
    return buffer.raw if bridge.bridge_named(key, buffer, len(buffer)) else None


def freed_data(library: str, key: bytes) -> int:
    """In a hook of init: where the data of that name lay, which has been freed."""
    return _loaded(library).bridge_freed(key) or 0


def log_event(library: str, id: int, begins: int, ends: int) -> None:
    """In a hook of a call: log an event of it, where it is traced."""
    bridge = _loaded(library)
    bridge.bridge_log(ctypes.c_int32(id), ctypes.c_uint64(begins), ctypes.c_uint64(ends))


def _loaded(library: str) -> ctypes.CDLL:
    bridge = ctypes.CDLL(library)
    bridge.bridge_resize.argtypes = (ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64), ctypes.c_uint64)
    bridge.bridge_move.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    bridge.bridge_named.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint64)
    bridge.bridge_options.restype = bridge.bridge_named.restype = ctypes.c_uint64
    bridge.bridge_freed.argtypes, bridge.bridge_freed.restype = (ctypes.c_char_p,), ctypes.c_void_p
    for allocate in (bridge.bridge_temporary, bridge.bridge_lasting):
        allocate.argtypes, allocate.restype = (ctypes.c_uint64,), ctypes.c_void_p
    return bridge


def specs_in(packed: bytes) -> dict[str, bytes]:
    """The compile specs: of each the key, a zero byte, the length of the value in eight bytes, and the value."""
    found = {}
    while packed:
        key, _, rest = packed.partition(b"\0")
        length = int.from_bytes(rest[:8], "little")
        found[key.decode()], packed = rest[8 : 8 + length], rest[8 + length :]
    return found


def _argument(library: ctypes.CDLL, value: _Value) -> Argument:
    tensor = None
    dtype = _DTYPES[value.dtype] if 0 <= value.dtype < len(_DTYPES) else None
    if dtype is not None:
        sizes = value.sizes[: value.dimensions]
        if value.bytes:
            memory = (ctypes.c_char * value.bytes).from_address(value.data)
            tensor = torch.frombuffer(memory, dtype=dtype).as_strided(sizes, value.strides[: value.dimensions])
        else:
            tensor = torch.empty(sizes, dtype=dtype)
    return Argument(tensor, value.data or 0, value.value, library)


def library_path() -> Path:
    """The bridge's library, compiled now if there is none yet. Raises conformance.compiling.CompileError."""
    from torch_conformance_reference_executorch import build

    sources = Path(__file__).parent / "csrc"
    return compiled(build.delegate_library("libbridge_executorch.so", sources, "bridge.cpp"), build.cache_folder())
