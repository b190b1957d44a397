"""How an error says that an operator is refused: by its name, and by the class of the exception."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

import torch

#: How an error names an operator: aten::add, aten.add, torch.add.
_OPERATOR = re.compile(r"\b(?:aten(?:::|\.)|torch\.(?:nn\.functional\.)?)(?P<name>[a-z_0-9]+)")
#: How TorchScript names what Python's own statements become: prim::If.
_STATEMENT = re.compile(r"\bprim::[A-Z]\w+")
_CLASS = re.compile(r"Unsupported|NotSupported|NotImplemented|Unimplemented")


def operator_named(text: str, known: Iterable[str] = ()) -> str | None:
    """The operator of PyTorch that a text names, as ``aten::add`` or ``prim::If``; None where it names none.

    What a program says becomes other operators when it is lowered, so that any operator counts; ``known`` are more.
    """
    statement = _STATEMENT.search(text)
    if statement:
        return statement[0]
    names = {each["name"] for each in _OPERATOR.finditer(text)}
    found = sorted(name for name in names if name in known or name.rstrip("_") in known or _is_operator(name))
    return f"aten::{found[0]}" if found else None


def says_that_it_refuses(classes: Iterable[str]) -> bool:
    """Whether the class of an exception, or one that it derives from, is named for what is not supported."""
    return any(_CLASS.search(name.rpartition(".")[2]) for name in classes)


@functools.cache
def _is_operator(name: str) -> bool:
    return bool(torch._C._jit_get_schemas_for_operator(f"aten::{name}"))
