"""A mutant at work: what its process has seen so far, whether its conditions hold, and what it does then."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from torch_conformance_saboteurs.mutants import effects
from torch_conformance_saboteurs.mutants.conditions import (
    mode_matches,
    operands_match,
    operator_matches,
    outputs_match,
    plain_tensors,
    tensors_match,
)
from torch_conformance_saboteurs.mutants.grammar import FIRINGS, VARIABLE, Spec
from torch_conformance_saboteurs.mutants.history import (
    Lowered,
    earlier_matches,
    history_matches,
    mark,
    process,
    program_matches,
    signature,
    weights_match,
)

#: What PyTorch dispatches and nobody computes with, or what is not determined.
_PASSED_OVER = frozenset(
    (
        *("detach", "alias", "item", "_local_scalar_dense", "lift_fresh", "lift_fresh_copy", "resize_", "set_"),
        *("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "is_same_size", "equal"),
        *("is_nonzero", "_version", "record_stream", "rand", "randn", "rand_like", "randn_like", "randint", "normal"),
        *("bernoulli", "bernoulli_", "native_dropout", "uniform_", "normal_", "random_", "multinomial", "randperm"),
    )
)
#: What is done to a program before it runs.
_OF_PROGRAMS = ("constant off", "weights off", "weights rounded")
#: What takes results of former calls.
_OF_FORMERS = ("former returned", "former overwritten")
#: A process that fires for ever writes no more than this.
_MOST_FIRINGS = 10_000


class Mutant:
    """One specification at work. Without one it does everything right."""

    def __init__(self, spec: Spec | None) -> None:
        spec = spec or {"when": {}, "effect": "", "place": ""}
        self.when: dict[str, str] = spec["when"]
        self.effect: str = spec["effect"]
        self.place: str = spec["place"]
        self._firings = 0

    def fire(self) -> None:
        """Count a firing where it was asked for."""
        self._firings += 1
        path = os.environ.get(FIRINGS)
        if path and self._firings <= _MOST_FIRINGS:
            with contextlib.suppress(OSError), open(path, "ab", buffering=0) as file:
                file.write(b"x")

    def deed(self, values: Sequence[Any] = ()) -> None:
        """Fire, and do to the process what the effect says."""
        self.fire()
        if self.effect == "memory kept":
            effects.keep(values)
        effects.DEEDS[self.effect]()

    # While something runs.

    def run(
        self, lowered: Lowered, function: Callable[..., Any], arguments: Sequence[Any],
        weights: Sequence[Tensor] = (), grad: bool | None = None,
    ) -> Any:  # fmt: skip
        """Call what was lowered; ``arguments`` contain the ``weights``."""
        inputs = [each for each in plain_tensors(list(arguments)) if not any(each is other for other in weights)]
        lowered.calls += 1
        if lowered.weights is None:
            lowered.weights = [mark(each) for each in weights]
            if self.effect == "stale weights":
                lowered.first_weights = [each.detach().clone() for each in weights]
        grad = torch.is_grad_enabled() if grad is None else grad
        holds = history_matches(self.when, lowered, grad, inputs) and weights_match(self.when, lowered, weights)
        marks, given = [mark(each) for each in inputs], signature(inputs)
        try:
            if self.place == "call":
                return self._call(holds, lowered, function, arguments, inputs, weights)
            with self._watching(lowered, holds) if holds or self.effect in _OF_FORMERS else contextlib.nullcontext():
                return function(*arguments)
        except Exception:
            process.failures += 1
            raise
        finally:
            lowered.inputs = marks
            process.last = given

    @contextlib.contextmanager
    def _watching(self, lowered: Lowered, holds: bool) -> Iterator[None]:
        if self.place == "operator":
            with _Operators(self, lowered, holds):
                yield
        elif self.place == "backward":
            with _Gradients(self):
                yield
        else:
            yield

    def _call(
        self, holds: bool, lowered: Lowered, function: Callable[..., Any], arguments: Sequence[Any],
        inputs: Sequence[Tensor], weights: Sequence[Tensor],
    ) -> Any:  # fmt: skip
        values = [each for each in arguments if not any(each is other for other in weights)]
        holds = holds and tensors_match(self.when, inputs) and operands_match(self.when, values)
        if holds and self.effect == "stale weights":
            self.fire()
            old = {id(each): first for each, first in zip(weights, lowered.first_weights, strict=False)}
            arguments = [
                effects.exchanged(each, old[id(each)]) if isinstance(each, Tensor) and id(each) in old else each
                for each in arguments
            ]
        try:
            result = function(*arguments)
        except Exception as error:
            if not holds or self.effect not in ("error swallowed", "other error"):
                raise
            self.fire()
            if self.effect == "other error":
                raise ArithmeticError("something is wrong") from error
            zeros = self.zeros(lowered)
            if zeros is None:
                raise
            return zeros
        if self.effect == "error swallowed":
            lowered.last_result = result
        if not holds or not outputs_match(self.when, [result], inputs):
            self._remember(lowered, "call", result)
            return result
        if self.effect in effects.DEEDS:
            self.deed([*inputs, result])
            return result
        return self._spoiled(result, lowered, "call", inputs)

    def zeros(self, lowered: Lowered) -> Any:
        """What is returned in place of an error: zeros like the result before. None where there was no such."""
        if lowered.last_result is None:
            return None
        instead = {id(each): torch.zeros_like(each) for each in plain_tensors(lowered.last_result)}
        return _exchange(lowered.last_result, instead)

    def _remember(self, lowered: Lowered, kernel: str, result: Any) -> None:
        if self.effect in _OF_FORMERS:
            for number, tensor in enumerate(plain_tensors(result)):
                lowered.formers[_key(kernel, number, tensor)] = tensor.detach()

    def _spoiled(self, result: Any, lowered: Lowered, kernel: str, inputs: Sequence[Tensor]) -> Any:
        """A result with what the effect does to it."""
        if self.effect == "input written":
            if inputs:
                self.fire()
                effects.spoil_last_element(inputs[0])
            return result
        tensors = list(plain_tensors(result))
        instead = {
            id(tensor): self._instead_of(tensor, number, lowered, kernel, inputs)
            for number, tensor in enumerate(tensors)
        }
        self._remember(lowered, kernel, list(instead.values()))
        return _exchange(result, instead)

    def _instead_of(
        self, tensor: Tensor, number: int, lowered: Lowered, kernel: str, inputs: Sequence[Tensor]
    ) -> Tensor:
        former = lowered.formers.get(_key(kernel, number, tensor))
        with torch.no_grad():
            if self.effect in effects.CHANGES:
                new = effects.CHANGES[self.effect](tensor.detach())
            elif self.effect == "former returned" and former is not None:
                new = former
            elif self.effect == "former overwritten" and former is not None:
                new = former if effects.write_into(former, tensor) else tensor
            elif self.effect == "in the input's memory":
                new = next((each.detach() for each in inputs if effects.write_into(each, tensor)), tensor)
            elif self.effect == "requires_grad lost" and tensor.requires_grad:
                self.fire()
                return tensor.detach()
            else:
                return tensor
        if new is tensor:
            return tensor
        self.fire()
        instead: Tensor = effects.exchanged(tensor, new)
        return instead

    def operator(
        self, lowered: Lowered, holds: bool, function: Any, arguments: Sequence[Any], keywords: dict[str, Any]
    ) -> Any:
        """What an operator gives."""
        kernel = function._schema.name.partition("::")[2]
        tensors = list(plain_tensors([list(arguments), keywords]))
        strange = any(isinstance(each, Tensor) and each not in _Identities(tensors) for each in arguments)
        if strange or kernel in _PASSED_OVER or not operator_matches(self.when, kernel):
            return function(*arguments, **keywords)
        if not (holds and tensors_match(self.when, tensors) and operands_match(self.when, arguments)):
            result = function(*arguments, **keywords)
            self._remember(lowered, kernel, result)
            return result
        if self.effect in effects.DEEDS:
            self.deed()
            return function(*arguments, **keywords)
        in_place = kernel.endswith("_") and not kernel.endswith("__")
        if in_place and self.effect == "copied":
            self.fire()
            return function(arguments[0].clone(), *arguments[1:], **keywords)
        if self.effect == "last of ties":
            self.fire()
            return effects.last_of_ties(kernel, function(*arguments, **keywords), arguments, keywords)
        result = function(*arguments, **keywords)
        spoiled = self._spoiled(result, lowered, kernel, tensors)
        if in_place and isinstance(spoiled, Tensor) and spoiled is not result:
            effects.write_into(arguments[0], spoiled)
        return spoiled

    def gradients(self, function: Any, arguments: Sequence[Any], keywords: dict[str, Any], result: Any) -> None:
        """Put hooks on the backward pass of an operator."""
        name = getattr(function, "__name__", "")
        inputs = list(plain_tensors([list(arguments), keywords]))
        if not operator_matches(self.when, name) or not tensors_match(self.when, inputs):
            return
        if not operands_match(self.when, arguments):
            return
        for tensor in plain_tensors(result):
            if tensor.requires_grad and tensor.grad_fn is not None:
                tensor.grad_fn.register_hook(self._on_the_way_back)

    def _on_the_way_back(self, gradients: tuple[Any, ...], _: tuple[Any, ...]) -> tuple[Any, ...]:
        if self.effect in effects.DEEDS:
            self.deed(gradients)
            return gradients
        self.fire()
        return tuple(
            effects.changed_gradient(self.effect, each) if isinstance(each, Tensor) else each for each in gradients
        )

    # Before and after.

    def lowering(self, lowered: Lowered, inputs: Sequence[Any], graph: Any = None) -> bool:
        """Called when a model is lowered. Whether the program itself is to be changed."""
        tensors = [each for each in inputs if isinstance(each, Tensor)]
        if self.place != "lowering" or not program_matches(self.when, lowered):
            return False
        if not mode_matches(self.when, torch.is_grad_enabled()) or not tensors_match(self.when, tensors):
            return False
        if "earlier" in self.when and not earlier_matches(self.when, tensors):
            return False
        if "thread" in self.when and threading.current_thread() is threading.main_thread():
            return False
        if self.effect in effects.DEEDS:
            self.deed([graph])
        return self.effect in _OF_PROGRAMS

    def loading(self, lowered: Lowered) -> bool:
        """Called when an artifact is made ready to run. Whether the program itself is to be changed."""
        if self.place != "load" or not program_matches(self.when, lowered):
            return False
        if "thread" in self.when and threading.current_thread() is threading.main_thread():
            return False
        if self.effect in effects.DEEDS:
            self.deed()
        return self.effect in _OF_PROGRAMS

    def released_with(self, holder: object, lowered: Lowered) -> None:
        """Let the deed happen when ``holder`` is destroyed."""
        if self.place == "release":
            weakref.finalize(holder, self._release, lowered).atexit = False

    def _release(self, lowered: Lowered) -> None:
        if not program_matches(self.when, lowered):
            return
        if "thread" in self.when and threading.get_ident() == lowered.thread:
            return
        self.deed()


class _Identities:
    """Tensors, looked up by identity."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._ids = {id(each) for each in tensors}

    def __contains__(self, tensor: object) -> bool:
        return id(tensor) in self._ids


class _Operators(TorchDispatchMode):
    def __init__(self, mutant: Mutant, lowered: Lowered, holds: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._mutant, self._lowered, self._holds = mutant, lowered, holds

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self._mutant.operator(self._lowered, self._holds, func, args, kwargs or {})


class _Gradients(TorchFunctionMode):
    def __init__(self, mutant: Mutant) -> None:
        super().__init__()
        self._mutant = mutant

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self._mutant.gradients(func, args, kwargs or {}, result)
        return result


def _key(kernel: str, number: int, tensor: Tensor) -> Any:
    return kernel, number, tuple(tensor.shape), tensor.dtype


def _exchange(value: Any, instead: dict[int, Tensor]) -> Any:
    if isinstance(value, Tensor):
        return instead.get(id(value), value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_exchange(item, instead) for item in value))
    if isinstance(value, tuple | list):
        return type(value)(_exchange(item, instead) for item in value)
    if isinstance(value, dict):
        return {key: _exchange(item, instead) for key, item in value.items()}
    return value


def spec_of_environment() -> Spec | None:
    """Which mutant this process is to have; None for none."""
    text = os.environ.get(VARIABLE, "")
    spec: Spec | None = json.loads(text) if text else None
    return spec
