"""Steps as code: how each verb is written down. The usual ones are plain calls of PyTorch; the others are copied."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from conformance._util.privacy import without_paths
from conformance.devices import Step
from conformance.devices.protocol import WITHOUT_MODULES
from conformance.standalone.reproducers._scenario import CannotReproduce, Scenario
from conformance.standalone.reproducers.kit import Writers
from conformance.toolchains.declarations import (
    arguments_of,
    declarations_of,
    hints_within,
    is_handle,
    items_of,
    saved_as,
    without_none,
)

#: The verbs of every toolchain.
COMMON = Writers()


def lines_of(scenario: Scenario, step: Step) -> list[str]:
    """The lines of a step."""
    writers = COMMON.by_verb | scenario.kit.writers.by_verb
    return writers.get(step.verb, copied)(scenario, step)


def copied(scenario: Scenario, step: Step) -> list[str]:
    """Any verb: its own function, copied into the script, called with modules for their numbers; what the client
    declares says which arguments these are, and what comes of the answer.

    Raises CannotReproduce for what only the program without Python can do.
    """
    kit, declaration = scenario.kit, declarations_of(scenario.toolchain).get(step.verb)
    if step.verb not in kit.verbs().names():
        raise CannotReproduce(f"scripts are Python, and what was asked ({step.verb}) only a program without it answers")
    if declaration is None:
        raise CannotReproduce(f"the client of {scenario.toolchain} does not declare the verb {step.verb}")
    function = kit.verbs().named(step.verb)
    scenario.collection.add(function.__module__, function.__name__)
    scenario.collection.add(kit.session, "Session", "session")
    defaults = {name: each.default for name, each in inspect.signature(function).parameters.items()}
    hints = arguments_of(declaration)
    arguments = [
        f"{name}={_expression(scenario, step, name, hints.get(name, Any), value, step.arguments)}"
        for name, value in step.arguments.items()
        if value != defaults.get(name, inspect.Parameter.empty)
    ]
    call = f"{step.verb}({', '.join(['session', *arguments])})"
    result = without_none(declaration.hints["return"], step.value)
    if is_handle(result):
        if not step.returned:
            return [call]
        name = scenario.hold(step, step.value, {"embed": "parent", "copy_deeply": "duplicate"}.get(step.verb, "made"))
        return [f"{name} = {call}", *answer(scenario, "0")]
    saved = saved_as(result)
    if saved is not None and step.returned:
        name = scenario.save(step.value, saved.kind or step.arguments["runtime"])
        return [f"store({name!r}, {call})", *answer(scenario, f"fetch({name!r})")]
    return answer(scenario, call) or [call]


def _expression(scenario: Scenario, step: Step, name: str, hint: Any, value: Any, beside: Mapping[str, Any]) -> str:
    """What travelled as an argument with that annotation, ``beside`` others, as an expression."""
    if isinstance(value, dict):
        hints = hints_within(hint, value)
        within = {key: _expression(scenario, step, name, hints[key], item, value) for key, item in value.items()}
        return f"{{{', '.join(f'{key!r}: {item}' for key, item in within.items())}}}"
    hint = without_none(hint, value)
    if isinstance(value, list):
        items = [_expression(scenario, step, name, each, item, beside) for each, item in items_of(hint, value)]
        return f"[{', '.join(items)}]"
    if is_handle(hint):
        held = scenario.held(step, value)
        return held.whole or held.name
    saved = saved_as(hint)
    if saved is not None:
        return f"fetch({scenario.load(value, saved.kind or beside['runtime'])!r})"
    if hint is bytes:  # no value, but bytes that a clause made, such as those of a damaged blob
        return f"fetch({scenario.load(value, 'bytes')!r})"
    if isinstance(value, bytes):
        return f"encode(given({scenario.value(value, name)!r}))"
    return repr(value)


def answer(scenario: Scenario, value: str) -> list[str]:
    """The line that gives a step's answer, where every answer is needed."""
    return [f"this.answer({value})"] if scenario.needs_every_answer else []


@COMMON("register")
def _register(scenario: Scenario, step: Step) -> list[str]:
    return ["load_backend()"] if step.machine.has_backend else ["pass  # no backend is loaded here"]


@COMMON("switch")
def _switch(scenario: Scenario, step: Step) -> list[str]:
    lines = []
    for name, value in public_environment(step.arguments["environment"]).items():
        lines.append(f"os.environ.pop({name!r}, None)" if value is None else f"os.environ[{name!r}] = {value!r}")
    return lines or ["pass"]


@COMMON("forget")
def _forget(scenario: Scenario, step: Step) -> list[str]:
    return _let_go(scenario.let_go(step, step.arguments["module"]))


@COMMON("release")
def _release(scenario: Scenario, step: Step) -> list[str]:
    return _let_go(scenario.let_go(step))


@COMMON("leave")
def _leave(scenario: Scenario, step: Step) -> list[str]:
    return _let_go(scenario.let_go(step))


def _let_go(names: list[str]) -> list[str]:
    return [*([f"del {', '.join(names)}"] if names else []), "gc.collect()"]


def public_environment(environment: dict[str, str | None]) -> dict[str, str | None]:
    """The variables that say nothing of where things lie on this machine."""
    shown = {name: value for name, value in environment.items() if name != WITHOUT_MODULES}
    return {name: value for name, value in shown.items() if without_paths(value) == value}
