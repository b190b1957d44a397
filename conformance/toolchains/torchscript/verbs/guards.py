"""Verbs about grad mode, inference mode and threads."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch

from conformance.compare.values import decode, encode
from conformance.devices import Subject
from conformance.toolchains.threads import Findings, modes_here, work_at_once
from conformance.toolchains.torchscript.verbs.artifacts import call_method, load_artifact, run_watched
from conformance.toolchains.torchscript.verbs.session import Session, verb

_CONTEXTS: dict[str, Callable[[], contextlib.AbstractContextManager[Any]]] = {
    "none": contextlib.nullcontext,
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
}


@verb
def load_under(session: Session, guard: str, artifact: bytes, runtime: str) -> int:
    """Load an artifact within a guard."""
    with _CONTEXTS[guard](), Subject():
        return session.keep(load_artifact(artifact, runtime))


@verb
def run_under(
    session: Session, guard: str, module: int, method: str, inputs: bytes, differentiable: bool = False
) -> bytes:
    """Call a method within a guard, on fresh copies of the inputs; they require grad if ``differentiable``."""
    values = decode(inputs)
    if differentiable:
        values = tuple(_requiring_grad(value) for value in values)
    with _CONTEXTS[guard](), Subject():
        result = call_method(session.module(module), method, values)
    return encode(result)


@verb
def run_watched_under(
    session: Session, guard: str, module: int, method: str, inputs: bytes, others: list[bytes]
) -> dict[str, Any]:
    """What ``run_watched`` sees, within a guard."""
    with _CONTEXTS[guard]():
        return run_watched(session, module, method, inputs, others)


def _requiring_grad(value: Any) -> Any:
    is_real = isinstance(value, torch.Tensor) and value.dtype.is_floating_point
    return value.requires_grad_() if is_real else value


@verb
def modes(session: Session) -> dict[str, bool]:
    """The grad mode and the inference mode of this thread."""
    return modes_here()


@verb
def modes_under(session: Session, guard: str, steps: list[dict[str, Any]]) -> list[dict[str, bool]]:
    """The modes within a guard: at first, and after each step, whether that succeeds or raises."""
    with _CONTEXTS[guard]():
        seen = [modes_here()]
        module: Any = None
        for step in steps:
            with contextlib.suppress(Exception):
                if "artifact" in step:
                    module = load_artifact(step["artifact"], step["runtime"])
                else:
                    call_method(module, step["method"], decode(step["inputs"]))
            seen.append(modes_here())
    return seen


@verb
def run_in_threads(
    session: Session, modules: list[int], calls: list[dict[str, Any]], threads: int, rounds: int, guard: str
) -> dict[str, Any]:
    """Make each call ``rounds`` times in every thread, each time on the next module; the different results of each
    call."""
    held = [session.module(number) for number in modules]
    found = Findings(len(calls))

    def work(index: int) -> None:
        for turn in range(rounds * len(calls)):
            which = (index + turn) % len(calls)
            # in the next round of the calls each comes to the next module
            module = held[(index + turn + turn // len(calls)) % len(held)]
            result = call_method(module, calls[which]["method"], decode(calls[which]["inputs"]))
            found.note(which, result)

    with _CONTEXTS[guard]():
        work_at_once(work, threads, found)
    return found.as_message()


@verb
def load_in_threads(
    session: Session, artifact: bytes, runtime: str, method: str, inputs: bytes, threads: int
) -> dict[str, Any]:
    """Load an artifact in each thread and call a method of what came of it; the different results."""
    found = Findings(1)

    def work(index: int) -> None:
        module = load_artifact(artifact, runtime)
        for _ in range(2):
            found.note(0, call_method(module, method, decode(inputs)))

    work_at_once(work, threads, found)
    return found.as_message()
