"""Saboteurs: artifacts that need what is not in them, and modules that do not live and die by themselves."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch.jit._recursive import wrap_cpp_module

from torch_conformance_saboteurs import bridge
from torch_conformance_saboteurs.archive import module_from_bytes
from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.control import Handle, PythonBackend, Record
from torch_conformance_saboteurs.sabotage_tools import Listing

saboteur = Listing()

LOADED = ("save-load.same-outputs", "lite.same-outputs")

_programs: dict[str, torch._C.ScriptModule] = {}
_handles: dict[str, Handle] = {}
_kept: list[Any] = []
_compiled = 0


def type_name(module: torch._C.ScriptModule) -> str:
    """The name of the module's class without what tells types of one name apart."""
    return re.sub(r"\.___torch_mangle_\d+", "", module._type().qualified_name())


def is_mangled(module: Any) -> bool:
    """Whether there was a type of the same name before that of a wrapped module."""
    return "___torch_mangle_" in module._c._type().qualified_name()


# What the artifact needs


@saboteur(*LOADED, "save-load.host-gone", "save-load.again")
class LosesWeights(PythonControl):
    name = "loses_weights"

    class implementation(PythonBackend):
        """Weights are not in the artifact: where they are not in the process, they are zero."""

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            program = super().load_program(record)
            if not bridge.preprocess_count(LosesWeights.name):
                for tensor in wrap_cpp_module(program).parameters():
                    tensor.data.zero_()
            return program


@saboteur(*LOADED, "save-load.host-gone", "save-load.again")
class LosesBuffers(PythonControl):
    name = "loses_buffers"

    class implementation(PythonBackend):
        """Buffers are not in the artifact: where they are not in the process, they are zero."""

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            program = super().load_program(record)
            if not bridge.preprocess_count(LosesBuffers.name):
                for tensor in wrap_cpp_module(program).buffers():
                    tensor.zero_()
            return program


class _Wraps(PythonBackend):
    """A backend whose processed module is a dictionary with the conforming one and something about the host."""

    def about_host(self) -> str:
        raise NotImplementedError

    def pack(self, record: Record) -> Any:
        return {"blob": super().pack(record), "host": self.about_host()}

    def verify(self, processed: Any) -> str:
        return super().verify(processed["blob"])


@saboteur("save-load.no-host-paths", phases=("save",))
class KeepsHostPath(PythonControl):
    name = "keeps_host_path"

    class implementation(_Wraps):
        """The processed module holds the folder in which the module was lowered."""

        def about_host(self) -> str:
            return os.getcwd()


@saboteur("save-load.no-host-paths", phases=("save",))
class HidesHostPath(PythonControl):
    name = "hides_host_path"

    class implementation(PythonBackend):
        """The folder in which the module was lowered stands in the processed module, inside its base64."""

        def spec_bytes(self, method_compile_spec: dict[str, Any]) -> bytes:
            return super().spec_bytes({**method_compile_spec, "": os.getcwd()})

        def received_spec(self, processed: Any) -> dict[str, Any]:
            return {key: value for key, value in super().received_spec(processed).items() if key}


@saboteur("save-load.no-host-paths", phases=("save",))
class KeepsProcessId(PythonControl):
    name = "keeps_process_id"

    class implementation(_Wraps):
        """The processed module holds the id of the process that lowered it."""

        def about_host(self) -> str:
            return f"lowered by process {os.getpid()}"


@saboteur("save-load.no-host-paths", phases=("save",))
class KeepsProcessIdInHexadecimal(PythonControl):
    name = "keeps_process_id_in_hexadecimal"

    class implementation(_Wraps):
        """The processed module holds the id of the process that lowered it, as an address is written."""

        def about_host(self) -> str:
            return hex(os.getpid())


@saboteur("save-load.no-host-paths", phases=("save",))
class KeepsPathOfScratchFile(PythonControl):
    name = "keeps_path_of_scratch_file"

    class implementation(_Wraps):
        """The processed module names a file of the compiler that is in none of the folders that a process has."""

        def about_host(self) -> str:
            return "compiled from /var/tmp/scratch.ll"


