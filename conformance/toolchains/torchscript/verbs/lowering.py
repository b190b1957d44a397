"""Verbs that make modules: script, lower, disturb."""

from __future__ import annotations

from typing import Any

import torch

from conformance.api.case import case_named
from conformance.compare.values import decode, encode
from conformance.devices import Subject
from conformance.toolchains.torchscript.scripting import scripted
from conformance.toolchains.torchscript.verbs.authored import lowered
from conformance.toolchains.torchscript.verbs.session import Scripted, Session, verb


@verb
def samples(session: Session, case: str, seed: int) -> list[dict[str, Any]]:
    """What eager PyTorch gives for each sample of a case: ``[{method, inputs, expected}]``, values encoded."""
    chosen = case_named(case, "torchscript")
    module, by_method = chosen.build(seed)
    calls = []
    with Subject():
        for method in chosen.methods:
            for inputs in by_method[method]:
                before = encode(inputs)
                expected = getattr(module, method)(*decode(before))
                calls.append({"method": method, "inputs": before, "expected": encode(expected)})
    return calls


@verb
def script(session: Session, case: str, seed: int) -> int:
    """A case's module, scripted, and frozen where the case says so."""
    chosen = case_named(case, "torchscript")
    return session.keep(Scripted(scripted(chosen, seed), chosen))


@verb
def lower(session: Session, module: int, spec: bytes | None = None) -> int:
    """Lower a scripted module: preprocess, and compile where the backend is available. The control keeps a copy of it.

    ``spec`` replaces the method compile spec that the author's class gives for the case.
    """
    chosen = session.get(module)
    if session.backend is None:
        with Subject():
            return session.keep(clone_with_own_type(chosen.module))
    with Subject():
        if spec is None:
            return session.keep(lowered(session.backend, chosen.module, chosen.case))
        return session.keep(session.backend.lower(chosen.module, decode(spec)))


def clone_with_own_type(module: Any) -> Any:
    """A copy of a scripted module whose type is its own, as a lowered module's is: methods added to it stay with it."""
    clone = torch._C._hack_do_not_use_clone_module_with_class(module._c, [], [])  # type: ignore[attr-defined]
    return torch.jit._recursive.wrap_cpp_module(clone)


@verb
def lower_badly(session: Session, module: int, fault: str) -> None:
    """Try to lower with a spec or a module that cannot be lowered; returns only if nothing was raised."""
    backend = session.backend
    assert backend is not None
    chosen = session.get(module)
    with Subject():
        spec: Any = backend.compile_spec(chosen.case)
        value = next(iter(spec.values()))
        subject: Any = chosen.module
        if fault == "unknown method":
            spec = {**spec, "no_such_method": value}
        elif fault == "empty spec":
            spec = {}
        elif fault == "key that is no string":
            spec = {7: value}
        elif fault == "module that is not scripted":
            subject = chosen.case.build(0)[0]
        else:
            raise AssertionError(f"unknown fault {fault!r}")
        backend.lower(subject, spec)


@verb
def lower_unregistered(session: Session, module: int, name: str) -> None:
    """Try to lower to a name under which nothing is registered; returns only if nothing was raised."""
    with Subject():
        torch._C._jit_to_backend(name, session.module(module), {"forward": ""})  # type: ignore[attr-defined]


@verb
def disturb(session: Session, module: int) -> None:
    """Change every parameter and buffer of a module in place."""
    with torch.no_grad(), Subject():
        disturbed = session.module(module)
        for tensor in (*disturbed.parameters(), *disturbed.buffers()):
            tensor.mul_(-3.0).add_(1.0)


@verb
def register_again(session: Session) -> None:
    """Load the backend a second time in the same process, as an author's plugin and a user's script may both do."""
    assert session.backend is not None
    with Subject():
        session.backend.load()


@verb
def load_copy_of_libraries(session: Session) -> int:
    """Load copies of the backend's libraries, which register the same name again; returns how many there are."""
    import shutil
    import tempfile
    from pathlib import Path

    assert session.backend is not None
    with tempfile.TemporaryDirectory() as folder:
        for library in session.backend.libraries:
            duplicate = Path(folder, "again_" + Path(library).name)
            shutil.copyfile(library, duplicate)
            with Subject():
                torch.ops.load_library(str(duplicate))
    return len(session.backend.libraries)


@verb
def preprocess_count(session: Session) -> int | None:
    """How often the backend has preprocessed in this process, as it counts itself; None if it does not count."""
    assert session.backend is not None
    with Subject():
        return session.backend.preprocess_count()
