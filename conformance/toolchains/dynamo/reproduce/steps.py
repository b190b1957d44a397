"""Steps of torch.compile as code."""

from __future__ import annotations

from conformance.devices import Step
from conformance.standalone.reproducers._scenario import Held, Scenario
from conformance.standalone.reproducers._steps import answer, copied
from conformance.standalone.reproducers.kit import Writers

_OBSERVE = "conformance.toolchains.dynamo.verbs.observing"
WRITERS = Writers()
#: A name for what PyTorch runs where no backend is.
_CONTROL = "eager"


@WRITERS("build")
def _build(scenario: Scenario, step: Step) -> list[str]:
    call = scenario.model(step.arguments["case"], step.arguments["seed"])
    return _model(scenario, step, call)


def _model(scenario: Scenario, step: Step, call: str) -> list[str]:
    """A model that is not compiled."""
    if not step.returned:
        return [call]
    name = scenario.variable(step, "model")
    _keep(scenario, step, name, name)
    return [f"{name} = {call}"]


def _keep(scenario: Scenario, step: Step, module: str, function: str, watch: str = "") -> None:
    scenario.collection.add("conformance.toolchains.dynamo.reproduce.session", "Called")
    whole = f"Called({', '.join(filter(None, (module, function, watch)))})"
    others = (watch,) if watch else ()
    scenario.keep(step, step.value, Held(function, whole=whole, others=others, module=module, watch=watch))


@WRITERS("compile")
def _compile(scenario: Scenario, step: Step) -> list[str]:
    dynamic = step.arguments.get("dynamic")
    written = "" if dynamic is None else f", dynamic={dynamic}"
    if not step.machine.has_backend:
        return _compiled(scenario, step, repr(_CONTROL), "None", "None", written)
    return _compiled(scenario, step, "BACKEND", *_own(scenario), written, step.arguments.get("by_name", False))


@WRITERS("compile_with")
def _compile_with(scenario: Scenario, step: Step) -> list[str]:
    backend = "BACKEND" if step.machine.has_backend else repr(_CONTROL)
    return _compiled(scenario, step, backend, repr(step.arguments["options"]), repr(step.arguments["mode"]), "")


def _own(scenario: Scenario) -> tuple[str, str]:
    """The options and the mode that the author gives, as expressions."""
    return (
        "OPTIONS" if scenario.backend.reproduction.options else "None",
        "MODE" if scenario.backend.reproduction.mode else "None",
    )


def _compiled(
    scenario: Scenario, step: Step, backend: str, options: str, mode: str, dynamic: str, by_name: bool = False
) -> list[str]:
    module = scenario.held(step, step.arguments["model"]).module
    if by_name or not scenario.watched:
        given = [f", {name}={value}" for name, value in (("mode", mode), ("options", options)) if value != "None"]
        before, call = [], f"torch.compile({module}, backend={backend}{''.join(given)}{dynamic})"
        watch = ""
    else:
        scenario.collection.add("conformance.toolchains.dynamo.verbs.watch", "watching")
        watch = scenario.variable(step, "watch")
        before = [f"{watch} = watching({backend}, {options}, {mode})"]
        call = f"torch.compile({module}, backend={watch}{dynamic})"
    if not step.returned:
        return [*before, call]
    name = scenario.variable(step, "compiled")
    _keep(scenario, step, module, name, watch)
    return [*before, f"{name} = {call}"]


@WRITERS("lower")
def _lower(scenario: Scenario, step: Step) -> list[str]:
    held = scenario.held(step, step.arguments["model"])
    call = f"{held.name}({_arguments(scenario, step)})"
    return [f"with {held.watch}.only_lowering():  # up to the first call of compiled code", f"    {call}"]


@WRITERS("run")
def _run(scenario: Scenario, step: Step) -> list[str]:
    held = scenario.held(step, step.arguments["model"])
    repeat, stance = step.arguments.get("repeat", 1), step.arguments.get("stance", "default")
    guard = step.arguments.get("guard", "none")
    if scenario.needs_every_answer:
        scenario.collection.add(_OBSERVE, "observe")
        given = [
            f"{held.name}, {held.module}, encode(given({scenario.value(step.arguments['inputs'], 'inputs')!r}))",
            *_how(step),
            *([f"guard={guard!r}"] if guard != "none" else []),
            *(["differentiable=True"] if step.arguments.get("differentiable") else []),
        ]
        often = f" for _ in range({repeat})" if repeat != 1 else ""
        lines = [f"this.answer([observe({', '.join(given)}){often}])"]
    else:
        lines = [f"this.answer({held.name}({_arguments(scenario, step)}))"]
        if guard != "none":
            scenario.collection.add(_OBSERVE, "CONTEXTS")
            lines = [f"with CONTEXTS[{guard!r}]():", f"    {lines[0]}"]
        if repeat != 1:
            lines = [f"for _ in range({repeat}):", *(f"    {line}" for line in lines)]
    if stance != "default":
        lines = [f"with torch.compiler.set_stance({stance!r}):", *(f"    {line}" for line in lines)]
    return lines


def _arguments(scenario: Scenario, step: Step) -> str:
    """The arguments of a call, as an expression."""
    given = f"given({scenario.value(step.arguments['inputs'], 'inputs')!r})"
    if step.arguments.get("differentiable"):
        scenario.collection.add(_OBSERVE, "requiring_grad_where_possible")
        given = f"requiring_grad_where_possible({given})"
    how = _how(step)
    if not how:
        return f"*{given}"
    scenario.collection.add(_OBSERVE, "arrange")
    return f"*arrange({', '.join([given, *how])})"


def _how(step: Step) -> list[str]:
    """How a call's arguments are arranged and marked, as arguments; none where they are taken as they are."""
    arranged, marks = step.arguments.get("arranged", ""), step.arguments.get("marks", ())
    return [repr(arranged), repr(marks)] if arranged or marks else []


@WRITERS("configure")
def _configure(scenario: Scenario, step: Step) -> list[str]:
    return [f"torch._dynamo.config.{name} = {value!r}" for name, value in step.arguments.items()]


@WRITERS("reset")
def _reset(scenario: Scenario, step: Step) -> list[str]:
    return ["torch._dynamo.reset()"]


@WRITERS("forget")
def _forget(scenario: Scenario, step: Step) -> list[str]:
    return [f"del {', '.join(scenario.let_go(step, step.arguments['model']))}", "gc.collect()"]


@WRITERS("counts")
def _counts(scenario: Scenario, step: Step) -> list[str]:
    if scenario.needs_every_answer:
        return copied(scenario, step)
    return ["pass  # here the clause looked at what was counted"]


# What one process reads that another has written.


@WRITERS("load_exported")
def _load_exported(scenario: Scenario, step: Step) -> list[str]:
    artifact = scenario.load(step.arguments["program"], "program")
    known = f"{scenario.model(step.arguments['case'], 0)}  # what the model registers is there before"
    return [known, *_model(scenario, step, f"torch.export.load(io.BytesIO(fetch({artifact!r}))).module()")]


@WRITERS("load_package")
def _load_package(scenario: Scenario, step: Step) -> list[str]:
    artifact = scenario.load(step.arguments["package"], "package")
    scenario.collection.add("conformance.toolchains.dynamo.verbs.inspection", "compiler_at_work")
    call = f"torch.compiler.load_compiled_function(io.BytesIO(fetch({artifact!r})))"
    if not step.returned:
        return [call]
    name = scenario.variable(step, "package")
    scenario.keep(step, step.value[0], Held(name))
    return ["with compiler_at_work() as seen:", f"    {name} = {call}", *answer(scenario, "(0, seen)")]
