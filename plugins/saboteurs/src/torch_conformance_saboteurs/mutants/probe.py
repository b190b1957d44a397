"""The probe: whether a mutant is seen to be wrong by a program of its own, which knows nothing of the contract.

A witness is played in eager PyTorch, and once more through the mutant; what is different is told in sentences. Runs in
a device, which may crash or hang.
"""

from __future__ import annotations

import abc
import copy
import gc
import importlib
import importlib.util
import io
import os
import random
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from conformance.toolchains import load_backend
from torch_conformance_saboteurs.mutants.conditions import plain_tensors, share_memory
from torch_conformance_saboteurs.mutants.grammar import FIRINGS, Spec
from torch_conformance_saboteurs.mutants.witness import witness

#: How far apart two numbers may lie, relative to their size.
_CLOSE = {torch.float16: 2e-2, torch.bfloat16: 2e-2, torch.float32: 1e-5, torch.complex64: 1e-5}
_relu = torch.relu


class Probe(abc.ABC):
    """The session of a device that plays witnesses. One for each toolchain, which says how a model is lowered."""

    #: Whether results have a history: what requires grad, and which class of exception is raised.
    has_history = False
    #: Whether strides and shared memory of results are those of eager PyTorch.
    has_memory = True

    def __init__(self, subject: dict[str, Any]) -> None:
        self.backend: Any = load_backend(subject)

    @abc.abstractmethod
    def lowering(self, spec: Spec) -> Eager:
        """What lowers the models of a mutant's witness, which PyTorch leaves as they are."""

    def call(self, verb: str, arguments: dict[str, Any]) -> Any:
        """Answer a verb."""
        verbs: dict[str, Callable[..., Any]] = {
            "register": self._register,
            "play": self._play,
            "release": lambda: None,
        }
        return verbs[verb](**arguments)

    def _register(self) -> None:
        self.backend.load()

    def _play(self, spec: Spec, number: int) -> dict[str, Any] | None:
        """What a witness shows: its firings, and sentences about what is different.

        Dynamo is imported first, as PyTorch does by itself where a mode of dispatch is first used, such as the one by
        which a mutant looks at operators: that sets a variable of the environment, which is no fault of the mutant's.
        """
        importlib.import_module("torch._dynamo")
        source = witness(spec, number)
        if source is None:
            return None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "witness.py")
            path.write_text(source)
            program = _imported(path)
            here = os.getcwd()
            right = _Playing(program.play, Eager())
            wrong = _Playing(program.play, self.lowering(spec))
            os.chdir(here)
        return {"fired": _firings(), "differences": self._differences(right, wrong)}

    def _differences(self, right: _Playing, wrong: _Playing) -> list[str]:
        found = []
        if len(right.seen) != len(wrong.seen):
            found.append(f"there were {len(wrong.seen)} calls, where there are {len(right.seen)}")
        for number, (one, other) in enumerate(zip(right.seen, wrong.seen, strict=False)):
            found += [f"call {number}: {text}" for text in self._of_a_call(one, other)]
        if wrong.changed != right.changed:
            found.append(f"results of calls {wrong.changed} changed afterwards")
        if wrong.alive > right.alive:
            found.append(f"{wrong.alive - right.alive} tensors are alive that nobody holds")
        return found

    def _of_a_call(self, right: _Seen, wrong: _Seen) -> list[str]:
        if (right.error is None) != (wrong.error is None):
            return [f"raised {wrong.error}" if wrong.error else "raised nothing, where an error is due"]
        found = []
        if self.has_history and right.error != wrong.error:
            found.append(f"raised {wrong.error}, where {right.error} is due")
        aspects = {"requires_grad": self.has_history, "strides": self.has_memory}
        for aspect in right.forms:
            if right.forms[aspect] != wrong.forms[aspect] and aspects.get(aspect, True):
                found.append(f"another {aspect}: {wrong.forms[aspect]}, where {right.forms[aspect]} is due")
        if len(right.values) != len(wrong.values) or not all(map(_same, right.values, wrong.values)):
            found.append("other values")
        if right.shared != wrong.shared and self.has_memory:
            found.append(f"shares memory: {wrong.shared}, where it is {right.shared}")
        if len(right.gradients) != len(wrong.gradients) or not all(
            map(_same_gradient, right.gradients, wrong.gradients)
        ):
            found.append("other gradients")
        return found + [f"left changed: {name}" for name, value in right.state.items() if wrong.state[name] != value]


class _CompiledProbe(Probe):
    has_history = True

    def lowering(self, spec: Spec) -> Eager:
        return _Compiled(self.backend)


class _DelegatedProbe(Probe):
    # TorchScript makes one kind of all exceptions, and its results have no history.
    def lowering(self, spec: Spec) -> Eager:
        return _Delegated(self.backend)


def open_compiled(subject: dict[str, Any]) -> Probe:
    """A session about one backend of ``torch.compile``."""
    return _CompiledProbe(subject)


def open_delegated(subject: dict[str, Any]) -> Probe:
    """A session about one TorchScript delegate."""
    return _DelegatedProbe(subject)


