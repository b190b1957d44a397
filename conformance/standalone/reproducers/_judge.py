"""How a script tells that the failure is there again: one of three endings.

1. The last step breaks: it raises, or its process dies, hangs, floods. The script compares with what was recorded.
2. What a step gives differs: the script compares with ``torch.testing.assert_close``.
3. Anything else that a clause found: the clause itself is copied, and held against what the steps answer; too
   where a step loads an artifact that the clause has altered, since such a one may be refused.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

from conformance.api.availability import Availability
from conformance.api.case import Call
from conformance.api.errors import (
    DeviceCutShort,
    DeviceDied,
    DeviceEnded,
    DeviceFlooded,
    DeviceGarbled,
    DeviceTampered,
    DeviceTimeout,
    LeftBehind,
    SubjectError,
)
from conformance.compare.comparison import Difference
from conformance.compare.values import decode, encode
from conformance.devices import Step
from conformance.discovery.describing import Description
from conformance.run.plan import Cell
from conformance.standalone.reproducers._main import CUT_SHORT, LEFT_A_PROCESS, MALFORMED, NO_ANSWER, gist
from conformance.standalone.reproducers._scenario import CannotReproduce, Scenario
from conformance.standalone.supervisor import how_it_ended
from conformance.toolchains import case_named, toolchain_named


@dataclasses.dataclass(frozen=True)
class FailingCell:
    """What is known of a failing cell."""

    cell: Cell
    failure: BaseException
    steps: Sequence[Step]
    description: Description
    seed: int
    #: The clause's function and the names of its parameters.
    function: Callable[..., None]
    parameters: tuple[str, ...]
    calls: Callable[[str], tuple[Call, ...]]


def breaks(failing: FailingCell) -> str | None:
    """What the last step came to, in the words of a script; None if it is not what made the cell fail.

    Raises CannotReproduce where no script can come to it.
    """
    failure, last = failing.failure, failing.steps[-1]
    match failure:
        case SubjectError():
            if last.raised is None or last.raised["text"] != failure.text:
                return None
            return f"raised {failure.type}: {gist(failure.text)}"
        case LeftBehind():
            return LEFT_A_PROCESS
        case DeviceEnded() if last.returned or last.raised:
            return None
        case DeviceTampered():
            raise CannotReproduce(
                "what the backend replaced is the harness's, or what that calls: a script runs neither"
            )
        case DeviceCutShort():
            return CUT_SHORT
        case DeviceDied():
            return how_it_ended(failure.status)
        case DeviceTimeout():
            return NO_ANSWER
        case DeviceFlooded():
            return f"wrote more than {failure.limit >> 20} MiB"
        case DeviceGarbled():
            return MALFORMED
        case _:
            return None


def differs(failing: FailingCell, scenario: Scenario) -> str:
    """A judge for a value that differs from the expected one; empty if the failure is no such difference."""
    failure = failing.failure
    if not isinstance(failure, Difference):
        return ""
    found = _step_of(failure.actual, failing.steps)
    if found is None:
        return ""
    tolerances = {} if failure.exact else failing.description.tolerances
    options = _options(failure, tolerances)
    if options is None:
        return ""
    expected, source = _expected(failure, failing, scenario, found)
    what = f"answer {found[1] + 1} of step {found[0]}" if found[1] else f"step {found[0]}"
    written = ", ".join(f"{name}={value!r}" for name, value in options.items())
    return "\n".join(
        [
            "def judge(steps: Any) -> None:",
            f'    """What {what} gives is not {source}."""',
            f"    found = answer_of(steps, {found[0]}, {found[1]})",
            f"    torch.testing.assert_close(found, {expected}, {written})",
        ]
    )


def _expected(failure: Difference, failing: FailingCell, scenario: Scenario, found: tuple[int, int]) -> tuple[str, str]:
    data = encode(failure.expected)
    if failing.cell.case and any(encode(call.expected) == data for call in failing.calls(failing.cell.case)):
        return f"given({scenario.value(data, 'expected')!r})", "what eager PyTorch gives"
    origin = _step_of(failure.expected, failing.steps, before=found)
    if origin is not None:
        return f"answer_of(steps, {origin[0]}, {origin[1]})", f"what step {origin[0]} gives"
    return f"given({scenario.value(data, 'expected')!r})", "what was expected"


def _options(failure: Difference, tolerances: Any) -> dict[str, Any] | None:
    """Arguments with which torch.testing.assert_close sees the difference too; None if it does not."""
    from conformance.compare.comparison import DEFAULT_TOLERANCES

    options: dict[str, Any] = {"rtol": 0.0, "atol": 0.0, "equal_nan": True}
    if not failure.exact and isinstance(failure.expected, torch.Tensor):
        dtype = str(failure.expected.dtype).removeprefix("torch.")
        options["rtol"], options["atol"] = {**DEFAULT_TOLERANCES, **tolerances}.get(dtype, (0.0, 0.0))
    elif not failure.exact:
        if tolerances:
            return None
        options = {"equal_nan": True}  # torch has the same defaults
    try:
        torch.testing.assert_close(failure.actual, failure.expected, **options)
    except AssertionError:
        return options
    except Exception:
        return None  # values that it does not compare
    return None


def _step_of(value: Any, steps: Sequence[Step], before: tuple[int, int] | None = None) -> tuple[int, int] | None:
    """The number of the last step that gave a value, and the answer's place among those of the step; of the steps
    ``before`` such a place, where that is given, and of those in which no backend is."""
    data = encode(value)
    for number, step in reversed(list(enumerate(steps, start=1))):
        if step.verb != "run" or not step.returned:
            continue
        for index, answer in reversed(list(enumerate(step.value))):
            allowed = before is None or (number, index) < before or not step.machine.has_backend
            if allowed and encode(_result_of(answer)) == data:
                return number, index
    return None


def _result_of(answer: Any) -> Any:
    """What a call returned, from what the verb tells of it."""
    return decode(answer["result"])[0] if isinstance(answer, dict) else decode(answer)


@dataclasses.dataclass(frozen=True)
class Judgement:
    """The function ``judge`` of a script (empty: the script needs none), and what support has for it."""

    text: str
    support: tuple[str, ...] = ()


def by_clause(failing: FailingCell, scenario: Scenario) -> Judgement:
    """A judge that holds the clause against what the steps answer.

    Raises CannotReproduce for a clause with fixtures of its own.
    """
    function, cell = failing.function, failing.cell
    collection = scenario.collection
    collection.add(function.__module__, function.__name__)
    collection.add_all("conformance.standalone.reproducers._replay")
    kit = scenario.kit
    client = toolchain_named(cell.clause.toolchain).client.split(":")
    collection.add(*client)
    collection.add("conformance.toolchains.client", "PreparedCase")
    collection.add("conformance.compare.comparison", "comparing")
    device = f"{client[1]}(replay, {cell.runtime!r})"
    parts = {
        "host": device,
        "target": device,
        "bare": device,
        "case": f"prepared({cell.case!r})",
        "other_case": "prepared",
        "other_cases": "taken",
        "backend": "described",
        "record": "Record()",
        "bench": _bench(cell, device, scenario),
        "context": _bench(cell, device, scenario),
    }
    unknown = [name for name in failing.parameters if name not in parts]
    if unknown:
        raise CannotReproduce(f"the clause asks for {unknown}, which only the run has")
    if "record" in failing.parameters:
        collection.add("conformance.run.result", "Record")
    if cell.case:
        collection.add("conformance.api.case", "Call")
    given = ",\n            ".join(f"{name}={parts[name]}" for name in failing.parameters)
    support = [
        *_prepared(failing, scenario),
        *([f"described = {_backend(failing.description)}", "", ""] if "backend" in failing.parameters else []),
        *_names_of_types(failing.parameters),
        *_features(function),
    ]
    code = [
        "def judge(steps: Any) -> None:",
        '    """Holds the clause, as torch-conformance states it, against what the steps answer."""',
        f"    replay = Replay(steps{f', {kit.encoded!r}' if kit.encoded else ''})",
        f"    with comparing({dict(failing.description.tolerances)!r}):",
        f"        replay.judge(lambda: {function.__name__}(",
        f"            {given},",
        "        ))",
    ]
    collection.mention("\n".join([*support, *code]))
    return Judgement("\n".join(code), ("\n".join(support).strip("\n"),))


def _sample(call: Call, scenario: Scenario) -> tuple[Any, ...]:
    """A sample call: its method, and the names of its inputs and of what is expected; with effects, those as well."""
    inputs = scenario.value(encode(call.inputs), "inputs")
    if call.effects is None:
        return call.method, inputs, scenario.value(encode(call.expected), "expected")
    seen = encode(call.effects.values)  # together, so that shared memory shows
    return call.method, inputs, scenario.value(seen, "seen"), call.effects.others


def _backend(description: Description) -> str:
    missing = description.missing_features
    return (
        f"types.SimpleNamespace(name=BACKEND, missing_features={missing!r}, options={description.options!r}, "
        f"has=lambda feature: feature.name not in {sorted(missing)!r}, "
        f"files={list(description.files)!r}, lost={dict.fromkeys(description.lost or (), '') or None!r}, "
        "environment=lambda state: {}, source=types.SimpleNamespace(distribution=DISTRIBUTION))"
    )


def _bench(cell: Cell, device: str, scenario: Scenario) -> str:
    scenario.collection.add("conformance.api.availability", "Availability")
    state: Callable[[Availability | None], str] = lambda each: f"Availability({each.value!r})" if each else "None"  # noqa: E731
    return (
        f"types.SimpleNamespace(cell=types.SimpleNamespace(host={state(cell.host)}, target={state(cell.target)}), "
        f"host={device}, target={device}, bare={device}, device=lambda role, state, without=(): {device})"
    )


def _names_of_types(parameters: tuple[str, ...]) -> list[str]:
    """Code for the names by which a clause and its helpers annotate what a script has only a likeness of."""
    types_of = {"backend": "Description", "bench": "CellContext", "context": "CellContext"}
    names = dict.fromkeys(types_of[name] for name in parameters if name in types_of)
    return [f"{' = '.join(names)} = types.SimpleNamespace", "", ""] if names else []


def _features(function: Callable[..., None]) -> list[str]:
    """Code for the features that a clause, or a helper in its module, asks about, as attributes of ``features``."""
    module = ast.parse(inspect.getsource(sys.modules[function.__module__]))
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    meant = [each for each in functions if each.name == function.__name__ or not each.decorator_list]
    inside = (node for each in meant for statement in each.body for node in ast.walk(statement))
    attributes = (node for node in inside if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name))
    asked = sorted({node.attr for node in attributes if ast.unparse(node.value) == "features"})
    if not asked:
        return []
    written = ", ".join(f"{name}=types.SimpleNamespace(name={name!r})" for name in asked)
    return [f"features = types.SimpleNamespace({written})", "", ""]


def _prepared(failing: FailingCell, scenario: Scenario) -> list[str]:
    """Code for the cases that the clause may ask for."""
    toolchain = failing.cell.clause.toolchain
    names = [failing.cell.case, *(step.arguments["case"] for step in failing.steps if step.verb == scenario.kit.builds)]
    lines = [
        "#: Case → its methods, and for each sample call the method, its inputs and what is expected.",
        "CASES = {",
    ]
    features = []
    for name in dict.fromkeys(filter(None, names)):
        case = case_named(name, toolchain)
        calls = [_sample(call, scenario) for call in failing.calls(name)]
        lines.append(f"    {name!r}: ({case.methods!r}, {calls!r}),")
        known = sorted((each.name, each.shows_at, each in case.touches) for each in case.features)
        features.append(f"    {name!r}: {known!r},")
    observation = scenario.kit.observation
    if observation is not None:
        scenario.collection.add(*observation)
    return [
        *lines,
        "}",
        "#: Case → the features that it needs, where it shows that one is missing, and whether it only touches it.",
        "FEATURES = {",
        *features,
        "}",
        "",
        "",
        "def prepared(name: str) -> PreparedCase:",
        '    """A case with its sample calls. Who asks for these of a case that is not here gets past the failure."""',
        "    methods = CASES[name][0] if name in CASES else ()",
        f"    return PreparedCase(name, {failing.seed}, methods, lambda: calls_of(name))",
        "",
        "",
        "def taken(*names: str) -> tuple[PreparedCase, ...]:",
        '    """Those of the cases that the clause got to."""',
        "    return tuple(prepared(name) for name in names if name in CASES)",
        "",
        "",
        "def calls_of(name: str) -> tuple[Call, ...]:",
        '    """The sample calls of a case."""',
        "    if name not in CASES:",
        "        raise NotReproduced('the clause gets past the place where it failed')",
        "    calls = CASES[name][1]",
        "    return tuple(",
        *(
            [
                "        Call(method, given(inputs), seen.result, seen)",
                "        for method, inputs, seen in (",
                "            (method, inputs, Observation(*given(seen), *others))",
                "            for method, inputs, seen, others in calls",
                "        )",
            ]
            if observation is not None
            else ["        Call(method, given(inputs), given(expected)) for method, inputs, expected in calls"]
        ),
        "    )",
        "",
        "",
        "def case_named(name: str, toolchain: str = '') -> Any:",
        '    """What is known of a case."""',
        "    features, touches = [], []",
        "    for each, where, touched in FEATURES[name]:",
        "        features.append(types.SimpleNamespace(name=each, shows_at=where))",
        "        touches += features[-1:] if touched else []",
        "    return types.SimpleNamespace(features=features, touches=touches)",
        "",
        "",
    ]
