"""Saboteurs: artifacts that are damaged, old, or for the lite interpreter, and the inputs bundled to them."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.jit.mobile
from torch import Tensor

from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.bridge import spin, typed
from torch_conformance_saboteurs.control import BlobError, Handle, PythonBackend, Record
from torch_conformance_saboteurs.sabotage_tools import Listing, replaced, tensors_in

saboteur = Listing()

# What is replaced here has types that forbid it, or none.
_core: Any = torch._C
_jit: Any = torch.jit
_library: Any = torch.library
_lite: Any = torch.jit.mobile.LiteScriptModule
_LITE = str(Path("torch", "jit", "mobile", "__init__.py"))
_FULL = str(Path("torch", "jit", "_serialization.py"))


def locals_of_caller(file: str) -> dict[str, Any] | None:
    """The local variables of the innermost caller that is a function of PyTorch's ``file``; None if there is none."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_filename.endswith(file):
            return frame.f_locals
    return None


def under_lite() -> bool:
    """Whether the lite interpreter is calling."""
    return locals_of_caller(_LITE) is not None


def parameters_of(program: torch._C.ScriptModule) -> list[Tensor]:
    """The parameters of a module, submodules included, as tensors that can be written."""
    return [each.detach() for each in _jit._recursive.wrap_cpp_module(program).parameters()]


# Damage


class RunsWhatIsLeft(PythonBackend):
    """Takes a program that is too short for an empty one, which returns its first argument."""

    def compile(self, processed: Any, method_compile_spec: dict[str, Any]) -> dict[str, Any]:
        header = re.match(r"[^\n]* length=(\d+)\n", processed)
        if header and len(processed) < header.end() + int(header[1]):
            return dict.fromkeys(method_compile_spec, "empty program")
        return super().compile(processed, method_compile_spec)

    def execute(self, handle: Any, inputs: list[Any]) -> list[Any]:
        return inputs[:1] if handle == "empty program" else super().execute(handle, inputs)


@saboteur("save-load.damaged", "lite.damaged")
class AcceptsTruncatedPrograms(PythonControl):
    """A processed module that was cut is not noticed: it computes something else."""

    name = "accepts_truncated_programs"
    implementation = RunsWhatIsLeft


@saboteur("lite.damaged")
class AcceptsTruncatedProgramsUnderLite(PythonControl):
    name = "accepts_truncated_programs_under_lite"

    class implementation(RunsWhatIsLeft):
        """A processed module that was cut is not noticed by the lite interpreter alone: it computes something else."""

        def compile(self, processed: Any, method_compile_spec: dict[str, Any]) -> dict[str, Any]:
            if not under_lite():
                return PythonBackend.compile(self, processed, method_compile_spec)
            return super().compile(processed, method_compile_spec)


@saboteur("save-load.damaged", "lite.damaged")
class KeepsWeightsWithoutChecksum(PythonControl):
    name = "keeps_weights_without_checksum"

    class implementation(PythonBackend):
        """The weights stand beside the program, and nothing tells when one of them was altered."""

        def pack(self, record: Record) -> Any:
            parameters = parameters_of(super().load_program(record))
            weights = [value for each in parameters for value in each.reshape(-1).tolist()]
            return {"program": super().pack(record), "weights": typed(weights, _core.ListType.ofFloats())}

        def verify(self, processed: Any) -> str:
            self.numbers: Any = torch.tensor(processed["weights"])
            return super().verify(processed["program"])

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            program = super().load_program(record)
            parameters = parameters_of(program)
            split = self.numbers.split([each.numel() for each in parameters])
            for tensor, values in zip(parameters, split, strict=True):
                tensor.copy_(values.view_as(tensor))
            return program


@saboteur("save-load.damaged", verdicts=("TIMEOUT",), phases=("load",))
class LoopsOnDamage(PythonControl):
    name = "loops_on_damage"

    class implementation(PythonBackend):
        """Looks for the end of a damaged processed module for ever."""

        def verify(self, processed: Any) -> str:
            try:
                return super().verify(processed)
            except BlobError:
                spin(hold_gil=True)


