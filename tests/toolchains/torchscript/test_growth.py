"""How the memory that loading keeps is read."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from conformance.compare.values import encode
from conformance.toolchains.torchscript.verbs import artifacts


class _Loaded:
    """A module that refers to itself, which the garbage collector alone takes back."""

    def __init__(self) -> None:
        self.itself = self


def test_memory_is_read_when_python_has_collected_what_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    alive: weakref.WeakSet[_Loaded] = weakref.WeakSet()

    def load(*_: Any) -> _Loaded:
        loaded = _Loaded()
        alive.add(loaded)
        return loaded

    monkeypatch.setattr(artifacts, "load_artifact", load)
    monkeypatch.setattr(artifacts, "call_method", lambda *_: None)
    monkeypatch.setattr(artifacts, "_resident_bytes", lambda: len(alive))
    session: Any = None
    gc.disable()
    try:
        readings = artifacts.load_many(session, b"", "lite", "forward", encode(()), 8)
    finally:
        gc.enable()
    assert readings == [0, 0, 0, 0]
