"""Trials as a search draws them, for tests."""

from __future__ import annotations

import random

import hypothesis
from hypothesis import HealthCheck, Phase, settings

from conformance.generate import THEMES_OF_SCENARIOS, TRAINING
from conformance.generate.drawing import Draw, independent_draws
from conformance.generate.programs import Scope
from conformance.generate.steps import Trial
from conformance.generate.trials import program_trials, scenario_trials
from conformance.toolchains import toolchain_named


def drawn(scope: Scope, count: int, seed: int) -> list[Trial]:
    """So many trials of a scope, drawn as a search draws them: hypothesis's own draws depend on what is imported."""
    found: list[Trial] = []
    strategy = scenario_trials(scope) if scope.theme in THEMES_OF_SCENARIOS else program_trials(scope)

    @settings(
        backend=independent_draws(seed),
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(strategy)
    def draw(trial: Trial) -> None:
        found.append(trial)

    draw()
    return found


def scope_of(toolchain: str, theme: str, missing: frozenset[str] = frozenset()) -> Scope:
    """The scope of a theme in a toolchain."""
    traits = toolchain_named(toolchain).programs
    assert traits is not None
    return Scope(theme, traits, missing, training=theme == TRAINING)


class ByChance(Draw):
    """Draws from a generator, without hypothesis."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def upto(self, most: int) -> int:
        return self._random.randint(0, most)
