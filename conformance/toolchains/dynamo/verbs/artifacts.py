"""Verbs about what one process writes and another reads: exported programs, packages, and caches of compilers."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch._dynamo

from conformance.api.case import case_named
from conformance.compare.values import decode
from conformance.devices import Subject
from conformance.toolchains.dynamo.verbs.executed import executed
from conformance.toolchains.dynamo.verbs.inspection import compiler_at_work
from conformance.toolchains.dynamo.verbs.observing import Marked, observe
from conformance.toolchains.dynamo.verbs.session import Model, Session, verb


@verb
def export(session: Session, model: int, inputs: bytes, marks: Marked = ()) -> bytes:
    """``torch.export`` a model for such inputs, and save the program; the marked dimensions may have any size."""
    module = session.get(model).module
    arguments = decode(inputs)
    saved = io.BytesIO()
    with Subject():
        torch.export.save(torch.export.export(module, arguments, dynamic_shapes=_dynamic(arguments, marks)), saved)
    return saved.getvalue()


def _dynamic(arguments: Sequence[Any], marks: Marked) -> Any:
    """The marks as ``torch.export.export`` takes them; None where there is none."""
    if not marks:
        return None
    shapes: list[dict[int, Any]] = [{} for _ in arguments]
    for argument, dimension in marks:
        shapes[argument][dimension] = torch.export.Dim.DYNAMIC
    return tuple(shapes)


@verb
def load_exported(session: Session, program: bytes, case: str) -> int:
    """The module of a saved program. What ``case`` registers with PyTorch, such as its operators, is there before."""
    case_named(case, "dynamo").build(0)
    with Subject():
        module = torch.export.load(io.BytesIO(program)).module()
        return session.keep(Model(module, module))


@verb
def package(session: Session, model: int, inputs: bytes) -> bytes:
    """Compile a model ahead of time for such inputs (``aot_compile``), and save what came of it."""
    module = session.get(model).module
    with Subject(), tempfile.TemporaryDirectory() as folder:
        compiled: Any = torch.compile(module, **session.settings, fullgraph=True)
        path = Path(folder, "package")
        compiled.forward.aot_compile((decode(inputs), {})).save_compiled_function(str(path))
        return path.read_bytes()


@verb
def load_package(session: Session, package: bytes) -> tuple[int, list[str]]:
    """Load a package: its number, and what of a compiler's work was done meanwhile."""
    with Subject(), compiler_at_work() as seen:
        function = torch.compiler.load_compiled_function(io.BytesIO(package))
    return session.keep(function), seen


@verb
def run_package(session: Session, package: int, model: int, inputs: bytes) -> tuple[dict[str, Any], list[str]]:
    """Call a package with a model, whose weights are used, and inputs: what was observed, and what of a compiler's
    work was done meanwhile."""
    function, module = session.get(package), session.get(model).module
    with Subject(), compiler_at_work() as seen:
        return observe(lambda *arguments: function(module, *arguments), module, inputs), seen


@verb
def operators_run_by_package(session: Session, package: int, model: int, inputs: bytes) -> list[str]:
    """The operators that PyTorch itself executes in one call of a package that was called before."""
    function, module = session.get(package), session.get(model).module
    with Subject():
        return executed(function, (module, *decode(inputs)))


@verb
def save_cache(session: Session) -> bytes | None:
    """The cache artifacts of what this process has compiled; None where nothing was cached."""
    with Subject():
        found = torch.compiler.save_cache_artifacts()
    return None if found is None else found[0]


@verb
def load_cache(session: Session, artifacts: bytes) -> None:
    """Load cache artifacts, with an empty folder for what PyTorch's own compiler caches: nothing else is there."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp(dir=os.environ.get("TORCHINDUCTOR_CACHE_DIR"))
    with Subject():
        torch.compiler.load_cache_artifacts(artifacts)