@saboteur(*LOADED, phases=("load",))
class NeedsItsProcess(PythonControl):
    name = "needs_its_process"

    class implementation(_Wraps):
        """An artifact can be loaded only in the process that lowered it."""

        def about_host(self) -> str:
            return hex(os.getpid())

        def verify(self, processed: Any) -> str:
            if processed["host"] != self.about_host():
                raise RuntimeError("the processed module belongs to another process")
            return super().verify(processed)


class _File:
    """A file that goes with the object."""

    def __init__(self, contents: bytes) -> None:
        descriptor, self.path = tempfile.mkstemp()
        with open(descriptor, "wb") as file:
            file.write(contents)

    def __del__(self) -> None:
        with contextlib.suppress(OSError):
            Path(self.path).unlink()


@saboteur("save-load.host-gone", phases=("load",))
class KeepsProgramInFile(PythonControl):
    name = "keeps_program_in_file"

    class implementation(PythonBackend):
        """The program lies in a temporary file, which goes with the module that was lowered."""

        def __init__(self) -> None:
            self.file: _File | None = None

        def pack(self, record: Record) -> Any:
            _kept.append(_File(record.program))
            return super().pack(Record(_kept[-1].path.encode(), record.debug_handles, record.spec))

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            if _kept:
                self.file = _kept.pop()
            return module_from_bytes(Path(record.program.decode()).read_bytes())


# Saving again


@saboteur("save-load.again", "lite.from-loaded", phases=("load",))
class FreesProcessedModule(PythonControl):
    name = "frees_processed_module"

    class implementation(PythonBackend):
        """Where an artifact is loaded, the memory of the processed module is given back: it cannot be saved again."""

        def pack(self, record: Record) -> Any:
            return torch.frombuffer(bytearray(super().pack(record).encode()), dtype=torch.uint8)

        def verify(self, processed: Any) -> str:
            text = super().verify(bytes(processed.tolist()).decode())
            if not bridge.preprocess_count(FreesProcessedModule.name):
                processed.set_()
            return text


@saboteur("save-load.attributes", "lite.attributes", "bundled.after-lowering", phases=("run", "bundle"))
class SavesAsLowered(PythonControl):
    """Saving writes the module as it was when it was lowered, without what was added since."""

    name = "saves_as_lowered"

    def lower(self, module: torch.jit.ScriptModule, method_compile_spec: dict[str, Any]) -> torch.jit.ScriptModule:
        lowered = super().lower(module, method_compile_spec)
        if self.implementation().is_available():
            data = lowered.save_to_buffer()
            for way in ("save", "save_to_buffer", "_save_for_lite_interpreter", "_save_to_buffer_for_lite_interpreter"):
                setattr(lowered, way, functools.partial(self._as_lowered, data, way))
        return lowered

    def _as_lowered(self, data: bytes, way: str, *arguments: Any, **keywords: Any) -> Any:
        return getattr(torch.jit.load(io.BytesIO(data)), way)(*arguments, **keywords)


@saboteur("save-load.extra-files", phases=("load",))
class DropsExtraFiles(PythonControl):
    """Saving leaves the extra files out."""

    name = "drops_extra_files"

    def lower(self, module: torch.jit.ScriptModule, method_compile_spec: dict[str, Any]) -> torch.jit.ScriptModule:
        lowered: Any = super().lower(module, method_compile_spec)
        save, save_to_buffer = lowered.save, lowered.save_to_buffer
        lowered.save = lambda file, _extra_files=None: save(file)
        lowered.save_to_buffer = lambda _extra_files=None: save_to_buffer()
        return lowered  # type: ignore[no-any-return]


# Modules beside each other


@saboteur("lowering.twice", "composition.several")
class SharesHandlesByMethod(PythonControl):
    name = "shares_handles_by_method"

    class implementation(PythonBackend):
        """A handle is the name of its method, and finds what was compiled last under that name."""

        def handle_of(self, record: Record, program: torch._C.ScriptModule, method: str) -> Any:
            _handles[method] = Handle(method, program._get_method(method), record.debug_handles[method])
            return method

        def execute(self, handle: Any, inputs: list[Any]) -> list[Any]:
            return super().execute(_handles.get(handle), inputs)


