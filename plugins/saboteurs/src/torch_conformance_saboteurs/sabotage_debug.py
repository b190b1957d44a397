"""Saboteurs: debug handles, what an error says, and what is left after one."""

from __future__ import annotations

from typing import Any

import torch

from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.bridge import DebugHandles
from torch_conformance_saboteurs.control import ExecutionError, Handle, PythonBackend, Record
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()
Places = dict[str, dict[str, int]]


@saboteur("debug.handles", "debug.runtime-error", phases=("save", "run"))
class TakesNoHandles(PythonControl):
    name = "takes_no_handles"

    class implementation(PythonBackend):
        """Preprocess asks for no debug handles."""

        def debug_handles_of(
            self, module: torch._C.ScriptModule, program: bytes, methods: tuple[str, ...], generate: DebugHandles
        ) -> Places:
            return {method: {} for method in methods}


@saboteur("debug.runtime-error")
class ThrowsTheFirstHandle(PythonControl):
    name = "throws_the_first_handle"

    class implementation(PythonBackend):
        """Whatever fails, the error points to the first operator of the method."""

        def failure(self, handle: Handle, error: Exception) -> Exception:
            return ExecutionError(str(error), min(handle.debug_handles.values(), default=None))


@saboteur("debug.runtime-error")
class ForgetsHandles(PythonControl):
    name = "forgets_handles"

    class implementation(PythonBackend):
        """The debug handles do not get into the processed module."""

        def debug_handles_of(
            self, module: torch._C.ScriptModule, program: bytes, methods: tuple[str, ...], generate: DebugHandles
        ) -> Places:
            super().debug_handles_of(module, program, methods, generate)
            return {method: {} for method in methods}


@saboteur("debug.message")
class SaysOtherThings(PythonControl):
    name = "says_other_things"

    class implementation(PythonBackend):
        """Of an error only a number is told, another one each time."""

        def failure(self, handle: Handle, error: Exception) -> Exception:
            _failures.append(handle.method)
            return RuntimeError(f"error {len(_failures)} on queue {id(error):#x}")


@saboteur("debug.raises", "debug.message")
class SaysThatItIsUnavailable(PythonControl):
    name = "says_that_it_is_unavailable"

    class implementation(PythonBackend):
        """Whatever fails, the error says that the backend is not available, where it is."""

        def failure(self, handle: Handle, error: Exception) -> Exception:
            found = super().failure(handle, error)
            return ExecutionError("Backend is not available.", getattr(found, "debug_handle", None))


@saboteur("debug.raises")
class FailsForGood(PythonControl):
    name = "fails_for_good"

    class implementation(PythonBackend):
        """After a method has failed once, none runs in that process any more."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if _failures:
                raise RuntimeError("the device is lost")
            return super().call(handle, inputs)

        def failure(self, handle: Handle, error: Exception) -> Exception:
            _failures.append(handle.method)
            return super().failure(handle, error)


@saboteur("debug.raises")
class AnswersWithFormerInputs(PythonControl):
    name = "answers_with_former_inputs"

    class implementation(PythonBackend):
        """The run after a failed one gets the inputs that the last good run had."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if _failures and _last_inputs:
                _failures.clear()
                inputs = _last_inputs
            result = super().call(handle, inputs)
            _last_inputs[:] = inputs
            return result

        def failure(self, handle: Handle, error: Exception) -> Exception:
            _last_inputs[:] = [torch.zeros(2, 3) for _ in _last_inputs]
            _failures.append(handle.method)
            return super().failure(handle, error)


@saboteur("debug.raises-at-load", phases=("load",))
class LoadsNothingAfterAFailure(PythonControl):
    name = "loads_nothing_after_a_failure"

    class implementation(PythonBackend):
        """After a module could not be loaded, none can."""

        def unpack(self, processed: Any) -> Record:
            if _failures:
                raise RuntimeError("the loader is locked")
            _failures.append("loading")
            record = super().unpack(processed)
            _failures.clear()
            return record


@saboteur("debug.raises-at-load")
class ForgetsModulesAfterAFailure(PythonControl):
    name = "forgets_modules_after_a_failure"

    class implementation(PythonBackend):
        """When a module cannot be loaded, those that were are thrown away."""

        def unpack(self, processed: Any) -> Record:
            try:
                return super().unpack(processed)
            except Exception:
                _failures.append("loading")
                raise

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if _failures:
                raise RuntimeError("the module is gone")
            return super().call(handle, inputs)


@saboteur("debug.raises-at-lowering", phases=("lower",))
class LowersNothingAfterAFailure(PythonControl):
    name = "lowers_nothing_after_a_failure"

    class implementation(PythonBackend):
        """After a spec was refused, every one is."""

        def check_spec(self, module: torch._C.ScriptModule, method_compile_spec: dict[str, Any]) -> None:
            if _failures:
                raise RuntimeError("the compiler was aborted")
            _failures.append("lowering")
            super().check_spec(module, method_compile_spec)
            _failures.clear()


_failures: list[str] = []
_last_inputs: list[Any] = []

SABOTEURS = saboteur.all()
