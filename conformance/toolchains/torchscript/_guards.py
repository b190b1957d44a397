"""Verbs about grad mode, inference mode and threads."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import torch

from conformance.toolchains import Subject
from conformance.toolchains.torchscript._artifacts import call_method, load_artifact
from conformance.toolchains.torchscript._session import Session, verb
from conformance.values import decode, encode

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


def _requiring_grad(value: Any) -> Any:
    is_real = isinstance(value, torch.Tensor) and value.dtype.is_floating_point
    return value.requires_grad_() if is_real else value


@verb
def modes(session: Session) -> dict[str, bool]:
    """The grad mode and the inference mode of this thread."""
    return _modes()


def _modes() -> dict[str, bool]:
    return {"grad mode": torch.is_grad_enabled(), "inference mode": torch.is_inference_mode_enabled()}


@verb
def modes_under(session: Session, guard: str, steps: list[dict[str, Any]]) -> list[dict[str, bool]]:
    """The modes within a guard: at first, and after each step, whether that succeeds or raises."""
    with _CONTEXTS[guard]():
        seen = [_modes()]
        module: Any = None
        for step in steps:
            with contextlib.suppress(Exception):
                if "artifact" in step:
                    module = load_artifact(step["artifact"], step["runtime"])
                else:
                    call_method(module, step["method"], decode(step["inputs"]))
            seen.append(_modes())
    return seen


@verb
def run_in_threads(
    session: Session, modules: list[int], calls: list[dict[str, Any]], threads: int, rounds: int, guard: str
) -> dict[str, Any]:
    """Run each call on each module ``rounds`` times in every thread; the different results of each call."""
    held = [session.module(number) for number in modules]
    found = _Findings(len(calls))

    def work(index: int) -> None:
        for turn in range(rounds * len(calls)):
            which = (index + turn) % len(calls)
            module = held[(index + turn) % len(held)]
            result = call_method(module, calls[which]["method"], decode(calls[which]["inputs"]))
            found.note(which, result)

    with _CONTEXTS[guard]():
        _run_at_once(work, threads, found)
    return found.as_message()


@verb
def load_in_threads(
    session: Session, artifact: bytes, runtime: str, method: str, inputs: bytes, threads: int
) -> dict[str, Any]:
    """Load an artifact in each thread and call a method of what came of it; the different results."""
    found = _Findings(1)

    def work(index: int) -> None:
        module = load_artifact(artifact, runtime)
        for _ in range(2):
            found.note(0, call_method(module, method, decode(inputs)))

    _run_at_once(work, threads, found)
    return found.as_message()


class _Findings:
    """What several threads found, each thing once."""

    def __init__(self, calls: int) -> None:
        self._lock = threading.Lock()
        self._results: list[dict[bytes, None]] = [{} for _ in range(calls)]
        self._modes: list[dict[str, bool]] = []
        self._errors: dict[str, None] = {}

    def note(self, call: int, result: Any) -> None:
        with self._lock:
            self._results[call][encode(result)] = None

    def note_modes(self) -> None:
        with self._lock:
            if _modes() not in self._modes:
                self._modes.append(_modes())

    def note_error(self, error: Exception) -> None:
        with self._lock:
            self._errors[f"{type(error).__name__}: {error}"] = None

    def as_message(self) -> dict[str, Any]:
        return {
            "results": [list(results) for results in self._results],
            "modes": self._modes,
            "errors": list(self._errors),
        }


def _run_at_once(work: Callable[[int], None], count: int, found: _Findings) -> None:
    """Let ``count`` fresh threads begin together, and wait for them."""
    together = threading.Barrier(count)

    def run(index: int) -> None:
        together.wait()
        found.note_modes()
        try:
            work(index)
        except Exception as error:
            found.note_error(error)
        found.note_modes()

    workers = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
