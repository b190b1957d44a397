"""What is written to, whose memory a result lies in, and what is kept."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import torch
from generate.judging import ADD, FLOAT, Broken, changed, found, rows, trial_of

from conformance.generate.judge import Knowledge, Rules, differences
from conformance.generate.makers import Shadow
from conformance.generate.play import play
from conformance.generate.program import Line, Program


def test_an_argument_that_is_written_to_is_seen() -> None:
    def around(module: torch.nn.Module) -> Callable[..., Any]:
        def call(x: torch.Tensor) -> Any:
            result = module(x)
            x.zero_()
            return result

        return call

    assert found(ADD, around) == ["writes"]


def test_a_write_that_is_lost_is_seen() -> None:
    trial = trial_of("v0 = x0.mul_(2.0)", FLOAT, marks=("writes",))
    assert found(trial, lambda module: lambda x: module(x.clone())) != []
    rules = Rules(aliases=False, writes=False)
    assert found(trial, lambda module: lambda x: module(x.clone()), rules) == []


def test_aliases_made_and_lost_are_seen() -> None:
    view = trial_of("v0 = x0[1:]", FLOAT)
    assert "aliases" in found(view, changed(torch.clone))
    assert "aliases" not in found(view, changed(torch.clone), Rules(aliases=False))
    kept: list[Any] = []

    def around(module: torch.nn.Module) -> Callable[..., Any]:
        def call(x: torch.Tensor) -> Any:
            kept.append(module(x))
            return x.copy_(kept[-1])

        return call

    assert "aliases" in found(ADD, around, Rules(aliases=False))


def test_a_buffer_that_takes_over_the_memory_of_an_argument_is_seen() -> None:
    buffer = dataclasses.replace(FLOAT, seed=4)
    lines = (Line("add", "v0 = x0 + self.b0"), Line("copy_", "self.b0.copy_(x0)"))
    program = Program((("x0", "Tensor"),), lines, "v0", buffers=(("b0", buffer),), marks=("writes",))
    trial = dataclasses.replace(trial_of("", FLOAT), programs=(program,))

    def around(module: torch.nn.Module) -> Callable[..., Any]:
        def call(x: torch.Tensor) -> Any:
            result = module(x)
            with torch.no_grad():
                module.get_buffer("b0").set_(x)  # type: ignore[call-overload]
            return result

        return call

    assert found(trial, lambda module: module) == []
    assert found(trial, around) == ["aliases", "writes"]


def test_a_former_result_that_is_overwritten_is_seen() -> None:
    def around(module: torch.nn.Module) -> Callable[..., Any]:
        results: list[torch.Tensor] = []

        def call(x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = module(x)
            for each in results:
                each.add_(1)
            results.append(result)
            return result

        return call

    assert found(trial_of("v0 = x0 + 1.0", FLOAT, calls=2), around) == ["values"]


def test_memory_that_is_kept_is_seen() -> None:
    kept: list[Any] = []

    def around(module: torch.nn.Module) -> Callable[..., Any]:
        def call(x: torch.Tensor) -> Any:
            kept.append(x)
            return module(x)

        return call

    assert found(ADD, around, leaks=True) == ["memory"]
    assert found(ADD, copy.copy, leaks=True) == []


def test_other_strides_are_those_of_a_result() -> None:
    trial = trial_of("v0 = x0 * 2", FLOAT, result="(v0, v0 + 1)")
    other = Broken(changed(lambda results: (results[0], results[1].t().contiguous().t())))
    eager, actual = (rows(trial, play(trial, maker)) for maker in (Shadow(copies=False), other))
    (difference,) = differences(trial, Knowledge(eager), actual, Rules())
    assert (difference.observable, difference.place) == ("strides", "result 1")
