"""How often trials have what comes seldom: for each, many are drawn. See also `test_draws.py`."""

from __future__ import annotations

import json
import re

import pytest
from generate.drawn import drawn, scope_of

from conformance.generate import OPERATORS
from conformance.generate.program import OPTIONAL, Listed
from conformance.generate.serialization import as_plain, trial_from_plain

#: Each draws for half a minute or more.
pytestmark = pytest.mark.runs


def test_numbers_in_lists_are_others_in_later_calls() -> None:
    """Whoever keeps compiled code by the length of a list keeps the numbers of the first call in it."""
    trials = [
        trial
        for trial in drawn(scope_of("torchscript", "elementwise"), 200, 6)
        if any(isinstance(each, Listed) for each in trial.calls[0].arguments)
    ]
    assert len(trials) > 5
    lists = [[each for call in trial.calls for each in call.arguments if isinstance(each, Listed)] for trial in trials]
    assert sum(len(set(each)) > 1 for each in lists) > len(lists) / 4
    assert {len(each.numbers) for listed in lists for each in listed} == {2}
    assert all(re.search(r"x\d+: list\[(int|float)\]", trial.programs[0].source()) for trial in trials)
    assert sum(bool(re.search(r"x\d+\[[01]\]", trial.programs[0].source())) for trial in trials) > len(trials) / 2
    for trial in trials:
        assert trial_from_plain(json.loads(json.dumps(as_plain(trial)))) == trial
    lacking = (scope_of("dynamo", "elementwise"), scope_of("torchscript", "elementwise", frozenset({"nested_values"})))
    for scope in lacking:
        given = [each for trial in drawn(scope, 100, 6) for each in trial.calls[0].arguments]
        assert not any(isinstance(each, Listed) for each in given)


def test_what_is_random_is_called_in_training() -> None:
    drawn_for = drawn(scope_of("dynamo", "networks"), 800, 8)
    calls = [call for trial in drawn_for if "random" in trial.programs[0].marks for call in trial.calls]
    assert sum(call.train for call in calls) > len(calls) / 2 > 3
    assert {"grad", "no_grad"} <= {call.mode for call in calls if call.train}


def test_arguments_are_none_in_one_call_and_tensors_in_another() -> None:
    """A cache of what was compiled must tell a tensor and None from None and a tensor."""
    trials = [each for each in drawn(scope_of("torchscript", "views"), 300, 5) if OPTIONAL in str(each.programs[0])]
    kinds = [{tuple(type(each) for each in call.arguments) for call in trial.calls} for trial in trials]
    assert len(trials) > 10
    assert sum(len(each) > 1 for each in kinds) > len(kinds) / 4
    read = [re.search(r"x\d+ is (not )?None", trial.programs[0].source()) for trial in trials]
    assert sum(map(bool, read)) > len(trials) / 2, "where a program has anything to compute with one"
    for lacking in (scope_of("executorch", "views"), scope_of("torchscript", "views", frozenset({"optionals"}))):
        assert not any(OPTIONAL in str(each.programs[0]) for each in drawn(lacking, 100, 5))


def test_what_is_looked_up_is_beyond_the_table_now_and_then() -> None:
    """A call that fails when it has begun leaves more behind than one that is not begun."""
    trials = drawn(scope_of("dynamo", "networks"), 400, 5)
    failing = [step for each in trials for step in each.steps if step.action == "fail"]
    beyond = [step.call for step in failing if step.detail == "beyond"]
    assert len(beyond) > 5
    assert all(call and {"int64", "int32"} & {spec.dtype for spec in call.tensors} for call in beyond)


def test_scripts_raise_by_themselves_and_compiled_graphs_do_not() -> None:
    def raising(toolchain: str) -> int:
        trials = drawn(scope_of(toolchain, OPERATORS), 240, 4)
        return sum("raise" in program.operators for trial in trials for program in trial.programs)

    assert raising("torchscript") > 5
    assert raising("dynamo") == 0
