"""Verbs of the target: load a program, load its methods, run them."""

from __future__ import annotations

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import torch
from torch.utils import _pytree as pytree

from conformance.compare.values import decode, encode
from conformance.devices import Subject
from conformance.toolchains.executorch.verbs.session import LoadedMethod, Session, verb
from conformance.toolchains.threads import Findings, work_at_once

Result = TypeVar("Result")

#: What a bundled program's values may be off by, relative and absolute: as clauses have it for float32.
RTOL, ATOL = 1.3e-6, 1e-5


@verb
def load(session: Session, program: bytes, via: str = "bytes") -> int:
    """Load a .pte ``via`` its "bytes", a "bytearray", a "path", or an open "file"; no method of it is initialised."""
    from conformance.toolchains.executorch.runtime import loader

    with Subject():
        return session.keep(loader(program, via)())


@verb
def load_with_data(session: Session, program: bytes, data: bytes) -> int:
    """Load a .pte with the data of a .ptd."""
    from conformance.toolchains.executorch.runtime import loaded_with_data

    with Subject():
        return session.keep(loaded_with_data(program, data))


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
def load_traced(session: Session, program: bytes) -> int:
    """Load a .pte with tracing on: what happens in its methods is kept, as an ETDump."""
    from executorch.runtime import Runtime

    with Subject():
        return session.keep(Runtime.get().load_program(program, enable_etdump=True))


@verb
def trace(session: Session, program: bytes, calls: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Make calls of one method of a .pte that is loaded with tracing on; the events of each, from its ETDump."""
    from executorch.runtime import Runtime

    from conformance.toolchains.executorch.runtime import events_of

    with Subject():
        owner = Runtime.get().load_program(program, enable_etdump=True)
        loaded = owner.load_method(calls[0]["method"])
        for call in calls:
            loaded.execute(pytree.tree_leaves(decode(call["inputs"])))
        return events_of(owner)


@verb
def load_unlinked(session: Session, program: bytes, methods: list[str]) -> list[int]:
    """Load a .pte and methods of it from a file, and remove the file."""
    from conformance.toolchains.executorch.runtime import file_of, loaded_from

    path = file_of(program)
    with Subject():
        owner = loaded_from(path)
        loaded = [LoadedMethod(owner, owner.load_method(name)) for name in methods]
    path.unlink()
    return [session.keep(each) for each in loaded]


@verb
def load_many(session: Session, program: bytes, method: str, inputs: bytes, count: int) -> list[int]:
    """Load a .pte ``count`` times, call a method of each, and drop it; the resident memory after each quarter, in
    bytes."""
    from conformance.toolchains.executorch.runtime import loader, resident_bytes

    given = pytree.tree_leaves(decode(inputs))
    readings = []
    for _quarter in range(4):
        with Subject():
            for _ in range(count // 4):
                loader(program, "bytes")().load_method(method).execute(given)
        gc.collect()
        readings.append(resident_bytes())
    return readings


@verb
def load_method(session: Session, program: int, name: str) -> int:
    """Load a method: its delegates are initialised."""
    owner = session.get(program)
    with Subject():
        return session.keep(LoadedMethod(owner, owner.load_method(name)))


@verb
def run(session: Session, method: int, inputs: bytes, repeat: int = 1) -> list[bytes]:
    """What a method gives for fresh copies of the inputs, each of ``repeat`` times."""
    loaded: LoadedMethod = session.get(method)
    results = []
    with Subject():
        for _ in range(repeat):
            results.append(encode(list(loaded.method.execute(pytree.tree_leaves(decode(inputs))))))
    return results


@verb
def run_watched(session: Session, method: int, inputs: bytes) -> list[int]:
    """The positions of the inputs that a call has changed."""
    loaded: LoadedMethod = session.get(method)
    given = pytree.tree_leaves(decode(inputs))
    before = pytree.tree_leaves(decode(inputs))
    with Subject():
        loaded.method.execute(given)
        return [index for index, (now, was) in enumerate(zip(given, before, strict=True)) if not _same(now, was)]


@verb
def run_same(session: Session, method: int, tensor: bytes, count: int) -> bytes:
    """What a method gives for one tensor as each of ``count`` inputs: one and the same memory."""
    loaded: LoadedMethod = session.get(method)
    given = decode(tensor)
    with Subject():
        return encode(list(loaded.method.execute([given] * count)))


@verb
def run_in_turns(session: Session, program: bytes, method: str, inputs: bytes) -> list[bytes]:
    """Load a program in a fresh thread, call a method in two others, and drop it in a fourth."""
    from conformance.toolchains.executorch.runtime import loader

    held: list[Any] = []

    def open_it() -> None:
        owner = loader(program, "bytes")()
        held.append(LoadedMethod(owner, owner.load_method(method)))

    def call() -> bytes:
        return encode(list(held[0].method.execute(pytree.tree_leaves(decode(inputs)))))

    with Subject():
        _in_a_thread(open_it)
        results = [_in_a_thread(call) for _ in range(2)]
        _in_a_thread(held.clear)
    return results


def _in_a_thread(work: Callable[[], Result]) -> Result:
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(work).result()


@verb
def run_at_once(session: Session, methods: list[int], calls: list[dict[str, Any]], repeat: int) -> dict[str, Any]:
    """Each call by a thread of its own with a method of its own, ``repeat`` times; all threads begin together.

    Each method is called once before: the first calls of the runtime are no matter of a backend's.
    """
    loaded: list[LoadedMethod] = [session.get(each) for each in methods]
    given = [pytree.tree_leaves(decode(call["inputs"])) for call in calls]
    found = Findings(len(calls))

    def work(number: int) -> None:
        for _ in range(repeat):
            found.note(number, list(loaded[number].method.execute(given[number])))

    with Subject():
        for each, inputs in zip(loaded, given, strict=True):
            each.method.execute(inputs)
        work_at_once(work, len(calls), found)
    return found.as_message()


@verb
def verify(session: Session, bundled: bytes, method: str, index: int) -> None:
    """Let the runtime hold a method's outputs against what a bundled program expects of its input ``index``."""
    from conformance.toolchains.executorch.runtime import bundled_module

    with Subject():
        bundled_module(bundled).verify_result_with_bundled_expected_output(method, index, RTOL, ATOL)


@verb
def run_bundled(session: Session, bundled: bytes, method: str, inputs: bytes) -> bytes:
    """What a method of the program in a bundled one gives."""
    from conformance.toolchains.executorch.runtime import bundled_module, program_within

    with Subject():
        owner = bundled_module(bundled)
        return encode(list(program_within(owner).run_method(method, pytree.tree_leaves(decode(inputs)))))


def _same(one: Any, other: Any) -> bool:
    return torch.equal(one, other) if isinstance(one, torch.Tensor) else bool(one == other)


@verb
def forget(session: Session, thing: int) -> None:
    """Destroy a program, or a method; a program lives until its last method is gone."""
    with Subject():
        session.discard(thing)
