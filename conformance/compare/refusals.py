"""How an error says that an operator is refused: by its name, and by the class of the exception."""

from __future__ import annotations

import functools
import re
from collections.abc import Container, Iterable

import torch

#: How an error names an operator that something was lowered to: aten::add, aten.add, aten::IntImplicit.
_LOWERED = re.compile(r"\baten(?:::|\.)(?P<name>[A-Za-z_0-9]+)")
#: Operators beside ATen's: what decompositions end in, and functions of ``torch.nn`` (defined when first called).
_BESIDE = re.compile(r"\b(?P<namespace>prims|torch_nn)(?:::|\.)(?P<name>[a-z_0-9]+)")
#: How it names one as a program has it: torch.add.
_WRITTEN = re.compile(r"\btorch\.(?:nn\.functional\.)?(?P<name>[a-z_0-9]+)")
#: How TorchScript names what Python's own statements become: prim::If.
_STATEMENT = re.compile(r"\bprim::[A-Z]\w+")
#: What ``torch.fx.Interpreter`` puts between an error and what it was executing.
_EXECUTING = "\n\nWhile executing "
#: How a text says that something is not supported; Python says of operands that they are of the wrong type.
_REFUSES = re.compile(r"support(?!ed operand)|implement", re.IGNORECASE)
_CLASS = re.compile(r"Unsupported|NotSupported|NotImplemented|Unimplemented")
#: Classes of mistakes in what is executed, also where the text of a wrapper begins a line with them.
_MISTAKES = (
    *("AttributeError", "IndexError", "MemoryError", "NameError", "RecursionError", "UnboundLocalError"),
    "ZeroDivisionError",
)
_MISTAKEN = re.compile(rf"^(?:\w+\.)*(?:{'|'.join(_MISTAKES)}): ", re.MULTILINE)


def operator_named(text: str, known: Container[str] = ()) -> str | None:
    """The operator of PyTorch that a text names, as ``aten::add`` or ``prim::If``; None where it names none.

    What a program says becomes other operators when it is lowered, so that any of PyTorch's counts that is named as
    those are (``aten::add``); named as a program does (``torch.add``) only what is ``known`` to be in it.
    """
    statement = _STATEMENT.search(text)
    if statement:
        return statement[0]
    beside = _BESIDE.search(text)
    if beside:
        return f"{beside['namespace']}::{beside['name']}"
    lowered = {each["name"] for each in _LOWERED.finditer(text)}
    found = {name for name in lowered if _is_operator(name)}
    for name in lowered | {each["name"] for each in _WRITTEN.finditer(text)}:
        if name in known or name.rstrip("_") in known:
            found.add(name)
    return f"aten::{min(found)}" if found else None


def operator_refused(text: str, classes: Iterable[str], known: Container[str] = ()) -> str | None:
    """The operator that an exception with such a text and such classes refuses; None where it refuses none, as one that
    is for a mistake of its own does unless it says that something is not supported."""
    classes = tuple(classes)
    refuses = says_that_it_refuses(classes) or _REFUSES.search(text.partition(_EXECUTING)[0])
    mistaken = any(name.rpartition(".")[2] in _MISTAKES for name in classes) or _MISTAKEN.search(text)
    return None if mistaken and not refuses else operator_named(said_by_itself(text, classes), known)


def said_by_itself(text: str, classes: Iterable[str]) -> str:
    """The part of an exception's text in which it may name an operator that it refuses.

    ``torch.fx.Interpreter`` adds to any exception what it was executing. That names the operator of a refusal, and
    makes no refusal of an error that has another cause.
    """
    said = text.partition(_EXECUTING)[0]
    return text if says_that_it_refuses(classes) or _REFUSES.search(said) else said


def says_that_it_refuses(classes: Iterable[str]) -> bool:
    """Whether one of an exception's classes is named for what is not supported, as ``NotImplementedError`` is."""
    return any(_CLASS.search(name.rpartition(".")[2]) for name in classes)


@functools.cache
def _is_operator(name: str) -> bool:
    return bool(torch._C._jit_get_schemas_for_operator(f"aten::{name}"))
