"""Registers TorchScript backends that are written in Python."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

import torch

from torch_conformance_saboteurs.build import load

#: Given a graph: one debug handle for each of its nodes, in the order of a walk that visits a node, then the
#: nodes in its blocks, then the next node. Works only while preprocess runs.
DebugHandles = Callable[[torch._C.Graph], list[int]]


class Implementation(Protocol):
    """What a backend's class has to offer. It is called with the GIL held, from any thread.

    A fresh instance is made for each call of ``preprocess``, and one for each lowered module, for
    ``is_available``, ``compile`` and ``execute``. An exception becomes a RuntimeError of the same text at the
    caller; if it has an integer attribute ``debug_handle``, the lite interpreter adds the module hierarchy
    and the line of the model.
    """

    def preprocess(
        self, module: torch._C.ScriptModule, method_compile_spec: dict[str, Any], debug_handles: DebugHandles
    ) -> Any:
        """The processed module: anything that TorchScript can hold. ``bytes`` come back as ``str``."""

    def is_available(self) -> bool: ...

    def compile(self, processed: Any, method_compile_spec: dict[str, Any]) -> dict[str, Any]:
        """A handle for each method: a number, a string, whatever TorchScript can hold, or :func:`opaque`."""

    def execute(self, handle: Any, inputs: list[Any]) -> list[Any]:
        """The outputs, one by one; :func:`typed` where the value alone does not tell its type."""


_lock = threading.Lock()
_implementations: dict[str, Callable[[], Implementation]] = {}
_preprocess_counts: dict[str, int] = {}


def register(name: str, implementation: Callable[[], Implementation]) -> None:
    """Register a backend under ``name``, for as long as the process lives.

    Raises ValueError if the name is no identifier, RuntimeError if it is taken, by whatever library.
    """
    if not (name.isidentifier() and name.isascii()):
        raise ValueError(f"a backend's name is an identifier in ASCII, found {name!r}")
    extension = load()

    def preprocess(
        module: torch._C.ScriptModule, method_compile_spec: dict[str, Any], debug_handles: DebugHandles
    ) -> Any:
        with _lock:
            _preprocess_counts[name] += 1
        return implementation().preprocess(module, method_compile_spec, debug_handles)

    with _lock:
        extension.define(name, implementation, preprocess)
        _implementations[name] = implementation
        _preprocess_counts[name] = 0


def registered(name: str) -> Callable[[], Implementation] | None:
    """What :func:`register` was given for ``name`` in this process; None if it was not called."""
    return _implementations.get(name)


def preprocess_count(name: str) -> int:
    """How often preprocess of that backend was called in this process, counted outside of the backend."""
    return _preprocess_counts.get(name, 0)


def typed(value: Any, declared: torch._C.Type) -> Any:
    """An output with its declared type, which an empty list or None does not show."""
    return load().Typed(value, declared)


def opaque(value: object) -> Any:
    """A handle that is a Python object; ``execute`` gets that object, and it dies with its lowered module."""
    return load().Opaque(value)


def spin(*, hold_gil: bool) -> NoReturn:
    """Loop for ever in native code; with the GIL no thread of Python's gets a turn, nor any Python signal handler."""
    load().spin(hold_gil)
    raise AssertionError("unreachable")


def throws_when_destroyed() -> object:
    """An object whose native destructor throws, which ends the process by ``std::terminate``."""
    return load().ThrowsWhenDestroyed()
