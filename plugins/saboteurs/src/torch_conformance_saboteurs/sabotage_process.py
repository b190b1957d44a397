"""Saboteurs: crashes, exits, hangs, floods and leftovers.

Each breaks one step of :class:`_Steps`, which are called at the beginning of preprocess, compile and execute, and when
a handle is destroyed.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import subprocess
import sys
import threading
from typing import Any, ClassVar, NoReturn

import torch

from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.bridge import DebugHandles, opaque, spin, throws_when_destroyed
from torch_conformance_saboteurs.control import Handle, PythonBackend, Record
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()

#: What a process that was started here does: it ends by itself, should nobody end it.
_GRANDCHILD = (sys.executable, "-S", "-c", "import time; time.sleep(20)")


class _Steps(PythonBackend):
    """A backend that says when one of its steps begins."""

    def preprocess(
        self, module: torch._C.ScriptModule, method_compile_spec: dict[str, Any], debug_handles: DebugHandles
    ) -> Any:
        self.at_preprocess()
        return super().preprocess(module, method_compile_spec, debug_handles)

    def compile(self, processed: Any, method_compile_spec: dict[str, Any]) -> dict[str, Any]:
        self.at_compile()
        return super().compile(processed, method_compile_spec)

    def execute(self, handle: Any, inputs: list[Any]) -> list[Any]:
        self.at_execute()
        return super().execute(handle, inputs)

    def at_preprocess(self) -> None: ...

    def at_compile(self) -> None: ...

    def at_execute(self) -> None: ...


class _Farewell(Handle):
    """A handle that does something when it is destroyed."""

    __slots__ = ("__weakref__",)

    at_destruction: ClassVar[Any]

    def __del__(self) -> None:
        type(self).at_destruction()


class _Destructor(PythonBackend):
    """A backend whose handles do something when they are destroyed."""

    def handle_of(self, record: Record, program: torch._C.ScriptModule, method: str) -> Any:
        implementation = type(self)

        class Farewell(_Farewell):
            at_destruction = implementation.at_destruction

        return opaque(Farewell(method, program._get_method(method), record.debug_handles[method]))

    @staticmethod
    def at_destruction() -> None: ...