def _imported(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("witness", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _firings() -> int:
    path = Path(os.environ.get(FIRINGS, ""))
    return path.stat().st_size if path.is_file() else 0


class Eager:
    """Plain PyTorch: a model is called as it is."""

    def __call__(self, model: torch.nn.Module) -> Callable[..., Any]:
        return model

    def again(self, lowered: Any) -> Any:
        """What was lowered, saved and loaded."""
        return lowered

    def copy(self, lowered: Any) -> Any:
        """Another one like what was lowered."""
        return lowered

    def forget(self) -> None:
        """Let go of all that was lowered."""
        return


class _Compiled(Eager):
    """``torch.compile`` with a backend."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def __call__(self, model: torch.nn.Module) -> Callable[..., Any]:
        compiled: Callable[..., Any] = torch.compile(model, backend=self._backend.name)
        return compiled

    def forget(self) -> None:
        torch._dynamo.reset()


class _Delegated(Eager):
    """A TorchScript delegate."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def __call__(self, model: torch.nn.Module) -> Callable[..., Any]:
        scripted = torch.jit.script(model.eval())
        to_backend: Any = torch._C._jit_to_backend  # type: ignore[attr-defined]
        lowered: Callable[..., Any] = to_backend(self._backend.name, scripted, {"forward": ""})
        return lowered

    def again(self, lowered: Any) -> Any:
        """Loaded where it is not known: what was packed in this process is forgotten."""
        from torch_conformance_saboteurs.mutants import torchscript

        buffer = io.BytesIO()
        torch.jit.save(lowered, buffer)
        torchscript.forget_packed()
        buffer.seek(0)
        return torch.jit.load(buffer)

    def copy(self, lowered: Any) -> Any:
        return copy.deepcopy(lowered)


class _Seen:
    """What was seen after one call. Holds copies alone."""

    def __init__(self, error: Exception | None, results: list[Tensor], arguments: list[Tensor]) -> None:
        self.error = None if error is None else type(error).__name__
        everything = [*results, *arguments]
        self.forms = {
            "dtype": [each.dtype for each in results],
            "shape": [tuple(each.shape) for each in results],
            "strides": [each.stride() for each in results],
            "requires_grad": [each.requires_grad for each in results],
        }
        self.values = [each.detach().clone() for each in everything]
        self.gradients = [None if each.grad is None else each.grad.clone() for each in arguments if each.is_leaf]
        self.shared = [
            (index, other)
            for index, one in enumerate(everything)
            for other in range(index)
            if one.numel() and share_memory(one, everything[other])
        ]
        self.state = {
            "grad mode": torch.is_grad_enabled(),
            "the default dtype": torch.get_default_dtype(),
            "the number of threads": torch.get_num_threads(),
            "the working directory": os.getcwd(),
            "the environment": dict(os.environ),
            "determinism": torch.are_deterministic_algorithms_enabled(),
            "torch.relu": torch.relu is _relu,
            "PyTorch's random numbers": hash(tuple(torch.get_rng_state().tolist())),
            "Python's random numbers": hash(random.getstate()),
        }


class _Playing:
    """All that was seen of one play: each call, which results changed afterwards, how many tensors nobody holds."""

    def __init__(self, play: Callable[..., Iterator[Any]], lower: Any) -> None:
        torch.manual_seed(3)
        random.seed(3)
        self.seen: list[_Seen] = []
        self.changed: list[int] = []
        references = self._played(play, lower)
        torch.set_grad_enabled(True)
        gc.collect()
        self.alive = sum(1 for each in references if each() is not None)

    def _played(self, play: Callable[..., Iterator[Any]], lower: Any) -> list[Any]:
        held: list[list[Tensor]] = []
        arguments: list[Tensor] = []
        try:
            for given, passed in play(lower, lower.forget):
                error = given if isinstance(given, Exception) else None
                results, arguments = [] if error else list(plain_tensors(given)), list(plain_tensors(list(passed)))
                self.seen.append(_Seen(error, results, arguments))
                held.append(results)
        except Exception as error:  # the program itself, where lowering fails
            self.seen.append(_Seen(error, [], []))
        for number, (results, seen) in enumerate(zip(held, self.seen, strict=False)):
            if not all(_same(now.detach(), then) for now, then in zip(results, seen.values, strict=False)):
                self.changed.append(number)
        return [weakref.ref(each) for results in [*held, arguments] for each in results]


def _same(one: Tensor, other: Tensor) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.is_floating_point():
        zeros = (one == 0) & (other == 0)
        if bool((zeros & (one.signbit() != other.signbit())).any()):
            return False
        finite = one.isfinite() & other.isfinite()
        tiny = (one - other).abs() > 0
        small = torch.finfo(one.dtype).tiny
        if bool((finite & tiny & (one.abs().maximum(other.abs()) < small * 2)).any()):
            return False
    if not (one.is_floating_point() or one.is_complex()):
        return bool(torch.equal(one, other))
    close = _CLOSE.get(one.dtype, 1e-9)
    return torch.allclose(one, other, rtol=close, atol=close * 1e-3, equal_nan=True)


def _same_gradient(one: Tensor | None, other: Tensor | None) -> bool:
    return one is other if one is None or other is None else _same(one, other)
