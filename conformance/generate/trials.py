"""Trials as hypothesis draws them: models of programs, and the steps that happen to them, in order.

They are plain data, and no ``RuleBasedStateMachine`` that asks a device step by step: one message plays them all, they
are kept and played again as they are, and shown as a script.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from conformance.api import features
from conformance.generate.calls import Calls
from conformance.generate.drawing import Draw
from conformance.generate.program import Argument, Program
from conformance.generate.programs import FAMILIES, Scope, draw_program, near_twin_of
from conformance.generate.steps import BEYOND, ELSEWHERE, FROZEN, MODES_OF_LOWERING, UNCOUNTED, Call, Step, Trial
from conformance.toolchains import ProgramTraits

#: What happens after the first call of a trial of one program. Where calls of another kind make a compiler start again,
#: more of them are of the same kind, with other values.
_AFTERWARDS = ("call", "call", "revalued", "refill", "event", "event")
_AFTERWARDS_WHERE_COMPILED = ("call", "revalued", "revalued", "refill", "event")
_AFTERWARDS_WHERE_COSTLY = ("revalued", "refill", "revalued", "refill", "revalued", "call", "event")
_EVENTS = ("twin", "lower", "fail", "drop", "reset")
#: Operators that raise, in the middle of a call, where an index is beyond what there is.
_LOOK_UP = frozenset(("embedding", "embedding_bag", "index_select", "gather", "index", "take", "scatter_add"))
#: What happens in a scenario, by its theme.
_ACTIONS = {
    "calls": ("call", "call", "again", "refill", "call", "fail"),
    "models": ("call", "lower", "call", "drop", "call", "again"),
    "state": ("weights", "call", "save_load", "call", "copy", "reset"),
    "failures": ("fail", "call", "damaged", "call", "drop", "again"),
}


def program_trials(scope: Scope) -> st.SearchStrategy[Trial]:
    """Trials of one program, whose model is called a few times."""
    return _program_trial(scope)


def scenario_trials(scope: Scope) -> st.SearchStrategy[Trial]:
    """Trials of several models, and of what happens between calls."""
    return _scenario_trial(scope)


@st.composite
def _program_trial(draw: Any, scope: Scope) -> Trial:
    drawing, traits = Draw(draw), scope.traits
    if traits.trains and not scope.training and features.training.name not in scope.missing:
        scope = dataclasses.replace(scope, training=drawing.chance(3))
    if scope.training and drawing.chance(2):
        # what one goes back to first is each of the operators, with gradients that lie in any way
        scope = dataclasses.replace(scope, side_by_side=True)
    program, arguments = draw_program(drawing, scope)
    trial = _Events(drawing, scope, [(program, arguments)])
    trial.model(0, 0)
    dynamic = drawing.chance(4) if traits.is_costly else traits.keeps_gradients and drawing.chance(10)
    static = traits.keeps_gradients and not dynamic and drawing.chance(6)
    trial.lower(0, "dynamic" if dynamic else "static" if static else "")
    trial.act("call")
    trial.other_methods()
    if traits.saves and drawing.chance(4):
        # the calls that follow meet the model, or what was made of it
        trial.act(drawing.of("copy", "save_load"))
    seldom = 3 if traits.is_costly else 1
    if drawing.chance(6 * seldom) or (dynamic and traits.is_costly):
        trial.resize()
    if drawing.chance(3 * seldom):
        trial.near_twin()
    usual = _afterwards(traits)
    events = [*_EVENTS, *["save_load", "copy"] * traits.saves]
    events += ["weights"] * len(events) * bool(program.parameters or program.buffers)
    if drawing.chance(3) or "writes" in program.marks:
        trial.beyond()
    for _ in range(drawing.choice(_number_of_events(scope))):
        action = drawing.choice(usual)
        if action != "event":
            trial.act(action)
            continue
        # whatever happened, what matters are the calls after it
        trial.act(drawing.choice(events))
        trial.act(drawing.of("call", "again"), latest=True)
        trial.act("revalued", latest=True)
    if "random" in program.marks:
        trial.act("again")
    return Trial(tuple(trial.programs), tuple(trial.steps))


def _afterwards(traits: ProgramTraits) -> tuple[str, ...]:
    """What happens after the first call of a trial of one program."""
    if traits.is_costly:
        return _AFTERWARDS_WHERE_COSTLY
    return _AFTERWARDS_WHERE_COMPILED if traits.trains else _AFTERWARDS


def _number_of_events(scope: Scope) -> tuple[int, ...]:
    """How much may happen after the first call: more where calls cost little, and most with operators side by side."""
    if scope.traits.trains:
        return (3, 1, 2, 5)
    if scope.traits.is_costly:
        return (4, 2, 6, 9)
    return (9, 6, 12, 15) if scope.is_side_by_side else (4, 2, 6, 9)


@st.composite
def _scenario_trial(draw: Any, scope: Scope) -> Trial:
    drawing = Draw(draw)
    inner = dataclasses.replace(scope, theme=drawing.choice(tuple(FAMILIES)[:-1]))
    drawn = [draw_program(drawing, inner, most=4) for _ in range(drawing.of(1, 2, 2, 3))]
    trial = _Events(drawing, inner, drawn)
    trial.begin()
    for _ in range(drawing.choice((3, 2, 5, 8))):
        trial.act(drawing.choice(_ACTIONS[scope.theme]))
    return Trial(tuple(program for program, _ in drawn), tuple(trial.steps))


class _Events:
    """The steps of a trial while it is drawn, with the models and lowered models that exist after them."""

    def __init__(self, draw: Draw, scope: Scope, drawn: Sequence[tuple[Program, list[Argument]]]) -> None:
        self._draw = draw
        self._scope = scope
        self.programs = [program for program, _ in drawn]
        self._calls = [Calls(draw, scope, program, arguments) for program, arguments in drawn]
        self.steps: list[Step] = []
        #: The program of each model; the program, the model and the first call of each lowered model.
        self._models: list[int] = []
        self._lowered: list[int] = []
        self._model_of: list[int] = []
        self._first: dict[int, Call] = {}
        self._gone: set[int] = set()
        self._freezes = scope.traits.freezes and features.constants.name not in scope.missing

    def begin(self) -> None:
        """A model of each program, lowered; and now and then a twin of the first with other weights."""
        for program in range(len(self.programs)):
            self.model(program, 0)
        if self._draw.chance(2):
            self.model(0, 1 + self._draw.upto(3))
        for number in range(len(self._models)):
            self.lower(number)
        for number in range(len(self._lowered)):
            self._call(number)

    def model(self, program: int, seed: int) -> None:
        """A model of a program, with the weights of a seed."""
        self.steps.append(Step("model", program, seed=seed))
        self._models.append(program)

    def lower(self, model: int, how: str = "") -> None:
        """Lower a model; in another process, in a mode or frozen now and then, where nothing says how."""
        if not how and self._scope.traits.moves:
            if self._draw.chance(3):
                how = ELSEWHERE
            elif not self._scope.traits.is_costly and self._draw.chance(5):
                how = self._draw.choice(MODES_OF_LOWERING)  # what is costly is lowered in the mode of a call
            elif self._freezes and self._draw.chance(3):
                how = FROZEN
        self.steps.append(Step("lower", model, how))
        self._lowered.append(self._models[model])
        self._model_of.append(model)

    def near_twin(self) -> None:
        """Call, beside the first model, one that differs in a number or a function, and the first again."""
        first = self._first[0]
        near = near_twin_of(self._draw, self.programs[0])
        if near is None:
            return
        self.programs.append(near)
        self._calls.append(self._calls[0])
        self.model(1, 0)
        self.lower(len(self._models) - 1)
        self.steps += [Step("call", lowered, call=first) for lowered in (len(self._lowered) - 1, 0)]
        self._first[len(self._lowered) - 1] = first

    def other_methods(self) -> None:
        """Call each method that the first call does not, with what that was given."""
        first = self._first[0]
        for method in self.programs[0].all_methods:
            if method.name != first.method:
                self.steps.append(Step("call", 0, call=dataclasses.replace(first, method=method.name)))

    def resize(self) -> None:
        """Call the first that was lowered with one size after another, unless it has state of its own."""
        if self._has_own_state(0):
            return
        calls = self._calls[self._lowered[0]]
        self.steps += [Step("call", 0, call=each) for each in calls.sizes(self._first[0])]

    def beyond(self) -> None:
        """A call that looks up what is not there, if the program looks anything up, and the first call again."""
        first = self._first[0]
        if not self._has_own_state(0) and _LOOK_UP.intersection(self.programs[0].operators) and _has_integers(first):
            self.steps += [Step("fail", 0, "beyond", call=first), Step("call", 0, call=first)]

    def _call(self, lowered: int) -> None:
        calls = self._calls[self._lowered[lowered]]
        first = self._first.get(lowered)
        call = calls.first() if first is None else calls.varied(first)
        self._first.setdefault(lowered, call)
        self.steps.append(Step("call", lowered, call=call))

    def act(self, action: str, *, latest: bool = False) -> None:
        """Append a step of that kind about a lowered model, the latest one if so asked; nothing if it is impossible."""
        alive = [number for number in range(len(self._lowered)) if number not in self._gone]
        if not alive:
            return
        chosen = alive[-1] if latest else self._draw.choice(alive)
        if self._has_own_state(chosen):
            if action in ("fail", "weights"):
                return
            action = "revalued" if action == "call" else action
        if chosen in self._first:
            self._after_a_call(action, chosen)
        elif action in ("call", "again", "revalued", "refill"):
            self._call(chosen)
        match action:
            case "lower":
                self.lower(self._model_of[chosen])
            case "twin":
                self.model(self._lowered[chosen], 1 + self._draw.upto(3))
                self.lower(len(self._models) - 1)
                self._call(len(self._lowered) - 1)
            case "weights" if self._has_weights(self._lowered[chosen]):
                self.steps.append(
                    Step("weights", self._model_of[chosen], self._draw.choice(_weight_changes(self._scope)))
                )
            case "drop" if len(alive) > 1:
                self.steps.append(Step("drop", chosen))
                self._gone.add(chosen)
            case "reset":
                self.steps.append(Step("reset"))
            case "save_load" | "copy" if self._scope.traits.saves:
                self.steps.append(Step(action, chosen, "thread" if self._draw.chance(5) else ""))
                self._lowered.append(self._lowered[chosen])
                self._model_of.append(self._model_of[chosen])
            case "damaged" if self._scope.traits.saves:
                self.steps.append(Step("damaged", chosen))

    def _after_a_call(self, action: str, chosen: int) -> None:
        calls, first = self._calls[self._lowered[chosen]], self._first[chosen]
        match action:
            case "call":
                self._call(chosen)
            case "again":
                self.steps.append(Step("call", chosen, call=first))
            case "revalued":
                self.steps.append(Step("call", chosen, call=calls.revalued(first)))
            case "refill":
                how = UNCOUNTED if self._draw.chance(3) else ""
                self.steps.append(Step("refill", chosen, how, call=calls.revalued(first)))
            case "fail":
                ways = ["a string", "too few", "None"]
                ways += [BEYOND] * (3 * _has_integers(first))
                how = self._draw.choice(ways)
                self.steps.append(Step("fail", chosen, how, call=first))

    def _has_own_state(self, lowered: int) -> bool:
        """Whether calls of something lowered leave state that only it has. Another call than the first one's kind would
        not meet it, one that fails may have written or not, and changed weights are not what it begins with."""
        return "writes" in self.programs[self._lowered[lowered]].marks and not self._scope.traits.keeps_writes

    def _has_weights(self, program: int) -> bool:
        return bool(self.programs[program].parameters or self.programs[program].buffers)


def _has_integers(call: Call) -> bool:
    return any(spec.dtype in ("int64", "int32") for spec in call.tensors)


def _weight_changes(scope: Scope) -> tuple[str, ...]:
    """How the weights of a model may change after it was lowered."""
    return ("in place", "loaded") if scope.traits.copies_weights else ("in place", "replaced", "loaded", "through data")
