"""Verbs that watch a call from inside the process."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch._dynamo.utils

from conformance.compare.values import decode
from conformance.devices import Subject
from conformance.toolchains.dynamo.verbs.executed import executed
from conformance.toolchains.dynamo.verbs.session import Session, verb


@verb
def operators_run(session: Session, model: int, inputs: bytes) -> list[str]:
    """The operators that PyTorch itself executes in one call of a model that was called before, one entry for each."""
    function = session.get(model).function
    with Subject():
        function(*decode(inputs))
        return executed(function, decode(inputs))


@verb
def effort(session: Session, model: int, inputs: bytes, calls: int) -> list[dict[str, float]]:
    """What each of so many calls cost: Python functions that were entered, seconds of this process's time, and modules
    that were imported."""
    function = session.get(model).function
    found = []
    with Subject():
        for _ in range(calls):
            arguments = decode(inputs)
            modules, began = len(sys.modules), time.process_time()
            entered = _count_functions(lambda arguments=arguments: function(*arguments))  # type: ignore[misc]
            seconds = time.process_time() - began
            found.append({"functions": entered, "seconds": seconds, "modules": len(sys.modules) - modules})
    return found


def _count_functions(call: Callable[[], Any]) -> int:
    entered = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal entered
        entered += event == "call"

    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered


@verb
def tracing_done(session: Session, model: int, inputs: bytes) -> list[str]:
    """What of a compiler's work happens in one call of a model: tracing, or AOT Autograd."""
    function = session.get(model).function
    arguments = decode(inputs)
    with Subject(), compiler_at_work() as seen:
        function(*arguments)
    return seen


@contextlib.contextmanager
def compiler_at_work() -> Iterator[list[str]]:
    """Notes what of a compiler's work happens in the block: tracing, AOT Autograd, and frames that Dynamo compiles."""
    import torch._functorch.aot_autograd as aot_autograd
    import torch.fx._symbolic_trace as symbolic_trace
    import torch.fx.experimental.proxy_tensor as proxy_tensor

    places = [
        (aot_autograd, "create_aot_state", "AOT Autograd"),
        (symbolic_trace.Tracer, "trace", "symbolic tracing"),
        (proxy_tensor._MakefxTracer, "trace", "make_fx"),
        (torch.jit, "trace", "torch.jit.trace"),
        (torch.jit, "script", "torch.jit.script"),
    ]
    seen: list[str] = []
    originals = [getattr(owner, name) for owner, name, _ in places]

    def noting(original: Any, what: str) -> Any:
        def noted(*arguments: Any, **keywords: Any) -> Any:
            seen.append(what)
            return original(*arguments, **keywords)

        return noted

    frames = _frames_compiled()
    for (owner, name, what), original in zip(places, originals, strict=True):
        setattr(owner, name, noting(original, what))
    try:
        yield seen
    finally:
        for (owner, name, _), original in zip(places, originals, strict=True):
            setattr(owner, name, original)
        if _frames_compiled() > frames:
            seen.append("Dynamo")


def _frames_compiled() -> int:
    return sum(torch._dynamo.utils.counters["frames"].values())
