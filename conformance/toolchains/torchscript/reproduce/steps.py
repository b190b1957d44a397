"""Steps of TorchScript as code: the usual verbs are plain calls of PyTorch."""

from __future__ import annotations

from conformance.api.case import case_named
from conformance.devices import Step
from conformance.standalone.reproducers._scenario import CannotReproduce, Scenario, is_identifier
from conformance.standalone.reproducers._steps import answer, copied
from conformance.standalone.reproducers.kit import Writers

_COMPOSE = "conformance.toolchains.torchscript.verbs.composition"

WRITERS = Writers()


@WRITERS("script")
def _script(scenario: Scenario, step: Step) -> list[str]:
    case = step.arguments["case"]
    call = f"torch.jit.script({scenario.model(case, step.arguments['seed'])})"
    if case_named(case, "torchscript").frozen:
        call = f"torch.jit.freeze({call})"
    if not step.returned:
        return [call]
    return [f"{scenario.hold(step, step.value, 'scripted', case=case)} = {call}", *answer(scenario, "0")]


@WRITERS("lower")
def _lower(scenario: Scenario, step: Step) -> list[str]:
    original = scenario.held(step, step.arguments["module"])
    given = step.arguments.get("spec")
    spec = scenario.spec(original.case) if given is None else scenario.literal(given, "spec")
    call = scenario.lowering(original.name, spec)
    if not step.returned:
        return [call]
    return [f"{scenario.hold(step, step.value, 'lowered', case=original.case)} = {call}", *answer(scenario, "0")]


@WRITERS("lower_badly")
def _lower_badly(scenario: Scenario, step: Step) -> list[str]:
    original = scenario.held(step, step.arguments["module"])
    spec, module = f"{scenario.spec(original.case)}", original.name
    match step.arguments["fault"]:
        case "unknown method":
            spec = f"(lambda spec: {{**spec, 'no_such_method': next(iter(spec.values()))}})({spec})"
        case "empty spec":
            spec = "{}"
        case "key that is no string":
            spec = f"{{7: next(iter({spec}.values()))}}"
        case "module that is not scripted":
            module = scenario.model(original.case, 0)
        case fault:
            raise CannotReproduce(f"no script can be written for lowering with the fault {fault!r}")
    return [scenario.lowering(module, spec)]


@WRITERS("lower_unregistered")
def _lower_unregistered(scenario: Scenario, step: Step) -> list[str]:
    original = scenario.held(step, step.arguments["module"])
    return [f"torch._C._jit_to_backend({step.arguments['name']!r}, {original.name}, {{'forward': ''}})"]


@WRITERS("lower_selectively")
def _lower_selectively(scenario: Scenario, step: Step) -> list[str]:
    scenario.collection.add(_COMPOSE, "Couple")
    cases, names = step.arguments["cases"], step.arguments["names"]
    models = [scenario.model(case, seed) for case, seed in zip(cases, step.arguments["seeds"], strict=True)]
    specs = {case_named(case, "torchscript").module_class.__name__: scenario.spec(case) for case in cases}
    written = ", ".join(f"{name!r}: {spec}" for name, spec in specs.items())
    subject = "torch.jit.script(parent)" if step.arguments["scripted"] else "parent"
    lines = [
        f"parent = Couple({', '.join(models)}).eval()",
        f"specs = {{{written}}}",
        f"to_backend = lambda module: {scenario.lowering('module', 'specs[module.original_name]')}",
        "original = torch.jit.script(parent)",
    ]
    call = f"torch._C._jit_to_backend_selective({subject}, to_backend, {names!r})"
    if not step.returned:
        return [*lines, call]
    plain, lowered = (
        scenario.hold(step, number, kind) for number, kind in zip(step.value, ("plain", "lowered"), strict=True)
    )
    return [*lines, f"{plain}, {lowered} = original, {call}", *answer(scenario, "(0, 0)")]


@WRITERS("save")
def _save(scenario: Scenario, step: Step) -> list[str]:
    module = scenario.held(step, step.arguments["module"]).name
    runtime, via = step.arguments["runtime"], step.arguments.get("via", "buffer")
    files = step.arguments.get("extra_files") or {}
    written = f", _extra_files={files!r}" if files else ""
    before: list[str] = []
    match runtime, via:
        case "lite", "file":
            before = [f"{module}._save_for_lite_interpreter(str(FOLDER / 'saved'), {files!r}, True)"]
            data = "(FOLDER / 'saved').read_bytes()"
        case "lite", _:
            data = f"{module}._save_to_buffer_for_lite_interpreter({files!r}, True)"
        case _, "file":
            before = [f"torch.jit.save({module}, str(FOLDER / 'saved'){written})"]
            data = "(FOLDER / 'saved').read_bytes()"
        case _, "bytes":
            data = f"bytes({module}.save_to_buffer({f'_extra_files={files!r}' if files else ''}))"
        case _:
            before = ["buffer = io.BytesIO()", f"torch.jit.save({module}, buffer{written})"]
            data = "buffer.getvalue()"
    return [*before, *_stored(scenario, step, data, runtime)]


