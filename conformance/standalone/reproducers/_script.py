"""A script from top to bottom: what failed, the model, the steps, the judgement, and what they need."""

from __future__ import annotations

import ast
import base64
import dataclasses
import functools
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator
from typing import Any

import torch

from conformance._util.privacy import without_paths
from conformance.api.verdicts import Outcome
from conformance.devices import Limits, Step
from conformance.devices.protocol import WITHOUT_MODULES
from conformance.report.reproducer_folder import MARK
from conformance.standalone.reproducers import _main, _process, _replay
from conformance.standalone.reproducers._judge import FailingCell, breaks, by_clause, differs
from conformance.standalone.reproducers._scenario import (
    CannotReproduce,
    ReproducedBackend,
    Scenario,
    name_of,
    process_order,
)
from conformance.standalone.reproducers._sources import Collection
from conformance.standalone.reproducers._steps import lines_of, public_environment
from conformance.standalone.reproducers.kit import kit_of
from conformance.toolchains import toolchain_named

#: Modules of which every script has all, and others that these need.
_PROCESS, _MAIN = _process.__name__, _main.__name__
_COMMON = (
    _PROCESS,
    _MAIN,
    "conformance.standalone.supervisor",
    "conformance._util.privacy",
    "conformance._util.processes",
    "conformance.compare.values",
    "conformance.devices.protocol",
)
_PROVIDED = {*_process.PROVIDED, *_replay.PROVIDED, "case_named", "features"}
#: Stands before the first import that can fail.
GUARD = '''
def cannot_be_tried(kind: Any, error: BaseException, trace: Any) -> None:
    """Python's own exit code for an error is that of a failure which is there; an import that fails shows none."""
    traceback.print_exception(error)
    os._exit(2)


sys.excepthook = cannot_be_tried
'''
#: Larger ones are not written: nobody attaches them to an issue.
_MOST_BYTES = 64 * 2**20


@dataclasses.dataclass(frozen=True)
class Reproducer:
    """A folder with a script and what it needs: file name → content."""

    name: str
    files: dict[str, bytes]

    def as_message(self) -> dict[str, Any]:
        """The folder in values that JSON knows."""
        return {
            "name": self.name,
            "files": {name: base64.b64encode(data).decode() for name, data in self.files.items()},
        }


def reproducer(failing: FailingCell, outcome: Outcome, backend: ReproducedBackend, limits: Limits) -> Reproducer:
    """The script for a failing cell, and its files. Raises CannotReproduce for a failure that no script can tell."""
    if not failing.steps:
        raise CannotReproduce("nothing is recorded of what the devices were asked")
    text, scenario = _script(failing, outcome, backend, limits)
    files = {"reproduce.py": text.encode(), **scenario.artifacts}
    buffer = io.BytesIO()
    torch.save(scenario.values, buffer)
    files["inputs.pt"] = buffer.getvalue()
    if sum(map(len, files.values())) > _MOST_BYTES:
        raise CannotReproduce(f"its inputs and artifacts are larger than {_MOST_BYTES >> 20} MiB")
    return Reproducer(folder_name(failing.cell.clause.id, failing.cell.coordinates), files)


