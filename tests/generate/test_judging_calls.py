"""Each call is judged by what is in it: chance, rounding and overflow elsewhere in a trial excuse nothing."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from generate.judging import Maker, changed, found, trial_of

from conformance.generate.gradients import gradients_of
from conformance.generate.judge import Rules
from conformance.generate.program import Line, Program, TensorSpec
from conformance.generate.randomness import random_steps
from conformance.generate.steps import UNCOUNTED, Call, Step, Trial

MANY = TensorSpec("float32", (40,), seed=3)


def trial_with_chance(*lines: str, result: str, train: bool = False) -> Trial:
    program = Program((("x0", "Tensor"),), tuple(Line("it", each) for each in lines), result, marks=("random",))
    call = Call((MANY,), train=train)
    return Trial((program,), (Step("model"), Step("lower"), Step("call", call=call)))


@pytest.mark.parametrize("drawn", ["torch.rand_like(x0)", "(x0 * 0.0 + 0.5).bernoulli()"])
@pytest.mark.parametrize(
    ("place", "observables"), [(0, ["values"]), (1, [])], ids=["what needs no draw", "what is drawn"]
)
def test_a_result_is_judged_beside_one_that_is_random(place: int, observables: list[str], drawn: str) -> None:
    trial = trial_with_chance("v0 = x0 * 2.0", f"v1 = {drawn} + v0", result="(v0, v1)")

    def other(results: Any) -> Any:
        return tuple(each + (index == place) for index, each in enumerate(results))

    assert found(trial, changed(other)) == observables


def test_a_call_that_draws_nothing_is_judged_whatever_others_draw() -> None:
    trial = trial_with_chance("v0 = F.dropout(x0, 0.5, training=self.training) * 1.0", result="v0")
    assert found(trial, changed(lambda result: result + 1)) == ["values"]
    trained = trial_with_chance("v0 = F.dropout(x0, 0.5, training=self.training) * 1.0", result="v0", train=True)
    assert found(trained, changed(lambda result: result + 1)) == []


def test_what_was_kept_of_drawn_numbers_is_random_in_later_steps() -> None:
    kept = {"random": "changed", "written": {"b0": torch.ones(1)}}
    assert random_steps([{}, {"random": "changed"}, {}]) == {1}
    assert random_steps([{}, kept, {}, {}]) == {1, 2, 3}


def trial_of_two(text: str, first: TensorSpec, second: TensorSpec, **second_call: Any) -> Trial:
    """A trial of one statement, which is called with one argument and then with another."""
    trial = trial_of(text, first)
    (call,) = trial.calls
    later = dataclasses.replace(call, arguments=(second,), **second_call)
    return dataclasses.replace(trial, steps=(*trial.steps, Step("call", call=later)))


def in_the_first_call(change: Callable[[torch.Tensor], torch.Tensor]) -> Maker:
    """Changes the result of the first call alone."""

    def around(module: torch.nn.Module) -> Callable[..., Any]:
        calls = iter([True])
        return lambda *arguments: change(module(*arguments)) if next(calls, False) else module(*arguments)

    return around


@pytest.mark.parametrize(
    ("later", "change"),
    [
        ({"values": "extremes"}, lambda result: torch.full_like(result, torch.nan)),
        ({"dtype": "bfloat16"}, lambda result: result * 1.02),
    ],
    ids=["overflow", "16 bits"],
)
def test_a_later_call_excuses_nothing_of_an_earlier_one(later: dict[str, Any], change: Any) -> None:
    ordinary = TensorSpec("float32", (5, 3), seed=3)
    trial = trial_of_two("v0 = x0.cumsum(0)", ordinary, dataclasses.replace(ordinary, **later))
    assert found(trial, in_the_first_call(change)) == ["values"]
    assert found(trial, changed(lambda result: result)) == []


def test_numbers_among_results_are_compared() -> None:
    trial = dataclasses.replace(
        (plain := trial_of("v0 = x0 + 1.0", MANY)),
        programs=(dataclasses.replace(plain.programs[0], result="(v0, x0.shape[0], True)"),),
    )
    assert found(trial, changed(lambda results: results)) == []
    assert found(trial, changed(lambda results: (results[0], 41, True))) == ["shape"]
    assert found(trial, changed(lambda results: (results[0], 40, 1))) == ["shape"]


def test_who_writes_what_was_there_is_seen_by_autograd() -> None:
    trial = trial_of("v0 = x0 + 1.0", MANY)

    def rewriting(module: torch.nn.Module) -> Callable[..., Any]:
        return lambda given: module(given.copy_(given.clone()))

    assert found(trial, rewriting) == ["writes"]


def test_who_writes_behind_autograds_back_is_seen() -> None:
    trial = trial_of("x0.add_(1)\nv0 = x0 * 1.0", MANY, marks=("writes",))

    def hiding(module: torch.nn.Module) -> Callable[..., Any]:
        return lambda given: module(given.data)

    assert found(trial, hiding) == ["writes"]
    assert found(trial, hiding, Rules(gradients=False)) == []


@contextlib.contextmanager
def the_default_dtype_again() -> Iterator[None]:
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("when", ["lower", "call"])
def test_what_changes_a_mode_within_it_is_seen(when: str) -> None:
    trial = trial_of("v0 = x0 + 1.0", MANY, mode="default float64")
    trial = dataclasses.replace(
        trial, steps=(trial.steps[0], Step("lower", detail="default float64"), *trial.steps[2:])
    )

    def resetting(module: torch.nn.Module) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            with the_default_dtype_again() if when == "call" else contextlib.nullcontext():
                return module(*arguments)

        with the_default_dtype_again() if when == "lower" else contextlib.nullcontext():
            return called

    assert found(trial, resetting) == ["process state"]
    assert found(trial, changed(lambda result: result)) == []


@pytest.mark.parametrize(("begin", "expected"), [("", [3.0, 3.0]), ("first", [3.0, None]), ("last", [None, 3.0])])
def test_going_back_may_begin_at_one_of_several_results(begin: str, expected: list[float | None]) -> None:
    leaves = [torch.ones(1, requires_grad=True) for _ in range(2)]
    gradients = gradients_of(tuple(each * 2.0 for each in leaves), leaves, begin=begin)
    assert [None if each is None else float(each) for each in gradients] == expected


@pytest.mark.parametrize(("how", "observables"), [("", []), (UNCOUNTED, ["values"])])
def test_who_takes_what_autograd_counts_for_all_that_is_written_is_seen(how: str, observables: list[str]) -> None:
    trial = trial_of("v0 = x0 + 1.0", MANY)
    filled = Step("refill", call=Call((dataclasses.replace(MANY, seed=4),)), detail=how)
    trial = dataclasses.replace(trial, steps=(*trial.steps, filled))

    def remembering(module: torch.nn.Module) -> Callable[..., Any]:
        known: dict[tuple[int, int], torch.Tensor] = {}
        return lambda given: known.setdefault((id(given), given._version), module(given)).clone()

    assert found(trial, remembering) == observables


def test_a_call_that_raises_has_its_arguments_filled_anew_all_the_same() -> None:
    trial = trial_of("v0 = x0 + 1.0", MANY)
    longer = dataclasses.replace(MANY, shape=(MANY.shape[0] + 1, *MANY.shape[1:]))
    steps = (*trial.steps, Step("call", call=Call((longer,))), Step("refill", call=Call((longer,))))
    trial = dataclasses.replace(trial, steps=steps)

    def refusing_the_second(module: torch.nn.Module) -> Callable[..., Any]:
        calls = itertools.count(1)

        def called(x: torch.Tensor) -> Any:
            if next(calls) == 2:
                raise RuntimeError("not today")
            return module(x)

        return called

    assert found(trial, refusing_the_second) == ["error"]
