"""A script sees what a generated cell sees, and by the same name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from standalone.findings import files_of

from conformance.generate.call_modes import default_dtype
from conformance.generate.program import Line, Program, TensorSpec
from conformance.generate.steps import Call, Step, Trial
from conformance.standalone.reproducers import _trial


@pytest.fixture(autouse=True)
def all_is_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As a script about torch.compile says."""
    for name in ("weights", "aliases", "strides", "writes", "requires_grad"):
        monkeypatch.setitem(_trial.KEEPS, name, True)
    yield
    for each in (_trial.SEEN, _trial.RESULTS, _trial.GRADIENTS, _trial.STORAGES, _trial.WITHIN):
        each.clear()


def seen(function: Callable[[torch.Tensor], Any]) -> dict[str, Any]:
    """What a script sees of a call."""
    argument = torch.arange(6.0)
    with _trial.step("step 3 (call)", None, [argument]) as call:
        call.result = function(argument)
    return _trial.SEEN.pop()


def rewritten(x: torch.Tensor) -> Any:
    x.copy_(x.clone())
    return x * 2, 3


def incremented(x: torch.Tensor) -> Any:
    x.add_(1)
    return x * 2, 3


def behind_its_back(x: torch.Tensor) -> Any:
    return incremented(x.data)


def in_inference_mode(x: torch.Tensor) -> Any:
    with torch.inference_mode():
        return doubled(x)


def doubled(x: torch.Tensor) -> Any:
    return x * 2, 3


@pytest.mark.parametrize(
    ("right", "wrong", "observables"),
    [
        (doubled, doubled, []),
        (doubled, lambda x: (x * 2, 4), ["shape"]),
        (doubled, rewritten, ["writes"]),
        (incremented, behind_its_back, ["writes"]),
        (doubled, in_inference_mode, ["requires_grad"]),
    ],
    ids=["nothing", "a number", "a write of what was there", "a write that nobody counts", "an inference tensor"],
)
def test_what_differs_in_a_call_is_named(right: Any, wrong: Any, observables: list[str]) -> None:
    assert [each[0] for each in _trial.differences(seen(wrong), seen(right))] == observables


@pytest.mark.parametrize("is_reset", [True, False])
def test_what_changes_a_mode_within_it_is_seen(is_reset: bool) -> None:
    def called(x: torch.Tensor) -> Any:
        with _trial.within(default_dtype(torch.float64)):
            if is_reset:
                torch.set_default_dtype(torch.float32)
        return doubled(x)

    found = _trial.differences(seen(called), seen(doubled))
    assert [each[0] for each in found] == ["process state"] * is_reset


def test_what_draws_random_numbers_judges_no_values_but_those_that_need_none(monkeypatch: pytest.MonkeyPatch) -> None:
    right, wrong = seen(lambda x: (x + 0, x + 0)), seen(lambda x: (x + 1, x + 1))
    assert [each[:2] for each in _trial.differences(wrong, right)] == [("values", "result 0"), ("values", "result 1")]
    assert _trial.differences(wrong, right, is_random=True) == []
    monkeypatch.setitem(_trial.SURE, "step 3 (call)", [1])
    assert [each[:2] for each in _trial.differences(wrong, right, is_random=True)] == [("values", "result 1")]


def test_a_script_is_told_what_needs_no_random_numbers_and_watches_modes_where_these_are_the_matter() -> None:
    lines = (Line("mul", "v0 = x0 * 2"), Line("rand_like", "v1 = torch.rand_like(x0)"))
    program = Program((("x0", "Tensor"),), lines, "(v1, v0)", marks=("random",))
    call = Step("call", call=Call((TensorSpec("float32", (3,)),), mode="no_grad"))
    trial = Trial((program,), (Step("model"), Step("lower"), call))
    texts = {what: files_of(trial, what) for what in ("values", "process state")}
    assert 'SURE = {"step 3 (call)": [1]}' in texts["values"]["support.py"].decode()
    watched = {what: b"with within(torch.no_grad()):" in text["reproduce.py"] for what, text in texts.items()}
    assert watched == {"values": False, "process state": True}
    assert b"within" in texts["process state"]["reproduce.py"].partition(b"class Model")[0]