def folder_name(clause: str, coordinates: str) -> str:
    """The name of a cell's folder."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", f"{clause}-{coordinates}")


def _script(failing: FailingCell, outcome: Outcome, backend: ReproducedBackend, limits: Limits) -> tuple[str, Scenario]:
    kit = kit_of(failing.cell.clause.toolchain)
    if kit is None:
        raise CannotReproduce(f"the toolchain {failing.cell.clause.toolchain} brings nothing to write scripts with")
    broken = breaks(failing)
    judge = None
    substitutes = {"Device": _replay.__name__} | dict.fromkeys(("add_options", "find_backend"), kit.loading)
    for clause_judges in (False, True):
        collection = Collection({*_PROVIDED, *kit.provided}, substitutes)
        watched = clause_judges or broken is not None or any(step.verb == "lower" for step in failing.steps)
        scenario = Scenario(backend, collection, clause_judges, failing.cell.clause.toolchain, kit, watched)
        steps = _steps(failing, scenario)
        if clause_judges:
            judge = by_clause(failing, scenario)
        elif scenario.loads_altered:
            continue  # to refuse such an artifact may be in order: only the clause knows
        elif broken is None:
            judge = differs(failing, scenario)
        if broken is not None or judge is not None:
            break
    collection.add_all(_PROCESS)
    collection.add(kit.loading, "load_backend")
    collection.add_all(_MAIN)
    return _assembled(failing, outcome, scenario, steps, broken, judge, limits), scenario


def _assembled(
    failing: FailingCell,
    outcome: Outcome,
    scenario: Scenario,
    steps: list[str],
    broken: str | None,
    judge: str | None,
    limits: Limits,
) -> str:
    modules = scenario.collection.modules
    models = sorted(each for each in modules if each in toolchain_named(scenario.toolchain).case_modules)
    kit = scenario.kit
    common = (*_COMMON, kit.loading)
    helpers = sorted(each for each in modules if each not in (*models, *common))
    verbs = [each for each in helpers if kit.is_verb_module(each)]
    rest = [each for each in helpers if each not in verbs]
    texts = scenario.collection.texts
    judge = judge if judge is not None else "judge = None"
    parts = [
        *map(in_double_quotes, _constants(failing, scenario, broken, limits)),
        *(texts(*models) if models else ()),
        *map(in_double_quotes, (*steps, _processes(failing), judge)),
        *_section("How the unusual steps are done.", texts(*verbs) if verbs else []),
        *_section("The clause, and what it judges with.", texts(*rest) if rest else []),
        *_section("The same in each script: processes, and what they came to.", texts(*common)),
        'if __name__ == "__main__":\n    raise SystemExit(main())',
    ]
    body = "\n\n\n".join(part for part in parts if part)
    docstring = _docstring(failing, outcome, scenario)
    standard, others = used_imports(scenario.collection.imports, body)
    return (
        f"{MARK}\n{docstring}\n\nfrom __future__ import annotations\n\n{standard}\n\n{GUARD}\n\n{others}\n\n\n{body}\n"
    )


def in_double_quotes(text: str) -> str:
    """Code with its strings quoted as people do, where that needs no escape."""
    lines = text.splitlines(keepends=True)
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(text).readline))):
        simple = token.type == tokenize.STRING and re.fullmatch(r"'[^'\"\\\n]*'", token.string)
        if simple:
            (row, start), (_, end) = token.start, token.end
            line = lines[row - 1]
            lines[row - 1] = f'{line[:start]}"{token.string[1:-1]}"{line[end:]}'
    return "".join(lines)


def _section(title: str, texts: list[str]) -> list[str]:
    return [f"# {title}\n\n\n{texts[0]}", *texts[1:]] if texts else []


def _steps(failing: FailingCell, scenario: Scenario) -> list[str]:
    """A function for each process."""
    steps = list(enumerate(failing.steps, start=1))
    functions = []
    written = {number: lines_of(scenario, step) for number, step in steps}
    for machine in process_order(list(failing.steps), scenario.toolchain):
        own = [(number, step) for number, step in steps if step.machine is machine]
        role = scenario.kit.roles.get(machine.role, f"Another process: {machine.role}.")
        lines = [f"def {name_of(machine)}() -> None:", f'    """{role}"""']
        absent = machine.environment.get(WITHOUT_MODULES)
        if absent and scenario.kit.hiding is not None:
            scenario.collection.add(*scenario.kit.hiding)
            lines.append(f"    {scenario.kit.hiding[1]}({absent.split(',')!r})")
        for number, step in own:
            lines += _step(number, step, written[number], is_last=step is failing.steps[-1])
        if own[-1][1].verb == "leave":
            lines.append("    leave()")
        functions.append("\n".join(lines))
    return functions


def _step(number: int, step: Step, lines: list[str], is_last: bool) -> Iterator[str]:
    fails = ", fails=True" if step.raised is not None and not is_last else ""
    named = " as this" if any("this." in line for line in lines) else ""
    remark = "  # here" if is_last else ""
    yield f"    with step({number}, {step.phase!r}{fails}){named}:{remark}"
    yield from (f"        {line}" for line in lines)


def _constants(failing: FailingCell, scenario: Scenario, broken: str | None, limits: Limits) -> Iterator[str]:
    backend = scenario.backend
    author = backend.author or (backend.value if scenario.needs_author else "")
    machines = dict.fromkeys(step.machine for step in failing.steps)
    environment = {name_of(each): public_environment(each.environment) for each in machines}
    lines = [
        f"NAME = {failing.description.name!r}",
        "BACKEND = os.environ.get('REPRODUCER_BACKEND', NAME)",
        *scenario.kit.constants(backend),
        f"DISTRIBUTION = {failing.description.source.distribution!r}",
        "#: The author's class, where only that can do something; it needs torch-conformance to be installed.",
        f"AUTHOR = {author!r}",
        f"TORCH = {str(torch.__version__)!r}",
        "#: For each step: seconds, and bytes of memory beyond torch's own.",
        f"SECONDS = {limits.seconds!r}",
        f"MEMORY = {limits.memory_bytes!r}",
        "#: What puts a process into its state of availability.",
        f"ENVIRONMENT = { {label: each for label, each in environment.items() if each}!r}",
    ]
    if broken is not None:
        lines += ["#: The step that fails, and how.", f"FAILURE = ({len(failing.steps)}, {broken!r})"]
    else:
        lines += ["#: None: it is the judgement below that tells.", "FAILURE = None"]
    if any("VERBS" in text for text in scenario.collection.texts(_replay.__name__)):
        verbs = {number: step.verb for number, step in enumerate(failing.steps, start=1)}
        lines += ["#: What the clause asked for, step by step.", f"VERBS = {verbs!r}"]
    yield "\n".join(lines)


def _processes(failing: FailingCell) -> str:
    order = process_order(list(failing.steps), failing.cell.clause.toolchain)
    labels = ", ".join(f"{name_of(each)!r}: {name_of(each)}" for each in order)
    return f"#: In the order in which they run.\nPROCESSES = {{{labels}}}"


def _docstring(failing: FailingCell, outcome: Outcome, scenario: Scenario) -> str:
    cell, source, backend = failing.cell, failing.description.source, scenario.backend
    version = f" ({source.distribution} {source.version})" if source.distribution else ""
    names = backend.reproduction.libraries
    libraries = f", {', '.join(names)}" if names else ""
    needs = scenario.kit.needs
    if backend.author:
        needs = (
            "torch, the backend's package and torch-conformance: the backend is registered by the Python of its "
            "author's class, which derives from the harness's"
        )
    elif scenario.needs_author:
        needs = "torch, the backend's package and torch-conformance: a step asks what only the author's class can tell"
    phase = f" in {outcome.phase}" if outcome.phase else ""
    states = f"host {cell.host.value}" + (f", target {cell.target.value}" if cell.target else "")
    known = [
        f"clause    {cell.id}  ({states})",
        *hanging("states", " ".join(cell.clause.statement.split())),
        f"source    {cell.clause.source}",
        *hanging("observed", f"{outcome.verdict.value}{phase}: {outcome.message}"),
        f"backend   {failing.description.name}{version}{libraries}",
        f"torch     {torch.__version__}, seed {failing.seed}",
    ]
    text = "\n".join(
        [
            f"{cell.id}: {outcome.verdict.value}{phase}",
            "",
            *known,
            "",
            f"    python reproduce.py [{scenario.kit.option}]",
            "",
            *textwrap.wrap(
                f"It needs {needs}. Exit code: 1 the failure is there, 0 it is not there any more, 3 the script fails "
                "otherwise than was recorded, 2 it could not be tried. --process NAME takes the steps of one process "
                "in this one, for a debugger; artifacts that were recorded lie beside the script.",
                118,
            ),
        ]
    )
    safe = without_paths(text).replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{safe}\n"""'


def hanging(name: str, text: str) -> list[str]:
    return textwrap.wrap(text, 118, initial_indent=f"{name:<10}", subsequent_indent=" " * 10)


_BASIC_IMPORTS = ("import gc", "import io", "import os", "import types", "import torch", "from typing import Any")


def used_imports(imports: set[str], body: str) -> tuple[str, str]:
    """The imports whose names the body uses, sorted as people do: of the standard library, and others."""
    used = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    kept = [statement for statement in {*imports, *_BASIC_IMPORTS} if _bound_by(statement) in used]
    standard = [each for each in kept if "torch" not in each]
    others = [each for each in kept if "torch" in each]
    return "\n".join(_sorted(standard)), "\n".join(_sorted(others))


@functools.cache
def _bound_by(statement: str) -> str:
    """The name that an import binds."""
    (node,) = ast.parse(statement).body
    assert isinstance(node, ast.Import | ast.ImportFrom)
    alias = node.names[0]
    return alias.asname or alias.name.partition(".")[0]


def _sorted(statements: list[str]) -> list[str]:
    return sorted(statements, key=lambda each: (each.startswith("from"), each))
