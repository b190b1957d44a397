"""Trials of several models as hypothesis draws them, and of what happens between their calls.

They are plain data, and no ``RuleBasedStateMachine`` that asks a device step by step: one message plays them all, they
are kept and played again as they are, and shown as a script.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from conformance.generate.drawing import Draw
from conformance.generate.program import Argument, Call, Program, Step, Trial
from conformance.generate.trials import FAMILIES, Calls, Scope, draw_program, weight_changes


def scenario_trials(scope: Scope) -> st.SearchStrategy[Trial]:
    """Trials of several models, and of what happens between calls."""
    return _scenario_trial(scope)


_ACTIONS = {
    "calls": ("call", "call", "again", "refill", "call", "fail"),
    "models": ("call", "lower", "call", "drop", "call", "again"),
    "state": ("weights", "call", "save_load", "call", "copy", "reset"),
    "failures": ("fail", "call", "damaged", "call", "drop", "again"),
}


@st.composite
def _scenario_trial(draw: Any, scope: Scope) -> Trial:
    drawing = Draw(draw)
    inner = dataclasses.replace(scope, theme=drawing.choice(tuple(FAMILIES)[:-1]))
    drawn = [draw_program(drawing, inner, most=4) for _ in range(drawing.of(1, 2, 2, 3))]
    trial = _Scenario(drawing, inner, drawn)
    trial.begin()
    for _ in range(drawing.choice((3, 2, 5, 8))):
        trial.act(drawing.choice(_ACTIONS[scope.theme]))
    return Trial(tuple(program for program, _ in drawn), tuple(trial.steps))


class _Scenario:
    """The steps of a scenario while it is drawn, and what there is after them."""

    def __init__(self, draw: Draw, scope: Scope, drawn: Sequence[tuple[Program, list[Argument]]]) -> None:
        self._draw = draw
        self._scope = scope
        self._drawn = drawn
        self._calls = [Calls(draw, scope, program, arguments) for program, arguments in drawn]
        self.steps: list[Step] = []
        #: Of each model its program; of each lowered one its program and model, and what it was called with last.
        self._models: list[int] = []
        self._lowered: list[int] = []
        self._model_of: list[int] = []
        self._last: dict[int, Call] = {}
        self._gone: set[int] = set()

    def begin(self) -> None:
        """A model of each program, lowered; and now and then a twin of the first with other weights."""
        for program in range(len(self._drawn)):
            self._model(program, 0)
        if self._draw.chance(2):
            self._model(0, 1 + self._draw.upto(3))
        for number in range(len(self._models)):
            self._lower(number)
        for number in range(len(self._lowered)):
            self._call(number)

    def _model(self, program: int, seed: int) -> None:
        self.steps.append(Step("model", program, seed=seed))
        self._models.append(program)

    def _lower(self, model: int) -> None:
        self.steps.append(Step("lower", model))
        self._lowered.append(self._models[model])
        self._model_of.append(model)

    def _call(self, lowered: int) -> None:
        calls = self._calls[self._lowered[lowered]]
        last = self._last.get(lowered)
        call = calls.first() if last is None else calls.varied(last)
        self._last.setdefault(lowered, call)
        self.steps.append(Step("call", lowered, call=call))

    def act(self, action: str) -> None:
        """Append a step of that kind, or nothing where it makes no sense."""
        alive = [number for number in range(len(self._lowered)) if number not in self._gone]
        if not alive:
            return
        chosen = self._draw.choice(alive)
        traits = self._scope.traits
        match action:
            case "call":
                self._call(chosen)
            case "again" if chosen in self._last:
                self.steps.append(Step("call", chosen, call=self._last[chosen]))
            case "refill" if chosen in self._last:
                again = self._calls[self._lowered[chosen]].again(self._last[chosen])
                self.steps.append(Step("refill", chosen, call=again))
            case "fail" if chosen in self._last:
                how = self._draw.of("a string", "too few", "None")
                self.steps.append(Step("fail", chosen, how, call=self._last[chosen]))
            case "lower":
                self._lower(self._model_of[chosen])
            case "weights":
                self.steps.append(
                    Step("weights", self._model_of[chosen], self._draw.choice(weight_changes(self._scope)))
                )
            case "drop" if len(alive) > 1:
                self.steps.append(Step("drop", chosen))
                self._gone.add(chosen)
            case "reset":
                self.steps.append(Step("reset"))
            case "save_load" | "copy" if traits.saves:
                self.steps.append(Step(action, chosen))
                self._lowered.append(self._lowered[chosen])
                self._model_of.append(self._model_of[chosen])
            case "damaged" if traits.saves:
                self.steps.append(Step("damaged", chosen))