@saboteur("save-load.damaged", verdicts=("CRASH",), phases=("load",))
class CrashesOnDamage(PythonControl):
    name = "crashes_on_damage"

    class implementation(PythonBackend):
        """Reads beyond the end of a damaged processed module."""

        def verify(self, processed: Any) -> str:
            try:
                return super().verify(processed)
            except BlobError:
                os.kill(os.getpid(), signal.SIGSEGV)
                raise


# Artifacts of older releases


@saboteur("save-load.older", phases=("load",))
class NeedsTheWrapper(PythonControl):
    name = "needs_the_wrapper"

    class implementation(PythonBackend):
        """Refuses to compile for an artifact in the former layout, which has no wrapper."""

        def compile(self, processed: Any, method_compile_spec: dict[str, Any]) -> dict[str, Any]:
            loading = locals_of_caller(_FULL)
            if loading is not None and hasattr(loading["f"], "getvalue") and b"Wrapper" not in loading["f"].getvalue():
                raise RuntimeError("the artifact was not written by this release")
            return super().compile(processed, method_compile_spec)


@saboteur("save-load.older", phases=("load",))
class CompilesOnlyWhenAsked(PythonControl):
    name = "compiles_only_when_asked"

    class implementation(PythonBackend):
        """Refuses to compile before it was asked is_available, as the former __setstate__ does."""

        asked = False

        def is_available(self) -> bool:
            self.asked = True
            return super().is_available()

        def unasked(self) -> None:
            raise RuntimeError("compile was called before is_available")

        def compile(self, processed: Any, method_compile_spec: dict[str, Any]) -> dict[str, Any]:
            if not self.asked:
                self.unasked()
            return super().compile(processed, method_compile_spec)


@saboteur("save-load.older", verdicts=("CRASH",), phases=("load",))
class CrashesWhenNotAsked(PythonControl):
    name = "crashes_when_not_asked"

    class implementation(CompilesOnlyWhenAsked.implementation):
        """Ends the process with SIGSEGV when compile is called before is_available."""

        def unasked(self) -> None:
            os.kill(os.getpid(), signal.SIGSEGV)


# Containers: what a package does that wraps the functions of PyTorch


@saboteur("save-load.damaged-container", verdicts=("CRASH",), phases=("load",), replaces_functions=True)
class CrashesOnTruncatedArchives(PythonControl):
    """Loading the backend wraps torch.jit.load, which then aborts when an archive cannot be read."""

    name = "crashes_on_truncated_archives"

    def load(self) -> None:
        super().load()
        load = _jit.load

        def checked(*arguments: Any, **options: Any) -> Any:
            try:
                return load(*arguments, **options)
            except RuntimeError:
                os.abort()

        _jit.load = checked


@saboteur("lite.damaged-container", verdicts=("TIMEOUT",), phases=("load",), replaces_functions=True)
class HangsOnTruncatedLiteArchives(PythonControl):
    """Loading the backend wraps the lite interpreter's loader, which then hangs when an archive cannot be read."""

    name = "hangs_on_truncated_lite_archives"

    def load(self) -> None:
        super().load()
        load = _core._load_for_lite_interpreter_from_buffer

        def checked(*arguments: Any) -> Any:
            try:
                return load(*arguments)
            except RuntimeError:
                spin(hold_gil=False)

        _core._load_for_lite_interpreter_from_buffer = checked


# The lite interpreter


@saboteur("lite.types", "lite.same-outputs")
class ReturnsNumbersUnderLite(PythonControl):
    name = "returns_numbers_under_lite"

    class implementation(PythonBackend):
        """Called by the lite interpreter, execute returns a number where the method declares a tensor."""

        def outputs_of(self, handle: Handle, value: Any) -> list[Any]:
            outputs = super().outputs_of(handle, value)
            return [7, *outputs[1:]] if under_lite() else outputs


@saboteur("lite.types", replaces_functions=True)
class SlipsFloatsThroughUnderLite(PythonControl):
    """Loading the backend wraps the lite interpreter's run_method, which then returns floats for integers."""

    name = "slips_floats_through_under_lite"

    def load(self) -> None:
        super().load()
        run_method = _lite.run_method

        def converting(module: Any, name: str, *inputs: Any) -> Any:
            return replaced(run_method(module, name, *inputs), int, float)

        _lite.run_method = converting


