"""Trials of one statement, and what is found where something is put around plain PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from conformance.generate.answers import answered, read
from conformance.generate.judge import Knowledge, Rules, differences
from conformance.generate.makers import Shadow
from conformance.generate.play import know, play
from conformance.generate.program import Line, Program, TensorSpec
from conformance.generate.steps import Call, Step, Trial

Maker = Callable[[torch.nn.Module], Callable[..., Any]]


class Broken(Shadow):
    """Plain PyTorch, with something around each model."""

    def __init__(self, around: Maker) -> None:
        super().__init__(copies=False)
        self._around = around

    def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Callable[..., Any]:
        return self._around(module)


def trial_of(
    text: str, *specs: TensorSpec, calls: int = 1, result: str = "v0", marks: tuple[str, ...] = (), **under: Any
) -> Trial:
    """A trial of one statement."""
    arguments = tuple((f"x{index}", "Tensor") for index in range(len(specs)))
    program = Program(arguments, (Line("it", text),), result, marks=marks)
    call = Call(specs, **under)
    return Trial((program,), (Step("model"), Step("lower"), *[Step("call", 0, call=call)] * calls))


def rows(trial: Trial, answer: dict[str, Any]) -> list[dict[str, Any]]:
    """What a device answers about a trial, as the harness reads it."""
    return read(answered(answer), trial)


def found(trial: Trial, around: Maker, rules: Rules | None = None, *, leaks: bool = False) -> list[str]:
    """The observables in which something differs from plain PyTorch."""
    eager = rows(trial, play(trial, Shadow(copies=False), leaks=leaks))
    exact, *noisy = (rows(trial, each) for each in know(trial, copies=False, noises=12))
    actual = rows(trial, play(trial, Broken(around), leaks=leaks))
    known = Knowledge(eager, exact, noisy)
    return [each.observable for each in differences(trial, known, actual, rules or Rules())]


def changed(change: Callable[[Any], Any]) -> Maker:
    """What changes every result."""
    return lambda module: lambda *arguments: change(module(*arguments))


FLOAT = TensorSpec("float32", (5, 3), seed=3)
ADD = trial_of("v0 = x0 + 1.0", FLOAT)
