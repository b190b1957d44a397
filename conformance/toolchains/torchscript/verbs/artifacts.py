"""Verbs about artifacts: save, load, run; full JIT and lite interpreter."""

from __future__ import annotations

import contextlib
import gc
import io
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch.jit.mobile import (
    LiteScriptModule,
    _export_operator_list,
    _get_model_bytecode_version,
    _load_for_lite_interpreter,
)

from conformance.compare.values import decode, encode, refilled, tensors_in
from conformance.devices import Subject
from conformance.toolchains.torchscript.verbs.session import Session, verb


@verb
def save(
    session: Session,
    module: int,
    runtime: str,
    via: str = "buffer",
    extra_files: dict[str, str] | None = None,
    debug_info: bool = True,
) -> bytes:
    """A module as an artifact: ``torch.jit.save`` ("full") or ``_save_for_lite_interpreter`` ("lite").

    ``via`` is "buffer", "file", or "bytes"; what comes back are the bytes in each case. ``debug_info`` is whether
    a lite artifact gets the table of debug handles.
    """
    saved = session.module(module)
    with Subject(), tempfile.TemporaryDirectory() as folder:
        return _save(saved, runtime, via, extra_files or {}, Path(folder, "artifact"), debug_info)


def _save(module: Any, runtime: str, via: str, extra_files: dict[str, str], path: Path, debug_info: bool) -> bytes:
    if runtime == "lite":
        if via == "file":
            module._save_for_lite_interpreter(str(path), extra_files, debug_info)
            return path.read_bytes()
        data: bytes = module._save_to_buffer_for_lite_interpreter(extra_files, debug_info)
        return data
    if via == "file":
        torch.jit.save(module, str(path), _extra_files=extra_files)
        return path.read_bytes()
    if via == "bytes":
        return bytes(module.save_to_buffer(_extra_files=extra_files))
    buffer = io.BytesIO()
    torch.jit.save(module, buffer, _extra_files=extra_files)
    return buffer.getvalue()


@verb
def save_inner(session: Session, module: int) -> bytes:
    """The lowered module without its wrapper, as releases before pytorch/pytorch#71597 saved it."""
    with Subject():
        data: bytes = getattr(session.module(module), "__loweredModule__", session.module(module)).save_to_buffer()
    return data


@verb
def load(
    session: Session, artifact: bytes, runtime: str, via: str = "buffer", extra_files: list[str] | None = None
) -> tuple[int, dict[str, str]]:
    """Load an artifact. Returns its number, and the extra files that were asked for."""
    wanted = dict.fromkeys(extra_files or (), "")
    with Subject(), tempfile.TemporaryDirectory() as folder:
        source: Any = io.BytesIO(artifact)
        if via == "file":
            source = Path(folder, "artifact")
            source.write_bytes(artifact)
            source = str(source)
        module = _loaded(source, runtime, wanted)
    texts = {name: text.decode() if isinstance(text, bytes) else text for name, text in wanted.items()}
    return session.keep(module), texts


def _loaded(source: Any, runtime: str, extra_files: dict[str, Any] | None = None) -> Any:
    if runtime == "lite":
        return _load_for_lite_interpreter(source)
    return torch.jit.load(source, _extra_files=extra_files)


def load_artifact(artifact: bytes, runtime: str) -> Any:
    """The module in an artifact, by the full JIT ("full") or the lite interpreter ("lite")."""
    return _loaded(io.BytesIO(artifact), runtime)


@verb
def run(session: Session, module: int, method: str, inputs: bytes, repeat: int = 1) -> list[bytes]:
    """Call a method ``repeat`` times, each time on fresh copies of the inputs; the results, encoded."""
    with Subject():
        return [encode(call_method(session.module(module), method, decode(inputs))) for _ in range(repeat)]


def call_method(module: Any, method: str, inputs: tuple[Any, ...]) -> Any:
    """Call a method of a module, whichever runtime loaded it."""
    if isinstance(module, LiteScriptModule):
        return module.run_method(method, *inputs)
    return getattr(module, method)(*inputs)


#: How often each input is run again while the first result is held: more often than anyone rotates buffers.
_HELD = 12