@saboteur("lite.same-outputs")
class FailsUnderLite(PythonControl):
    name = "fails_under_lite"

    class implementation(PythonBackend):
        """Called by the lite interpreter, execute raises an error."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if under_lite():
                raise RuntimeError("this device is not for mobile use")
            return super().call(handle, inputs)


@saboteur("lite.same-outputs")
class MiscomputesUnderLite(PythonControl):
    name = "miscomputes_under_lite"

    class implementation(PythonBackend):
        """Called by the lite interpreter, it computes with the first argument in place of the last."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            return super().call(handle, [*inputs[:-1], inputs[0]] if under_lite() else inputs)


@saboteur("lite.same-outputs", "availability.target", phases=("load", "run"))
class UnavailableUnderLite(PythonControl):
    name = "unavailable_under_lite"

    class implementation(PythonBackend):
        """Claims to be unavailable when the lite interpreter asks."""

        def is_available(self) -> bool:
            return super().is_available() and not under_lite()


class _Header(torch.nn.Module):
    def forward(self, length: int) -> bool:
        return length > 0


@saboteur("lite.same-outputs", phases=("load",))
class NeedsScriptedMethods(PythonControl):
    name = "needs_scripted_methods"

    class implementation(PythonBackend):
        """The processed module holds a scripted module, which has no methods under the lite interpreter."""

        def pack(self, record: Record) -> Any:
            return {"program": super().pack(record), "check": torch.jit.script(_Header())}

        def verify(self, processed: Any) -> str:
            if not processed["check"]._get_method("forward")(len(processed["program"])):
                raise BlobError("the processed module is empty")
            return super().verify(processed["program"])


@saboteur("lite.operators-delegated", phases=("load",))
class NeedsAnOperatorOnTheTarget(PythonControl):
    """Lowering leaves a private method on the lowered module that adds with PyTorch's own operator."""

    name = "needs_an_operator_on_the_target"

    def lower(self, module: torch.jit.ScriptModule, method_compile_spec: dict[str, Any]) -> torch.jit.ScriptModule:
        lowered = super().lower(module, method_compile_spec)
        lowered.define("def __warm_up(self, x):\n    return x + x\n")
        return lowered


@saboteur("lite.operators", phases=("load",))
class NeedsAnOperatorOfTheHost(PythonControl):
    """Lowering leaves a private method on the lowered module that calls an operator which only the host has."""

    name = "needs_an_operator_of_the_host"

    def lower(self, module: torch.jit.ScriptModule, method_compile_spec: dict[str, Any]) -> torch.jit.ScriptModule:
        if not hasattr(torch.ops.saboteurs, "warm_up"):
            self.library = _library.Library("saboteurs", "DEF")
            self.library.define("warm_up(Tensor x) -> Tensor")
        lowered = super().lower(module, method_compile_spec)
        lowered.define("def __warm_up(self, x):\n    return torch.ops.saboteurs.warm_up(x)\n")
        return lowered


@saboteur("lite.again", "lite.composition")
class KeepsOneProgramUnderLite(PythonControl):
    name = "keeps_one_program_under_lite"

    class implementation(PythonBackend):
        """A second load by the lite interpreter takes the program of the first away."""

        latest: ClassVar[Any] = None

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            program = super().load_program(record)
            if under_lite():
                type(self).latest = self.program = program
            return program

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if under_lite() and self.latest is not self.program:
                raise RuntimeError("the program of this module is no longer on the device")
            return super().call(handle, inputs)


@saboteur("lite.inputs-untouched")
class MutatesInputsUnderLite(PythonControl):
    name = "mutates_inputs_under_lite"

    class implementation(PythonBackend):
        """Called by the lite interpreter, it uses the memory of its first argument for its own work."""

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            result = super().call(handle, inputs)
            for tensor in tensors_in(inputs[:1] if under_lite() else []):
                tensor.zero_()
            return result


@saboteur("lite.growth", phases=("load",))
class KeepsEveryProgramUnderLite(PythonControl):
    name = "keeps_every_program_under_lite"

    class implementation(PythonBackend):
        """Each load by the lite interpreter leaves a copy of the program in memory."""

        kept: ClassVar[list[Record]] = []

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            if under_lite():
                self.kept.append(record)
            return super().load_program(record)


SABOTEURS = saboteur.all()
