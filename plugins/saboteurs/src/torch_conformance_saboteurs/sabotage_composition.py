"""Saboteurs: modules inside modules, the ways of saving and loading, a second registration, cloning."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.jit.mobile
import torch.utils.bundled_inputs

from torch_conformance_saboteurs.backends import PythonControl
from torch_conformance_saboteurs.build import build
from torch_conformance_saboteurs.control import Handle, PythonBackend, Record
from torch_conformance_saboteurs.sabotage_tools import Listing, replaced

saboteur = Listing()
_core: Any = torch._C
_mobile: Any = torch.jit.mobile
_bundling: Any = torch.utils.bundled_inputs


class _InsideParents(PythonBackend):
    scripted_since: ClassVar[bool] = False

    def call(self, handle: Handle, inputs: list[Any]) -> Any:
        result = super().call(handle, inputs)
        if type(self).scripted_since:
            return replaced(result, torch.Tensor, lambda tensor: tensor + 1)
        return result


@saboteur("composition.nested", "composition.several", replaces_functions=True)
class MiscomputesInsideParents(PythonControl):
    """Once a lowered module has become a child of a scripted module, its results are one too large."""

    name = "miscomputes_inside_parents"
    implementation = _InsideParents

    def load(self) -> None:
        super().load()
        original = torch.jit.script

        def script(module: Any, *arguments: Any, **keywords: Any) -> Any:
            children = module.children() if isinstance(module, torch.nn.Module) else ()
            scripted = [child for child in children if isinstance(child, torch.jit.ScriptModule)]
            if any("LoweredWrapper" in str(child._c._type()) for child in scripted):
                _InsideParents.scripted_since = True
            return original(module, *arguments, **keywords)

        torch.jit.script = script  # type: ignore[assignment]  # it has overloads


@saboteur("composition.selective-errors", phases=("lower",), replaces_functions=True)
class AcceptsAnyChild(PythonControl):
    """Loading the backend lets selective lowering pass over submodules that are not there."""

    name = "accepts_any_child"

    def load(self) -> None:
        super().load()
        original = _core._jit_to_backend_selective

        def selective(module: Any, to_backend: Any, names: list[str]) -> Any:
            children = dict(module.named_children())
            return original(module, to_backend, [name for name in names if name in children])

        _core._jit_to_backend_selective = selective


class _FromFiles(PythonBackend):
    from_file: ClassVar[bool] = False

    def load_program(self, record: Record) -> torch._C.ScriptModule:
        if type(self).from_file:
            raise RuntimeError("the program cannot be mapped from a file")
        return super().load_program(record)


@saboteur("save-load.ways", "lite.ways", phases=("load",), replaces_functions=True)
class CannotLoadFromFiles(PythonControl):
    """An artifact can be loaded from a buffer, and not from a file."""

    name = "cannot_load_from_files"
    implementation = _FromFiles

    def load(self) -> None:
        super().load()
        for owner, name in ((torch.jit, "load"), (_core, "_load_for_lite_interpreter")):
            setattr(owner, name, _noting_files(getattr(owner, name)))


def _noting_files(load: Any) -> Any:
    def noting(source: Any, *arguments: Any, **keywords: Any) -> Any:
        _FromFiles.from_file = isinstance(source, str | os.PathLike)
        return load(source, *arguments, **keywords)

    return noting


@saboteur("lowering.registered-twice", phases=("register",))
class RegistersWithoutAWord(PythonControl):
    """A second copy of its library is loaded without a word: whatever it registers is dropped in silence."""

    name = "registers_without_a_word"

    @property
    def libraries(self) -> tuple[str, ...]:  # type: ignore[override]
        """The extension, which registers nothing by being loaded."""
        path: Path = build()
        return (str(path),)


@saboteur("bundled.by-cloning", phases=("bundle",), replaces_functions=True)
class CannotBeCloned(PythonControl):
    """Loading the backend makes bundle_inputs refuse its modules, with a reason of its own."""

    name = "cannot_be_cloned"

    def load(self) -> None:
        super().load()

        def bundle_inputs(model: Any, *arguments: Any, **keywords: Any) -> Any:
            raise RuntimeError("modules of this backend take no inputs along")

        _bundling.bundle_inputs = bundle_inputs


SABOTEURS = saboteur.all()