@verb
def run_watched(session: Session, module: int, method: str, inputs: bytes, others: list[bytes]) -> dict[str, Any]:
    """Call a method, then on other inputs, then on the first again, watching the memory of inputs and outputs.

    Returns ``mutated_inputs`` (positions whose values or version counters changed), ``aliased_inputs`` (positions
    that an output shares memory with), ``shared_outputs`` (whether outputs of two calls share memory), and
    ``changed_result`` (whether the first result reads differently after the later calls, or what was detached of one).
    """
    target = session.module(module)
    with Subject():
        first_inputs = _ordinary(inputs)
        before = encode(first_inputs)
        versions = [tensor._version for tensor in tensors_in(first_inputs)]
        first = call_method(target, method, first_inputs)
        first_as_returned = encode(first)
        # Held by another tensor of the same memory alone, as where a caller detaches what he keeps.
        detached = [each.detach() for each in tensors_in(call_method(target, method, _ordinary(inputs)))]
        as_detached = [each.clone() for each in detached]
        results = [call_method(target, method, _ordinary(other)) for _ in range(_HELD) for other in (*others, inputs)]
        changed = [
            position
            for position, (now, then, version) in enumerate(
                zip(tensors_in(first_inputs), tensors_in(decode(before)), versions, strict=True)
            )
            if now._version != version or not _same_values(now, then)
        ]
        return {
            "mutated_inputs": changed,
            "aliased_inputs": [
                position
                for position, tensor in enumerate(tensors_in(first_inputs))
                if any(_share_memory(tensor, output) for output in tensors_in(first))
            ],
            "shared_outputs": any(
                _share_memory(mine, theirs)
                for result in results
                for mine in tensors_in(first)
                for theirs in tensors_in(result)
            ),
            "changed_result": not all(
                map(
                    _same_values,
                    (*tensors_in(first), *detached),
                    (*tensors_in(decode(first_as_returned)), *as_detached),
                )
            ),
        }


def _ordinary(inputs: bytes) -> Any:
    """Arguments that have a version, also where this is asked in inference mode."""
    with torch.inference_mode(False):
        return decode(inputs)


@verb
def run_in_turns(session: Session, modules: list[int], calls: list[dict[str, Any]]) -> list[bytes]:
    """Make each call on the module at its place; each result, encoded after the last call was made. A method that was
    called before is given the same tensors, with other values, wherever they are as large."""
    held = [session.module(number) for number in modules]
    given: dict[tuple[int, str], Any] = {}
    results = []
    with Subject():
        for number, module, call in zip(modules, held, calls, strict=True):
            values, place = _ordinary(call["inputs"]), (number, call["method"])
            given[place] = refilled(given.get(place, values), values)
            results.append(call_method(module, call["method"], given[place]))
        return [encode(result) for result in results]


def _same_values(first: torch.Tensor, second: torch.Tensor) -> bool:
    return encode(first.detach().clone()) == encode(second.detach().clone())


def _share_memory(first: torch.Tensor, second: torch.Tensor) -> bool:
    if 0 in (first.numel(), second.numel()):
        return False
    return first.untyped_storage().data_ptr() == second.untyped_storage().data_ptr()


@verb
def lite_operators(session: Session, artifact: bytes) -> dict[str, Any]:
    """The operators that a lite artifact names, its bytecode version, and those that this process does not have."""
    with Subject():
        operators = sorted(_export_operator_list(_load_for_lite_interpreter(io.BytesIO(artifact))))
        version = _get_model_bytecode_version(io.BytesIO(artifact))
    known = {_full_name(schema.name, schema.overload_name) for schema in torch._C._jit_get_all_schemas()}
    unknown = [name for name in operators if name not in known and not name.startswith("prim::")]
    return {"operators": operators, "bytecode_version": version, "unknown": unknown}


def _full_name(name: str, overload: str) -> str:
    return f"{name}.{overload}" if overload else name


@verb
def load_many(session: Session, artifact: bytes, runtime: str, method: str, inputs: bytes, count: int) -> list[int]:
    """Load an artifact ``count`` times, call a method of each, and drop it; the resident memory after each quarter, in
    bytes, when Python has collected what it can."""
    readings = []
    for _quarter in range(4):
        for _ in range(count // 4):
            with Subject():
                call_method(load_artifact(artifact, runtime), method, decode(inputs))
        gc.collect()
        readings.append(_resident_bytes())
    return readings


def _resident_bytes() -> int:
    """The memory that the process has resident, without what it has freed and keeps: a leak that fits in there would
    not show, and how much there is depends on what was imported before."""
    import ctypes
    import resource

    with contextlib.suppress(OSError, AttributeError):  # a C library that has no such function
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
