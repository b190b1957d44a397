"""Verbs about what surrounds a call: grad mode, autocast, threads, seeds, options; and what a call leaves behind."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from conformance.compare.values import decode, encode, tensors_in
from conformance.devices import Subject
from conformance.toolchains.dynamo.verbs.observing import CONTEXTS
from conformance.toolchains.dynamo.verbs.session import Model, Session, verb
from conformance.toolchains.dynamo.verbs.training import requiring_grad, weighted
from conformance.toolchains.shared_state import random_state, shared_state
from conformance.toolchains.threads import Findings, work_at_once


@verb
def compile_with(session: Session, model: int, options: dict[str, Any] | None, mode: str | None) -> int:
    """``torch.compile`` a model with options and a mode other than those of the backend's author."""
    module = session.get(model).module
    with Subject():
        watch = session.watch_with(options, mode)
        return session.keep(Model(module, torch.compile(module, backend=watch), watch))


@verb
def surroundings(session: Session, thread: str = "this") -> dict[str, str]:
    """The state that all code of a process and of a thread shares, by name; of "this" thread or of a "new" one."""
    found: dict[str, str] = {}

    def look() -> None:
        found.update(random_state() | shared_state())

    if thread == "this":
        look()
        return found
    looking = threading.Thread(target=look)
    looking.start()
    looking.join()
    return found


@verb
def run_in_threads(
    session: Session, model: int, calls: Sequence[bytes], threads: int, rounds: int, guard: str = "none"
) -> dict[str, Any]:
    """Make each call ``rounds`` times in each of so many fresh threads, while this one stands under a guard: the
    different results of each call, the modes of the threads before and after, and what was raised."""
    function = session.get(model).function
    found = Findings(len(calls))

    def work(index: int) -> None:
        for turn in range(rounds * len(calls)):
            which = (index + turn) % len(calls)
            found.note(which, function(*decode(calls[which])))

    with CONTEXTS[guard]():
        work_at_once(work, threads, found)
    return found.as_message()


@verb
def run_seeded(session: Session, model: int, inputs: bytes, seeds: Sequence[int], calls: int) -> list[list[bytes]]:
    """For each seed so many calls of a model, one after the other, and one more after the state of the generator before
    the first is set again: the results, encoded."""
    function = session.get(model).function
    found = []
    state = torch.get_rng_state()
    with Subject():
        for seed in seeds:
            torch.manual_seed(seed)
            seeded = torch.get_rng_state()
            found.append([encode(function(*decode(inputs))) for _ in range(calls)])
            torch.set_rng_state(seeded)
            found[-1].append(encode(function(*decode(inputs))))
    torch.set_rng_state(state)
    return found


@verb
def retained(session: Session, model: int, inputs: bytes, differentiable: bool = False, calls: int = 3) -> list[str]:
    """Which arguments, results and gradients of so many calls are in memory when the caller has let go of them all.

    If ``differentiable`` the arguments require grad, and each call is gone back from.
    """
    function = session.get(model).function
    kept: dict[str, StorageWeakRef] = {}
    with Subject():
        for number in range(1, calls + 1):
            arguments = decode(inputs)
            if differentiable:
                arguments = requiring_grad(arguments, [True] * len(arguments))
            for name, tensor in _one_call(function, arguments).items():
                kept[f"{name} of call {number}"] = StorageWeakRef(tensor.untyped_storage())
            del arguments, tensor
    gc.collect()
    return [name for name, storage in kept.items() if not storage.expired()]


def _one_call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> dict[str, torch.Tensor]:
    """Every tensor that a call has to do with, by name."""
    results = tensors_in(function(*arguments))
    leaves = [each for each in arguments if each.requires_grad]
    gradients = torch.autograd.grad(weighted(results), leaves) if leaves else ()
    named = {"argument": arguments, "result": results, "gradient": gradients}
    return {f"{what} {index}": tensor for what, tensors in named.items() for index, tensor in enumerate(tensors)}
