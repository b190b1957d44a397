"""How much generated cells may try, as the option says it."""

from __future__ import annotations

import inspect
import re

import pytest

from conformance import pytest_plugin
from conformance.generate import DEFAULT_BUDGET, LEAST_PROGRAMS, LEAST_SCENARIOS, THEMES
from conformance.generate.axes import AXES
from conformance.generate.budget import Budget, Share


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("0", Budget(0)),
        ("120", Budget(120)),
        ("30s", Budget(None, 30.0)),
        ("1.5m", Budget(None, 90.0)),
        (" 2h ", Budget(None, 7200.0)),
        ("0.01s", Budget(None, 0.01)),
    ],
)
def test_a_budget_is_a_number_or_a_time(text: str, budget: Budget) -> None:
    assert Budget.parse(text) == budget
    assert Budget.parse(str(budget)) == budget


@pytest.mark.parametrize(
    "text", ["", "s", "-1", "1.5", "30 s", "0s", "1d", "1e3", "٣", "inf", "9" * 5000, "9999h", "1\n2"]
)
def test_what_is_neither_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"a number of programs such as 100, a time such as 30s.*found") as refused:
        Budget.parse(text)
    assert len(str(refused.value)) < 300


def test_a_number_is_for_each_cell() -> None:
    assert Budget(120).for_programs(9) == Share(120, 120, None)
    assert Budget(120).for_scenarios(9) == Share(12, 12, None)
    assert Budget(3).for_scenarios(1) == Share(1, 1, None)
    assert not Budget(3).for_programs(1).is_used_up(2, 2, 1e9)
    assert Budget(3).for_programs(1).is_used_up(3, 3, 0.0)


def test_a_time_is_shared_and_has_a_floor() -> None:
    programs, scenarios = Budget.parse("30s").for_programs(10), Budget.parse("30s").for_scenarios(10)
    assert programs == Share(LEAST_PROGRAMS, None, 3.0)
    assert scenarios == Share(LEAST_SCENARIOS, None, 3.0)
    assert not programs.is_used_up(LEAST_PROGRAMS - 1, 50, 100.0), "a slow backend is tried that often all the same"
    assert programs.is_used_up(LEAST_PROGRAMS, 50, 3.0)
    assert not programs.is_used_up(10_000, 20_000, 2.9)
    with pytest.raises(ValueError, match="one cell or more"):
        Budget(1).for_programs(0)


def test_a_backend_that_refuses_nearly_everything_is_not_searched_for_ever() -> None:
    by_number, by_time = Budget(3).for_programs(1), Budget.parse("30s").for_programs(10)
    assert not by_number.is_used_up(0, 59, 1e9)
    assert by_number.is_used_up(0, 60, 0.0)
    assert not by_time.is_used_up(0, 20 * LEAST_PROGRAMS - 1, 1e9)
    assert by_time.is_used_up(0, 20 * LEAST_PROGRAMS, 3.0)


def test_only_nothing_is_turned_off_and_too_little_shows_no_level() -> None:
    texts = ("0", "1", str(LEAST_PROGRAMS - 1), str(LEAST_PROGRAMS), "0.01s")
    assert [Budget.parse(text).is_nothing for text in texts] == [True, False, False, False, False]
    assert [Budget.parse(text).shows_a_level for text in texts] == [False, False, False, True, True]


def test_the_option_says_the_default() -> None:
    """The plugin imports nothing of the harness for its options."""
    source = inspect.getsource(pytest_plugin.pytest_addoption)
    said = re.search(r'"--conformance-generated",.*?default="([^"]*)"', source, re.DOTALL)
    assert said is not None
    assert said[1] == DEFAULT_BUDGET


def test_names_can_stand_in_ids_and_tables() -> None:
    assert len(set(THEMES)) == len(THEMES)
    assert all(re.fullmatch(r"[a-z]+", theme) for theme in THEMES)
    assert all(len(set(values)) == len(values) > 1 for values in AXES.values())
    assert not any("=" in text for axis, values in AXES.items() for text in (axis, *values))
