"""Steps of ExecuTorch as code: the usual verbs are plain calls of ExecuTorch."""

from __future__ import annotations

from conformance.api.case import case_named
from conformance.compare.values import encode
from conformance.devices import Step
from conformance.standalone.reproducers._scenario import Scenario
from conformance.standalone.reproducers._steps import answer, copied
from conformance.standalone.reproducers.kit import Writers

_AHEAD = "conformance.toolchains.executorch.ahead_of_time"
_RUNNING = "conformance.toolchains.executorch.verbs.running"
_SESSION = "conformance.toolchains.executorch.verbs.session"

WRITERS = Writers()


@WRITERS("register")
def _register(scenario: Scenario, step: Step) -> list[str]:
    if not step.machine.has_backend:
        return ["pass  # no delegate is loaded here"]
    if step.machine.role.startswith("host"):
        return ["pass  # a host has the ahead-of-time half alone"]
    return ["load_backend()"]


@WRITERS("register_again")
def _register_again(scenario: Scenario, step: Step) -> list[str]:
    return ["load_backend()"]


@WRITERS("export")
def _export(scenario: Scenario, step: Step) -> list[str]:
    name, seed = step.arguments["case"], step.arguments["seed"]
    case = case_named(name, "executorch")
    _, samples = case.build(seed)
    given = {method: scenario.value(encode(samples[method][0]), "inputs") for method in case.methods}
    examples = ", ".join(f"{method!r}: given({value!r})" for method, value in given.items())
    scenario.collection.add(_AHEAD, "exported_methods")
    scenario.collection.add(_SESSION, "ExportedCase")
    lines = [
        f"model = {scenario.model(name, seed)}",
        f"case = types.SimpleNamespace(name={name!r}, methods={case.methods!r})",
        f"programs = exported_methods(model, {{{examples}}})",
    ]
    if not step.returned:
        return lines
    held = scenario.hold(step, step.value, "exported", case=name)
    return [*lines, f"{held} = ExportedCase(case, model, programs)", *answer(scenario, "0")]


@WRITERS("lower")
def _lower(scenario: Scenario, step: Step) -> list[str]:
    asked = step.arguments
    if any(asked.get(name) for name in ("by_steps", "left", "beside", "shared")) or not step.machine.has_backend:
        return copied(scenario, step)
    exported = scenario.held(step, asked["exported"]).name
    scenario.collection.add(_AHEAD, "lowered_programs")
    scenario.collection.add(_SESSION, "LoweredModel")
    lines = [
        f"partitioners = {{name: [author().partitioner({exported}.case)] for name in {exported}.programs}}",
        f"manager = lowered_programs({exported}.programs, partitioners)",
    ]
    if not step.returned:
        return lines
    held = scenario.hold(step, step.value, "lowered")
    return [*lines, f"{held} = LoweredModel({exported}, manager)", *answer(scenario, "0")]


@WRITERS("load")
def _load(scenario: Scenario, step: Step) -> list[str]:
    if step.arguments.get("via", "bytes") != "bytes":
        return copied(scenario, step)
    scenario.collection.imports.add("from executorch.runtime import Runtime")
    call = f"Runtime.get().load_program(fetch({scenario.load(step.arguments['program'], 'pte')!r}))"
    if not step.returned:
        return [call]
    return [f"{scenario.hold(step, step.value, 'program')} = {call}", *answer(scenario, "0")]


@WRITERS("load_method")
def _load_method(scenario: Scenario, step: Step) -> list[str]:
    program = scenario.held(step, step.arguments["program"]).name
    call = f"{program}.load_method({step.arguments['name']!r})"
    if not step.returned:
        return [call]
    scenario.collection.add(_SESSION, "LoadedMethod")
    held = scenario.hold(step, step.value, "method")
    return [f"{held} = LoadedMethod({program}, {call})", *answer(scenario, "0")]


@WRITERS("load_unlinked")
def _load_unlinked(scenario: Scenario, step: Step) -> list[str]:
    if not step.returned:
        return copied(scenario, step)
    scenario.collection.add(_RUNNING, "load_unlinked")
    scenario.collection.add(scenario.kit.session, "Session", "session")
    program = f"fetch({scenario.load(step.arguments['program'], 'pte')!r})"
    held = [scenario.hold(step, number, "method") for number in step.value]
    call = f"load_unlinked(session, {program}, {step.arguments['methods']!r})"
    return [f"[{', '.join(held)}] = {call}", *answer(scenario, repr([0] * len(held)))]


@WRITERS("run")
def _run(scenario: Scenario, step: Step) -> list[str]:
    method = scenario.held(step, step.arguments["method"]).name
    scenario.collection.imports.add("from torch.utils import _pytree as pytree")
    inputs = f"pytree.tree_leaves(given({scenario.value(step.arguments['inputs'], 'inputs')!r}))"
    line = f"this.answer(list({method}.method.execute({inputs})))"
    repeat = step.arguments.get("repeat", 1)
    return [line] if repeat == 1 else [f"for _ in range({repeat}):", f"    {line}"]


@WRITERS("forget")
def _forget(scenario: Scenario, step: Step) -> list[str]:
    gone = scenario.let_go(step, step.arguments["thing"])
    return [*([f"del {', '.join(gone)}"] if gone else []), "gc.collect()"]
