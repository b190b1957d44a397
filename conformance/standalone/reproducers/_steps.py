"""Steps as code: how each verb is written down. The usual ones are plain calls of PyTorch; the others are copied."""

from __future__ import annotations

import inspect
from typing import Any

from conformance._util.privacy import without_paths
from conformance.devices import Step
from conformance.devices.protocol import WITHOUT_MODULES
from conformance.standalone.reproducers._scenario import CannotReproduce, Scenario
from conformance.standalone.reproducers.kit import Writers

#: The verbs of every toolchain.
COMMON = Writers()
#: Parameters of verbs that are numbers of modules, or lists of them.
MODULES = frozenset({"module", "lowered", "original", "children", "modules", "model"})
#: Parameters of verbs that are numbers of other things.
NUMBERS = frozenset({"seed", "seeds", "count", "repeat", "threads", "rounds", "often"})


def lines_of(scenario: Scenario, step: Step) -> list[str]:
    """The lines of a step."""
    writers = COMMON.by_verb | scenario.kit.writers.by_verb
    return writers.get(step.verb, copied)(scenario, step)


def copied(scenario: Scenario, step: Step) -> list[str]:
    """Any verb: its own function, copied into the script, called with modules for their numbers.

    Raises CannotReproduce for what only the program without Python can do.
    """
    kit = scenario.kit
    if step.verb not in kit.verbs().names():
        raise CannotReproduce(f"scripts are Python, and what was asked ({step.verb}) only a program without it answers")
    function = kit.verbs().named(step.verb)
    scenario.collection.add(function.__module__, function.__name__)
    scenario.collection.add(kit.session, "Session", "session")
    defaults = {name: each.default for name, each in inspect.signature(function).parameters.items()}
    arguments = [
        f"{name}={_argument(scenario, step, name, value)}"
        for name, value in step.arguments.items()
        if value is not None or defaults[name] is not None
    ]
    call = f"{step.verb}({', '.join(['session', *arguments])})"
    if "session.keep(" in inspect.getsource(function):
        if not step.returned:
            return [call]
        name = scenario.hold(step, step.value, {"embed": "parent", "copy_deeply": "duplicate"}.get(step.verb, "made"))
        return [f"{name} = {call}", *told(scenario, "0")]
    return [f"this.answer({call})"] if scenario.tells_all else [call]


def _argument(scenario: Scenario, step: Step, name: str, value: Any) -> str:
    if name in MODULES:
        if isinstance(value, list):
            return f"[{', '.join(scenario.held(step, number).name for number in value)}]"
        held = scenario.held(step, value)
        return held.whole or held.name
    if name == "artifact":
        return _fetched(scenario, value, step.arguments)
    return _expression(scenario, name, value)


def _expression(scenario: Scenario, name: str, value: Any) -> str:
    if isinstance(value, bytes):
        return f"encode(given({scenario.value(value, name)!r}))"
    if isinstance(value, list):
        return f"[{', '.join(_expression(scenario, name, item) for item in value)}]"
    if isinstance(value, dict):
        items = {
            key: _fetched(scenario, item, value) if key == "artifact" else _expression(scenario, name, item)
            for key, item in value.items()
        }
        return f"{{{', '.join(f'{key!r}: {item}' for key, item in items.items())}}}"
    return repr(value)


def _fetched(scenario: Scenario, artifact: bytes, arguments: dict[str, Any]) -> str:
    return f"fetch({scenario.load(artifact, arguments.get('runtime', 'lite'))!r})"


def told(scenario: Scenario, value: str) -> list[str]:
    """The answer, where every answer is needed."""
    return [f"this.answer({value})"] if scenario.tells_all else []


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
