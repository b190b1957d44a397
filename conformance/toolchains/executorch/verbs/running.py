"""Verbs of the target: load a program, load its methods, run them."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

from conformance.compare.values import decode, encode
from conformance.devices import Subject
from conformance.toolchains.executorch.verbs.session import Method, Session, verb


@verb
def load(session: Session, program: bytes, via: str = "bytes") -> int:
    """Load a .pte ``via`` its "bytes", a "bytearray", a "path", or an open "file"; no method of it is initialised."""
    from conformance.toolchains.executorch.runtime import loader

    with Subject():
        return session.keep(loader(program, via)())


@verb
def load_again(session: Session, program: bytes, via: str) -> int:
    """The same, where a program was loaded from the same bytes before, with all of its methods, and is gone."""
    from conformance.toolchains.executorch.runtime import loader

    with Subject():
        load = loader(program, via)
        first = load()
        for name in sorted(first.method_names):
            first.load_method(name)
        del first
        return session.keep(load())


@verb
def load_method(session: Session, program: int, name: str) -> int:
    """Load a method: its delegates are initialised."""
    owner = session.get(program)
    with Subject():
        return session.keep(Method(owner, owner.load_method(name)))


@verb
def run(session: Session, method: int, inputs: bytes, repeat: int = 1) -> list[bytes]:
    """What a method gives for fresh copies of the inputs, each of ``repeat`` times."""
    loaded: Method = session.get(method)
    results = []
    with Subject():
        for _ in range(repeat):
            results.append(encode(list(loaded.method.execute(pytree.tree_leaves(decode(inputs))))))
    return results


@verb
def run_watched(session: Session, method: int, inputs: bytes) -> list[int]:
    """The positions of the inputs that a call has changed."""
    loaded: Method = session.get(method)
    given = pytree.tree_leaves(decode(inputs))
    before = pytree.tree_leaves(decode(inputs))
    with Subject():
        loaded.method.execute(given)
        return [index for index, (now, was) in enumerate(zip(given, before, strict=True)) if not _same(now, was)]


def _same(one: Any, other: Any) -> bool:
    return torch.equal(one, other) if isinstance(one, torch.Tensor) else bool(one == other)


@verb
def forget(session: Session, thing: int) -> None:
    """Destroy a program, or a method; a program lives until its last method is gone."""
    with Subject():
        session.discard(thing)
