"""What the clauses about guards look at: devices that say what a test has them say."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from conformance.api.errors import ConformanceFailure
from conformance.contract import shipped_clauses, suite_function
from conformance.run.result import Record
from conformance.toolchains.dynamo.observations import Observation


def function_of(name: str) -> Callable[..., None]:
    (clause,) = (each for each in shipped_clauses() if each.id == name)
    return suite_function(clause)[0]


def raising(told: str) -> contextlib.AbstractContextManager[Any]:
    """A block that fails with such a text, or does not where that is empty."""
    return pytest.raises(ConformanceFailure, match=told) if told else contextlib.nullcontext()


def written(memory: torch.Tensor, *which: bool) -> Observation:
    """A call that wrote to some of its two arguments, which overlap in a memory, and returned ones."""
    return Observation(torch.ones(2), (memory[:-1], memory[1:]), {}, which, {})


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        (written(torch.tensor([0.0, 5.0, 0.0]), True, True), ""),
        (written(torch.tensor([0.0, 0.0, 0.0]), True, True), "the arguments after the call"),
        (written(torch.tensor([0.0, 5.0, 0.0]), True, False), "which arguments have a new _version"),
    ],
)
def test_what_overlapping_arguments_are_afterwards_is_looked_at(seen: Observation, told: str) -> None:
    apart = written(torch.zeros(3), True, False)
    expected = written(torch.tensor([0.0, 5.0, 0.0]), True, True)

    def device(overlapping: Observation) -> Any:
        def run(model: int, inputs: Any, arranged: str = "") -> Observation:
            return overlapping if arranged else apart

        return SimpleNamespace(compile=lambda case: 1, build=lambda case: 1, run=run)

    case = SimpleNamespace(name="m", call=SimpleNamespace(inputs=(torch.ones(2, 2),) * 2, effects=apart))
    clause = function_of("guards.overlapping-views")
    with raising(f"m, overlapping arguments.*{told}" if told else ""):
        clause(device(seen), device(expected), case)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda right: right, ""),
        (lambda right: right[:1], "m of 7 rows"),
        (lambda right: right + 0.0001, "m of 7 rows"),
    ],
    ids=["right", "of-one-row", "off"],
)
def test_the_result_at_each_of_many_sizes_is_looked_at(
    change: Callable[[torch.Tensor], torch.Tensor], told: str
) -> None:
    def device(changed: Callable[[torch.Tensor], torch.Tensor]) -> Any:
        def run_at_sizes(model: int, sizes: list[int]) -> list[torch.Tensor]:
            return [changed(torch.ones(size, 4)) if size == 7 else torch.ones(size, 4) for size in sizes]

        return SimpleNamespace(
            lower=lambda case, marks: 1,
            build=lambda case: 1,
            run_at_sizes=run_at_sizes,
            effort=lambda *_, **__: [{}],
            effort_at_first=lambda *_, **__: {"functions": 0, "seconds": 0.0},
            counts=lambda model: SimpleNamespace(lowerings=1, runs=1000, declined=[]),
        )

    call = SimpleNamespace(inputs=())
    case = SimpleNamespace(name="m", call=call, calls=[call] * 3)
    clause, right = function_of("guards.many-sizes"), device(lambda result: result)
    with raising(told):
        clause(device(change), right, case, lambda *_: (), Record())
