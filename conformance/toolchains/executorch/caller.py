"""The caller in C++ (``csrc``), as Python speaks to it: who owns all memory that a method runs in, and looks at it."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import platformdirs
import torch

from conformance._util.compiling import compiled
from conformance.toolchains.executorch.compiling import runtime_library

_SOURCES = Path(__file__).with_name("csrc")
_MOST_DIMENSIONS = 16
#: ExecuTorch's numbers of dtypes, which are PyTorch's.
_NUMBERS = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.bool: 11,
    torch.bfloat16: 15,
}
_DTYPES = {number: dtype for dtype, number in _NUMBERS.items()}


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_uint64),
        ("dtype", ctypes.c_int64),
        ("dimensions", ctypes.c_int64),
        ("sizes", ctypes.c_int64 * _MOST_DIMENSIONS),
        ("order", ctypes.c_int64 * _MOST_DIMENSIONS),
    )


class _Option(ctypes.Structure):
    _fields_ = (
        ("key", ctypes.c_char_p),
        ("kind", ctypes.c_int64),
        ("number", ctypes.c_int64),
        ("text", ctypes.c_char_p),
    )


class _Settings(ctypes.Structure):
    _fields_ = (
        ("temporary", ctypes.c_int64),
        ("lasting", ctypes.c_int64),
        ("backend", ctypes.c_char_p),
        ("options", ctypes.POINTER(_Option)),
        ("count", ctypes.c_uint64),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """What a method is loaded with: bytes of ``temporary`` memory, which is memory for one call of a kernel or a
    delegate, and of ``lasting`` memory, -1 for any amount; load-time ``options`` of a backend."""

    temporary: int = -1
    lasting: int = -1
    backend: str = ""
    options: Mapping[str, bool | int | str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Called:
    """What became of a method's calls: ``code`` is that of ExecuTorch's error at which it ended, 0 for none, -1 for an
    exception of C++; ``results`` the outputs of each call before that; ``findings`` what memory tells; ``temporary``
    how many bytes of temporary memory were asked for."""

    code: int = 0
    phase: str = ""
    results: list[list[Any]] = dataclasses.field(default_factory=list)
    findings: list[str] = dataclasses.field(default_factory=list)
    temporary: int = 0


def call_method(
    program: bytes,
    data: bytes,
    method: str,
    calls: Sequence[Sequence[torch.Tensor]],
    settings: Settings,
    repeat: int = 1,
) -> Called:
    """Load a method, call it with the inputs of each call, each ``repeat`` times, and let it go.

    Raises conformance.compiling.CompileError where there is no compiler.
    """
    native = library()
    opened = ctypes.c_void_p()
    found = Called()
    found.code = native.caller_open(
        program, len(program), data, len(data), method.encode(), ctypes.byref(_packed(settings)), ctypes.byref(opened)
    )
    found.phase = "load" if found.code else ""
    for inputs in calls if not found.code else ():
        given = (_Tensor * max(1, len(inputs)))(*(_described(each) for each in inputs))
        found.code = native.caller_run(opened, given, len(inputs), repeat)
        if found.code:
            found.phase = "run"
            break
        found.results.append([_output(native, opened, place) for place in range(native.caller_outputs(opened))])
    native.caller_end(opened)
    found.findings = native.caller_findings(opened).decode(errors="replace").splitlines()
    found.temporary = native.caller_temporary(opened)
    native.caller_close(opened)
    return found


def set_option(backend: str, key: str, value: bool | int | str) -> int:
    """Set an option of a delegate while programs run. The code of ExecuTorch's error, 0 for none."""
    return int(library().caller_set_option(backend.encode(), ctypes.byref(_option(key, value))))


def get_option(backend: str, key: str, value: bool | int | str) -> int:
    """Ask for an option of a delegate, of the type that the value has. The code of ExecuTorch's error, 0 for none."""
    return int(library().caller_get_option(backend.encode(), ctypes.byref(_option(key, value))))


@functools.cache
def library() -> ctypes.CDLL:
    """The caller, compiled now if there is none yet, and loaded beside the runtime of this process.

    Raises conformance.compiling.CompileError.
    """
    import executorch.runtime  # noqa: F401  (what the library is linked against)

    wanted = runtime_library("libcaller.so", _SOURCES, "caller.cpp", "-Wall", "-Wextra")
    native = ctypes.CDLL(str(compiled(wanted, platformdirs.user_cache_path("torch-conformance"))))
    native.caller_outputs.restype = native.caller_temporary.restype = ctypes.c_uint64
    native.caller_outputs.argtypes = native.caller_temporary.argtypes = (ctypes.c_void_p,)
    native.caller_output.restype = ctypes.c_bool
    native.caller_output.argtypes = (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)
    native.caller_findings.restype = ctypes.c_char_p
    native.caller_open.argtypes = (
        *(ctypes.c_char_p, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_uint64),
        *(ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p),
    )
    native.caller_run.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)
    for function in (native.caller_end, native.caller_findings, native.caller_close):
        function.argtypes = (ctypes.c_void_p,)
    return native


def _packed(settings: Settings) -> _Settings:
    options = (_Option * max(1, len(settings.options)))(*(_option(*each) for each in settings.options.items()))
    return _Settings(*(settings.temporary, settings.lasting, settings.backend.encode()), options, len(settings.options))


def _option(key: str, value: bool | int | str) -> _Option:
    if isinstance(value, str):
        return _Option(key.encode(), 2, 0, value.encode())
    return _Option(key.encode(), 0 if isinstance(value, bool) else 1, int(value), None)


def _described(tensor: torch.Tensor) -> _Tensor:
    """Where a tensor lies; what it is a view of is kept by the caller of this."""
    order = tensor.dim_order() if tensor.dim() else ()
    size = tensor.numel() * tensor.element_size()
    sizes, places = (ctypes.c_int64 * _MOST_DIMENSIONS), (ctypes.c_int64 * _MOST_DIMENSIONS)
    return _Tensor(
        *(tensor.data_ptr(), size, _NUMBERS[tensor.dtype], tensor.dim()), sizes(*tensor.shape), places(*order)
    )


def _output(native: ctypes.CDLL, opened: ctypes.c_void_p, place: int) -> torch.Tensor | None:
    """A copy of an output; None where it is no tensor."""
    found = _Tensor()
    if not native.caller_output(opened, place, ctypes.byref(found)):
        return None
    sizes, order = list(found.sizes[: found.dimensions]), list(found.order[: found.dimensions])
    data = bytearray(ctypes.string_at(found.data, found.bytes)) if found.bytes else bytearray()
    dtype = _DTYPES[found.dtype]
    if not data:
        return torch.empty(sizes, dtype=dtype)
    lying = torch.frombuffer(data, dtype=dtype).view([sizes[dimension] for dimension in order])
    return lying.permute([order.index(dimension) for dimension in range(len(order))])
