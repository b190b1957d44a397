"""Verbs of a target whose caller is written in C++, and owns all memory: see ``caller``."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
from torch.utils import _pytree as pytree

from conformance._util.compiling import CompileError
from conformance.compare.values import decode, encode
from conformance.devices import Subject
from conformance.toolchains.executorch import caller
from conformance.toolchains.executorch.verbs.session import Session, verb
from conformance.toolchains.threads import Findings, work_at_once


@verb
def caller_lacks(session: Session) -> str:
    """Why there is no caller written in C++ here; empty where there is one."""
    try:
        caller.library()
    except CompileError as error:
        return str(error).partition("\n")[0]
    return ""


@verb
def call_natively(
    session: Session,
    program: bytes,
    calls: list[dict[str, Any]],
    data: bytes = b"",
    temporary: int = -1,
    lasting: int = -1,
    backend: str = "",
    options: dict[str, bool | int | str] | None = None,
) -> dict[str, Any]:
    """Load a method of a .pte, and of the ``data`` of a .ptd, make calls of it, and let it go: what came of it, as
    :class:`caller.Called` has it."""
    settings = caller.Settings(temporary, lasting, backend, options or {})
    given = [_tensors(call["inputs"]) for call in calls]
    with Subject():
        found = caller.call_method(program, data, calls[0]["method"], given, settings)
        return {**dataclasses.asdict(dataclasses.replace(found, results=[])), "results": _encoded(found)}


@verb
def call_natively_at_once(session: Session, program: bytes, calls: list[dict[str, Any]], repeat: int) -> dict[str, Any]:
    """Each call by a thread of its own with a program of its own, ``repeat`` times, with no lock of Python's; all
    threads begin together."""
    given = [_tensors(call["inputs"]) for call in calls]
    found = Findings(len(calls))

    def work(number: int) -> None:
        called = caller.call_method(
            program, b"", calls[number]["method"], [given[number]] * 2, caller.Settings(temporary=1 << 20), repeat
        )
        if called.code or called.findings:
            raise RuntimeError(f"error {called.code:#x} {'; '.join(called.findings)}")
        for result in called.results:
            found.note(number, result)

    with Subject():
        work_at_once(work, len(calls), found)
    return found.as_message()


@verb
def set_option(session: Session, backend: str, key: str, value: bool | int | str) -> int:
    """Set an option of a delegate while programs run: the code of ExecuTorch's error, 0 for none."""
    with Subject():
        return caller.set_option(backend, key, value)


@verb
def get_option(session: Session, backend: str, key: str, value: bool | int | str) -> int:
    """Ask a delegate for an option, of the type that the value has: the code of ExecuTorch's error, 0 for none."""
    with Subject():
        return caller.get_option(backend, key, value)


def _tensors(inputs: bytes) -> list[torch.Tensor]:
    return pytree.tree_leaves(decode(inputs))


def _encoded(found: caller.Called) -> list[bytes]:
    return [encode(result) for result in found.results]
