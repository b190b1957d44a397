"""Saboteurs that change PyTorch itself, for everybody in the process, or do not do what it leaves to them."""

from __future__ import annotations

import os
from typing import Any

import torch

from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.bridge import DebugHandles
from torch_conformance_saboteurs.control import Handle, PythonBackend
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()


@saboteur("lowering.pytorch-unchanged", phases=("inspect",))
class TurnsFuserOff(PythonControl):
    """Loading it turns a fuser of the JIT off, for every model of the process."""

    name = "turns_fuser_off"

    def load(self) -> None:
        torch._C._jit_set_texpr_fuser_enabled(False)
        super().load()


@saboteur("lowering.pytorch-unchanged", phases=("inspect",))
class ReplacesFunction(PythonControl):
    name = "replaces_function"

    class implementation(PythonBackend):
        """Lowering puts a function of its own in the place of ``torch.nn.functional.gelu``."""

        def preprocess(
            self, module: torch._C.ScriptModule, method_compile_spec: dict[str, Any], debug_handles: DebugHandles
        ) -> Any:
            setattr(torch.nn.functional, "gelu", torch.nn.functional.silu)  # noqa: B010  (mypy takes it for a function)
            return super().preprocess(module, method_compile_spec, debug_handles)


@saboteur("lowering.pytorch-unchanged", phases=("inspect",))
class SimplifiesTheExecutor(PythonControl):
    name = "simplifies_the_executor"

    class implementation(PythonBackend):
        """To run a method it takes the JIT's simple executor, which every other model gets from then on."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            torch._C._jit_set_profiling_executor(False)
            return super().call(handle, inputs)


@saboteur("availability.fallback", verdicts=("CRASH",), phases=("probe",))
class CrashesWhereItCannotExecute(PythonControl):
    name = "crashes_where_it_cannot_execute"

    class implementation(PythonBackend):
        """Where there is nothing to execute with, it neither falls back to PyTorch nor refuses: the process dies."""

        def execute(self, handle: Any, inputs: list[Any]) -> list[Any]:
            if not self.can_execute():
                os.abort()
            return super().execute(handle, inputs)


SABOTEURS = saboteur.all()