@saboteur("lowering.twice", "composition.several")
class SharesProgramsByType(PythonControl):
    name = "shares_programs_by_type"

    class implementation(PythonBackend):
        """Modules of one type name share the program of the first that was compiled in the process."""

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            program = super().load_program(record)
            return _programs.setdefault(type_name(program), program)


@saboteur("composition.deepcopy", "save-load.many", "lite.again")
class SharesProgramsByContent(PythonControl):
    name = "shares_programs_by_content"

    class implementation(PythonBackend):
        """Equal programs are loaded once, and go with the first module that is destroyed."""

        key = ""

        def unpack(self, processed: Any) -> Record:
            self.key = processed
            return super().unpack(processed)

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            return _programs.setdefault(self.key, super().load_program(record))

        def call(self, handle: Handle, inputs: list[Any]) -> Any:
            if self.key not in _programs:
                raise RuntimeError("the program was unloaded")
            return super().call(handle, inputs)

        def __del__(self) -> None:
            _programs.pop(self.key, None)


@saboteur("save-load.many", "lite.again", phases=("load",))
class LoadsArtifactOnlyOnce(PythonControl):
    name = "loads_artifact_only_once"

    class implementation(PythonBackend):
        """An artifact can be loaded only once in a process."""

        def verify(self, processed: Any) -> str:
            text = super().verify(processed)
            if text in _kept and not bridge.preprocess_count(LoadsArtifactOnlyOnce.name):
                raise RuntimeError("the program is loaded already")
            _kept.append(text)
            return text


@saboteur("composition.deepcopy-then-lower", phases=("lower",))
class FailsAfterDeepcopy(PythonControl):
    name = "fails_after_deepcopy"

    class implementation(PythonBackend):
        """After a lowered module was copied, no other can be lowered in the process."""

        def check_spec(self, module: torch._C.ScriptModule, method_compile_spec: dict[str, Any]) -> None:
            if _compiled >= bridge.preprocess_count(FailsAfterDeepcopy.name):
                raise RuntimeError("there are more modules than were lowered")
            super().check_spec(module, method_compile_spec)

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            global _compiled
            _compiled += 1
            return super().load_program(record)


@saboteur("composition.deepcopy", phases=("copy",))
class CannotBeCopied(PythonControl):
    name = "cannot_be_copied"

    class implementation(PythonBackend):
        """A deep copy of a lowered module fails."""

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            global _compiled
            _compiled += 1
            lowered = bridge.preprocess_count(CannotBeCopied.name)
            if lowered and _compiled > lowered:
                raise RuntimeError("the program has an owner")
            return super().load_program(record)


@saboteur("composition.deepcopy")
class CopiesForget(PythonControl):
    name = "copies_forget"

    class implementation(PythonBackend):
        """A deep copy of a lowered module has weights that are zero."""

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            program = super().load_program(record)
            if record.program in _kept:
                for parameter in wrap_cpp_module(program).parameters():
                    parameter.data.zero_()
            elif bridge.preprocess_count(CopiesForget.name):
                _kept.append(record.program)
            return program


@saboteur("lite.growth", phases=("load",))
class KeepsEveryProgram(PythonControl):
    name = "keeps_every_program"

    class implementation(PythonBackend):
        """The text of every program that was ever loaded is kept."""

        def verify(self, processed: Any) -> str:
            _kept.append(processed)
            return super().verify(processed)


@saboteur("lite.growth", phases=("load",))
class KeepsEveryModule(PythonControl):
    name = "keeps_every_module"

    class implementation(PythonBackend):
        """Every program that was ever loaded is kept."""

        def load_program(self, record: Record) -> torch._C.ScriptModule:
            _kept.append(super().load_program(record))
            return _kept[-1]  # type: ignore[no-any-return]


SABOTEURS = saboteur.all()