@WRITERS("save_inner")
def _save_inner(scenario: Scenario, step: Step) -> list[str]:
    module = scenario.held(step, step.arguments["module"]).name
    data = f"getattr({module}, '__loweredModule__', {module}).save_to_buffer()"
    return _stored(scenario, step, data, "full")


def _stored(scenario: Scenario, step: Step, data: str, runtime: str) -> list[str]:
    if not step.returned:
        return [data]
    name = scenario.save(step.value, runtime)
    return [f"store({name!r}, {data})", *answer(scenario, f"fetch({name!r})")]


@WRITERS("load")
def _load(scenario: Scenario, step: Step) -> list[str]:
    runtime = step.arguments["runtime"]
    artifact = scenario.load(step.arguments["artifact"], runtime)
    wanted = dict.fromkeys(step.arguments.get("extra_files") or (), "")
    source = f"path_of({artifact!r})" if step.arguments.get("via") == "file" else f"io.BytesIO(fetch({artifact!r}))"
    before = [f"texts = {wanted!r}"] if wanted else []
    if runtime == "lite":
        scenario.collection.imports.add("from torch.jit.mobile import _load_for_lite_interpreter")
        call = f"_load_for_lite_interpreter({source})"
    else:
        call = f"torch.jit.load({source}{', _extra_files=texts' if wanted else ''})"
    if not step.returned:
        return [*before, call]
    texts = "{name: text.decode() for name, text in texts.items()}" if wanted else "{}"
    name = scenario.hold(step, step.value[0], "loaded", runtime=runtime)
    return [*before, f"{name} = {call}", *answer(scenario, f"(0, {texts})")]


@WRITERS("run")
def _run(scenario: Scenario, step: Step) -> list[str]:
    module, method = scenario.held(step, step.arguments["module"]), step.arguments["method"]
    inputs = f"*given({scenario.value(step.arguments['inputs'], 'inputs')!r})"
    if module.runtime == "lite":
        call = f"{module.name}.run_method({method!r}, {inputs})"
    elif is_identifier(method):
        call = f"{module.name}.{method}({inputs})"
    else:
        call = f"getattr({module.name}, {method!r})({inputs})"
    repeat = step.arguments.get("repeat", 1)
    if repeat == 1:
        return [f"this.answer({call})"]
    return [f"for _ in range({repeat}):", f"    this.answer({call})"]


@WRITERS("disturb")
def _disturb(scenario: Scenario, step: Step) -> list[str]:
    module = scenario.held(step, step.arguments["module"]).name
    return [
        "with torch.no_grad():",
        f"    for tensor in (*{module}.parameters(), *{module}.buffers()):",
        "        tensor.mul_(-3.0).add_(1.0)",
    ]


@WRITERS("register_again")
def _register_again(scenario: Scenario, step: Step) -> list[str]:
    return ["load_backend()"]


@WRITERS("load_copy_of_libraries")
def _load_copy_of_libraries(scenario: Scenario, step: Step) -> list[str]:
    scenario.collection.imports.add("import shutil")
    return [
        "libraries = os.environ['REPRODUCER_LIBRARIES'].split(os.pathsep)",
        "for library in libraries:",
        "    copy = FOLDER / f'again_{Path(library).name}'",
        "    shutil.copyfile(library, copy)",
        "    torch.ops.load_library(str(copy))",
        *answer(scenario, "len(libraries)"),
    ]


@WRITERS("claims_directly")
def _claims_directly(scenario: Scenario, step: Step) -> list[str]:
    return ["this.answer(bool(getattr(torch.classes.__backends__, BACKEND)().is_available()))"]


@WRITERS("given_spec")
def _given_spec(scenario: Scenario, step: Step) -> list[str]:
    case = scenario.held(step, step.arguments["module"]).case
    return answer(scenario, f"encode({scenario.spec(case)})") or ["pass"]


@WRITERS("preprocess_count")
def _preprocess_count(scenario: Scenario, step: Step) -> list[str]:
    if step.returned and step.value is None:
        return answer(scenario, "None") or ["pass"]
    scenario.needs_author = True
    return ["this.answer(author().preprocess_count())"]


@WRITERS("received_spec")
def _received_spec(scenario: Scenario, step: Step) -> list[str]:
    if step.returned and step.value is None:
        return answer(scenario, "None") or ["pass"]
    scenario.needs_author = True
    return copied(scenario, step)
