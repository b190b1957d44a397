"""Verbs about what surrounds a call: grad mode, autocast, threads, seeds, options; and what a call leaves behind."""

from __future__ import annotations

import gc
import hashlib
import logging
import os
import random
import signal
import sys
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
    if thread == "this":
        return _surroundings()
    found: dict[str, str] = {}
    looking = threading.Thread(target=lambda: found.update(_surroundings()))
    looking.start()
    looking.join()
    return found


def _surroundings() -> dict[str, str]:
    # Numbers below what float32 can hold normally are zero where denormals are flushed, a register of each thread.
    denormal = float(torch.tensor([1e-39]) * 1.0)
    state = {
        "torch's random state": hashlib.sha256(bytes(torch.get_rng_state().tolist())).hexdigest()[:16],
        "Python's random state": hashlib.sha256(repr(random.getstate()).encode()).hexdigest()[:16],
        "grad mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "anomaly mode": torch.is_anomaly_enabled(),
        "multithreading of autograd": torch._C._is_multithreading_enabled(),
        "forward AD": torch._C._is_fwd_grad_enabled(),
        "default dtype": torch.get_default_dtype(),
        "default device": torch.get_default_device(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "dtype of autocast": torch.get_autocast_dtype("cpu"),
        "cache of autocast": torch.is_autocast_cache_enabled(),
        "deterministic algorithms": torch.are_deterministic_algorithms_enabled(),
        "warnings in place of errors": torch.is_deterministic_algorithms_warn_only_enabled(),
        "filling of fresh memory": torch.utils.deterministic.fill_uninitialized_memory,  # type: ignore[attr-defined]
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "threads of PyTorch": torch.get_num_threads(),
        "threads between operators": torch.get_num_interop_threads(),
        "flushing of denormals": denormal == 0.0,
        "modes of __torch_function__": torch._C._len_torch_function_stack(),
        "modes of __torch_dispatch__": torch._C._len_torch_dispatch_stack(),
        "oneDNN": torch.backends.mkldnn.enabled,
        "engine for quantised operators": torch.backends.quantized.engine,
        **{f"the variable {name}": _digest(value) for name, value in os.environ.items()},
        "the working directory": os.getcwd() == _FOLDER,
        "the recursion limit": sys.getrecursionlimit(),
        "the garbage collector": gc.isenabled(),
        "sys.excepthook": getattr(sys.excepthook, "__qualname__", "another object"),
        "the level of logging": logging.getLogger().level,
        "the handlers of signals": [
            getattr(signal.getsignal(each), "__qualname__", str(signal.getsignal(each)))
            for each in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGALRM)
        ],
    }
    return {name: str(value) for name, value in state.items()}


def _digest(text: str) -> str:
    """A digest of a text that may be private, by which two such texts can be compared."""
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]


#: Where the process was when it began.
_FOLDER = os.getcwd()


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
