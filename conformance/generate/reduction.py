"""A failing trial made smaller by what it is made of: its steps, results, statements, state and arguments.

Hypothesis makes a trial smaller by the choices that it was drawn from, in hundreds of tries, for which a slow compiler
has no time. These are few, and the largest cuts come first.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from conformance.generate.dead_code import made_by
from conformance.generate.judge import Divergence
from conformance.generate.kinds import with_first
from conformance.generate.program import FORWARD, Program, TensorSpec
from conformance.generate.steps import MAKES_LOWERED, Call, Step, Trial

Item = TypeVar("Item")

_STATE_NAME = re.compile(r"\bself\.(\w+)")
_PLACE = re.compile(r"result (\d+)")
#: What a call has that can be left out, beside its arguments and method.
_OPTIONAL = tuple(each.name for each in dataclasses.fields(Call) if each.name not in ("arguments", "mode", "method"))
_PLAIN_MODES = ("no_grad", "grad")
#: Values that a buffer must keep where it is to keep what calls write.
_KEPT = ("ordinary", "zeros")


def reduced(
    trial: Trial,
    found: list[Divergence],
    play: Callable[[Trial], list[Divergence]],
    may_try: Callable[[], bool],
) -> tuple[Trial, list[Divergence]]:
    """The smallest trial that still fails as the first of ``found`` says, and what was found in it.

    ``play`` says what is found in a trial; ``may_try`` is asked before each, and ends it all.
    """
    tried = {trial}
    while True:
        for smaller in _smaller(trial, found[0]):
            if smaller in tried:
                continue
            if not may_try():
                return trial, found
            tried.add(smaller)
            repeated = with_first(play(smaller), found[0])
            if repeated:
                trial, found = smaller, repeated
                break
        else:
            return trial, found


def _smaller(trial: Trial, first: Divergence) -> Iterator[Trial]:
    """Trials with less in them, beginning with those from which most is missing."""
    if first.ended is not None:
        calls = [place for place, step in enumerate(trial.steps[:-1], start=1) if step.call is not None]
        yield from (dataclasses.replace(trial, steps=trial.steps[:place]) for place in calls)
        return
    if first.step + 1 < len(trial.steps):
        yield dataclasses.replace(trial, steps=trial.steps[: first.step + 1])
    yield from _of_one_model(trial)
    yield from _with_fewer_calls(trial)
    yield from _with_programs(trial, lambda program: _with_fewer_results(program, first.place))
    yield from _with_programs(trial, _with_fewer_statements)
    yield from _with_programs(trial, _with_less_state)
    yield from _with_fewer_arguments(trial)
    yield from _with_plainer_calls(trial)


def _of_one_model(trial: Trial) -> Iterator[Trial]:
    """The model alone that the last step is about."""
    makers = [step for step in trial.steps if step.action in MAKES_LOWERED]
    if trial.steps[-1].call is None or not makers:
        return
    source = number = trial.steps[-1].model
    needed = [number]
    while makers[source].action != "lower":
        source = makers[source].model
        needed.append(source)
    model = makers[source].model
    models = [step for step in trial.steps if step.action == "model"]
    place_of = {old: new for new, old in enumerate(sorted(needed))}
    kept: list[Step] = []
    lowered = iter(range(len(makers)))
    for step in trial.steps:
        if step.action == "model":
            new = 0 if step is models[model] else None
        elif step.action in MAKES_LOWERED:
            is_needed = next(lowered) in place_of
            new = (0 if step.action == "lower" else place_of[step.model]) if is_needed else None
        elif step.action == "weights":
            new = 0 if step.model == model else None
        else:
            new = 0 if step.action == "reset" else place_of.get(step.model)
        if new is not None:
            kept.append(dataclasses.replace(step, model=new))
    yield Trial((trial.programs[models[model].model],), tuple(kept))


def _with_fewer_calls(trial: Trial) -> Iterator[Trial]:
    """Without all that happens ahead of the last step and makes nothing, or without one thing of it."""
    *ahead, last = trial.steps
    kept = [step for step in ahead if step.action in (*MAKES_LOWERED, "model")]
    yield dataclasses.replace(trial, steps=(*kept, last))
    for place in reversed(range(len(ahead))):
        if ahead[place] not in kept:
            yield dataclasses.replace(trial, steps=(*ahead[:place], *ahead[place + 1 :], last))


def _with_programs(trial: Trial, change: Callable[[Program], Iterator[Program]]) -> Iterator[Trial]:
    """With a smaller program. Programs that differ in one number are made smaller alike."""
    for first, *others in zip(*(map(change, trial.programs)), strict=False):
        yield dataclasses.replace(trial, programs=(first, *others))


def _with_fewer_results(program: Program, place: str) -> Iterator[Program]:
    """With one result alone: first the one that is said to be wrong."""
    if any(method.name != FORWARD for method in program.others):
        yield dataclasses.replace(program, others=())
    tree = ast.parse(program.result, mode="eval").body
    if not isinstance(tree, ast.Tuple | ast.List):
        return
    parts = list(dict.fromkeys(map(ast.unparse, tree.elts)))
    wrong = _PLACE.match(place)
    if wrong is not None and int(wrong[1]) < len(tree.elts):
        parts.insert(0, ast.unparse(tree.elts[int(wrong[1])]))
    for part in dict.fromkeys(parts):
        yield dataclasses.replace(program, result=part).without_dead_code()


def _with_fewer_statements(program: Program) -> Iterator[Program]:
    """Up to a statement, with what that makes as the result: from the first one on. And without one that writes."""
    for end, line in enumerate(program.lines[:-1], start=1):
        for name in sorted(made_by(line)):
            yield dataclasses.replace(program, lines=program.lines[:end], result=name).without_dead_code()
    for place, line in enumerate(program.lines):
        if not made_by(line):
            rest = (*program.lines[:place], *program.lines[place + 1 :])
            yield dataclasses.replace(program, lines=rest).without_dead_code()


def _with_less_state(program: Program) -> Iterator[Program]:
    """Without parameters, buffers and submodules that no statement names; and with plainer ones."""
    text = " ".join([line.text for method in program.all_methods for line in method.lines] + [program.result])
    names = set(_STATE_NAME.findall(text))
    names |= {spec.of for name, spec in program.parameters if name in names}
    yield dataclasses.replace(
        program,
        parameters=tuple(each for each in program.parameters if each[0] in names),
        buffers=tuple(each for each in program.buffers if each[0] in names),
        modules=tuple(each for each in program.modules if each[0] in names),
    )
    for kind in ("parameters", "buffers"):
        state: tuple[tuple[str, TensorSpec], ...] = getattr(program, kind)
        for place, (name, spec) in enumerate(state):
            for plain in _plainer(spec) if not spec.of else ():
                changed: dict[str, Any] = {kind: (*state[:place], (name, plain), *state[place + 1 :])}
                yield dataclasses.replace(program, **changed)


def _plainer(spec: TensorSpec) -> Iterator[TensorSpec]:
    if spec.layout != "contiguous":
        yield dataclasses.replace(spec, layout="contiguous")
    if spec.values not in _KEPT:
        yield dataclasses.replace(spec, values="ordinary")


def _with_fewer_arguments(trial: Trial) -> Iterator[Trial]:
    """Without an argument that nothing names."""
    arguments = trial.programs[0].arguments
    if len(arguments) == 1 or any(program.arguments != arguments for program in trial.programs):
        return
    text = "\n".join(program.source() for program in trial.programs)
    for place, (name, _) in reversed(list(enumerate(arguments))):
        if len(re.findall(rf"\b{name}\b", text)) == len(trial.programs):  # in their signatures alone
            fewer = _without(arguments, place)
            programs = tuple(dataclasses.replace(each, arguments=fewer) for each in trial.programs)
            yield dataclasses.replace(
                _with_calls(trial, functools.partial(_without_argument, place=place)), programs=programs
            )


def _without_argument(call: Call, *, place: int) -> Call:
    tied = call.tied
    if tied is not None:
        first, second = (each - (each > place) for each in tied[:2])
        tied = None if place in tied[:2] else (first, second, tied[2])
    return dataclasses.replace(call, arguments=_without(call.arguments, place), tied=tied)


def _without(items: tuple[Item, ...], place: int) -> tuple[Item, ...]:
    return (*items[:place], *items[place + 1 :])


def _with_plainer_calls(trial: Trial) -> Iterator[Trial]:
    """With calls that are like any other: in no mode, and with arguments that are like any other."""
    plain = Call(())
    for name in _OPTIONAL:
        yield _with_calls(trial, functools.partial(dataclasses.replace, **{name: getattr(plain, name)}))
    for mode in _PLAIN_MODES:
        yield _with_calls(trial, functools.partial(_in_mode, mode=mode))
    for place in range(max((len(call.arguments) for call in trial.calls), default=0)):
        for name, value in (("layout", "contiguous"), ("values", "ordinary")):
            yield _with_calls(trial, functools.partial(_with_changed, place=place, name=name, value=value))


def _in_mode(call: Call, *, mode: str) -> Call:
    return call if call.mode in _PLAIN_MODES else dataclasses.replace(call, mode=mode)


def _with_changed(call: Call, *, place: int, name: str, value: Any) -> Call:
    """A call of which the argument in a place has another value on an axis, if it is a tensor."""
    arguments = tuple(
        dataclasses.replace(each, **{name: value}) if number == place and isinstance(each, TensorSpec) else each
        for number, each in enumerate(call.arguments)
    )
    return dataclasses.replace(call, arguments=arguments)


def _with_calls(trial: Trial, change: Callable[[Call], Call]) -> Trial:
    """With every call changed alike."""
    steps = (each if each.call is None else dataclasses.replace(each, call=change(each.call)) for each in trial.steps)
    return dataclasses.replace(trial, steps=tuple(steps))
