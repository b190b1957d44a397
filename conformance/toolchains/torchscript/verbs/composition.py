"""Verbs that put lowered modules into other modules, and copies of them."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor

from conformance.api.case import case_named
from conformance.devices import Subject
from conformance.toolchains.torchscript.verbs.authored import lowered as lowered_by
from conformance.toolchains.torchscript.verbs.session import Session, verb


class Parent(torch.nn.Module):
    """Uses one child, before and after work of its own."""

    def __init__(self, first: Any) -> None:
        super().__init__()
        self.first = first

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.first(x * 2.0, y) - y


class Couple(torch.nn.Module):
    """Uses two children, the first twice, in an order that matters."""

    def __init__(self, first: Any, second: Any) -> None:
        super().__init__()
        self.first = first
        self.second = second

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        inner = self.first(x, y)
        return self.second(inner * 2.0, y) - self.first(y, inner)


@verb
def embed(session: Session, children: list[int]) -> int:
    """A scripted parent of one or two modules, which takes two tensors of the same shape."""
    with Subject():
        modules = [session.module(child) for child in children]
        parent = Parent(*modules) if len(modules) == 1 else Couple(*modules)
        return session.keep(torch.jit.script(parent.eval()))


@verb
def lower_selectively(
    session: Session, cases: list[str], seeds: list[int], names: list[str], scripted: bool = True
) -> tuple[int, int]:
    """A scripted parent of two cases, and the same after ``_jit_to_backend_selective`` of its children ``names``.

    With ``scripted`` false the parent is passed as it is, which is an error that PyTorch documents.
    """
    chosen = [case_named(case, "torchscript") for case in cases]
    with Subject():
        parent: Any = Couple(*(case.build(seed)[0] for case, seed in zip(chosen, seeds, strict=True))).eval()
        original = torch.jit.script(parent)
        backend = session.backend
        if backend is None:
            if not scripted or set(names) - {"first", "second"}:
                raise ValueError(f"plain TorchScript cannot lower {names}")
            return session.keep(original), session.keep(copy.deepcopy(original))
        lowered_by_type = {"first": chosen[0], "second": chosen[1]}

        def to_backend(module: Any) -> Any:
            case = next(case for case in lowered_by_type.values() if case.module_class.__name__ == module.original_name)
            assert backend is not None
            return lowered_by(backend, module, case)

        subject = torch.jit.script(parent) if scripted else parent
        lowered = torch._C._jit_to_backend_selective(subject, to_backend, names)  # type: ignore[attr-defined]
        return session.keep(original), session.keep(lowered)


@verb
def children_of(session: Session, module: int) -> dict[str, str]:
    """The qualified type name of each child of a scripted module."""
    with Subject():
        return {name: child._c._type().qualified_name() for name, child in session.module(module).named_children()}


@verb
def copy_deeply(session: Session, module: int) -> int:
    """``copy.deepcopy`` of a module."""
    with Subject():
        return session.keep(copy.deepcopy(session.module(module)))


@verb
def forget(session: Session, module: int) -> None:
    """Destroy one module."""
    with Subject():
        session.discard(module)
