"""A script from top to bottom: what failed, the model, the steps, the judgement, and what they need."""

from __future__ import annotations

import base64
import dataclasses
import io
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import torch

from conformance.api.verdicts import Outcome
from conformance.devices import Limits, Step
from conformance.devices.protocol import WITHOUT_MODULES
from conformance.models import MODULES
from conformance.report.reproducer_folder import SCRIPT
from conformance.standalone.reproducers import _main, _process, _replay
from conformance.standalone.reproducers._assembly import Parts, assembled, hanging
from conformance.standalone.reproducers._judge import FailingCell, Judgement, breaks, by_clause, differs
from conformance.standalone.reproducers._scenario import (
    CannotReproduce,
    ReproducedBackend,
    Scenario,
    name_of,
    process_order,
)
from conformance.standalone.reproducers._sources import Collection, Definition
from conformance.standalone.reproducers._steps import lines_of, public_environment
from conformance.standalone.reproducers.kit import kit_of
from conformance.toolchains import toolchain_named
from conformance.toolchains.declarations import declarations_of, is_handle

_PROVIDED = {*_process.PROVIDED, *_replay.PROVIDED, "case_named", "features"}
#: What a script needs whose backend only its author's class can load or lower to.
NEEDS_AUTHOR = (
    "torch, the backend's package and torch-conformance: the backend is registered by the Python of its "
    "author's class, which derives from the harness's"
)
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
    texts, scenario = _script(failing, outcome, backend, limits)
    files = {**texts, **scenario.artifacts}
    buffer = io.BytesIO()
    torch.save(scenario.values, buffer)
    files["inputs.pt"] = buffer.getvalue()
    if sum(map(len, files.values())) > _MOST_BYTES:
        raise CannotReproduce(f"its inputs and artifacts are larger than {_MOST_BYTES >> 20} MiB")
    return Reproducer(folder_name(failing.cell.clause.id, failing.cell.coordinates), files)


def folder_name(clause: str, coordinates: str) -> str:
    """The name of a cell's folder."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", f"{clause}-{coordinates}")


def _script(
    failing: FailingCell, outcome: Outcome, backend: ReproducedBackend, limits: Limits
) -> tuple[dict[str, bytes], Scenario]:
    kit = kit_of(failing.cell.clause.toolchain)
    if kit is None:
        raise CannotReproduce(f"the toolchain {failing.cell.clause.toolchain} brings nothing to write scripts with")
    broken = breaks(failing)
    judgement = Judgement("")
    substitutes = {"Device": _replay.__name__} | dict.fromkeys(("add_options", "find_backend"), kit.loading)
    for clause_judges in (False, True):
        collection = Collection({*_PROVIDED, *kit.provided}, substitutes)
        watched = clause_judges or broken is not None or any(step.verb == "lower" for step in failing.steps)
        scenario = Scenario(backend, collection, clause_judges, failing.cell.clause.toolchain, kit, watched)
        steps = _steps(failing, scenario)
        if clause_judges:
            judgement = by_clause(failing, scenario)
        elif scenario.loads_altered:
            continue  # to refuse such an artifact may be in order: only the clause knows
        elif broken is None:
            judgement = Judgement(differs(failing, scenario))
        if broken is not None or judgement.text:
            break
    collection.add_all(_process.__name__)
    collection.add(kit.loading, "load_backend")
    collection.add_all(_main.__name__)
    parts = _parts(failing, outcome, scenario, steps, broken, judgement, limits)
    return assembled(parts, collection, _shown(failing, scenario)), scenario


def _parts(
    failing: FailingCell,
    outcome: Outcome,
    scenario: Scenario,
    steps: list[str],
    broken: str | None,
    judgement: Judgement,
    limits: Limits,
) -> Parts:
    processes = process_order(list(failing.steps), scenario.toolchain)
    fails = (f"fails=({len(failing.steps)}, {broken!r})",) if broken is not None else ()
    judge = ("judge=judge",) if judgement.text else ()
    return Parts(
        docstring=_docstring(failing, outcome, scenario),
        explanation=_explanation(scenario),
        own=(*steps, *filter(None, (judgement.text,))),
        arguments=(*map(name_of, processes), *fails, *judge),
        constants=(*_constants(failing, scenario, limits), *judgement.support),
    )


def _shown(failing: FailingCell, scenario: Scenario) -> Callable[[Definition], bool]:
    """Which definitions a script shows: models of cases, and the clause where it is that which judges."""
    cases = {*toolchain_named(scenario.toolchain).case_modules, *MODULES}
    clause = failing.function.__module__, failing.function.__name__
    return lambda each: each.module in cases or (each.module, each.name) == clause


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


def _constants(failing: FailingCell, scenario: Scenario, limits: Limits) -> Iterator[str]:
    backend, source = scenario.backend, failing.description.source
    author = backend.author or (backend.value if scenario.needs_author else "")
    machines = dict.fromkeys(step.machine for step in failing.steps)
    environment = {name_of(each): public_environment(each.environment) for each in machines}
    lines = [
        f"NAME = {failing.description.name!r}",
        "BACKEND = os.environ.get('REPRODUCER_BACKEND', NAME)",
        *scenario.kit.constants(backend),
        f"DISTRIBUTION = {source.distribution!r}",
        "#: The author's class, which may know where the backend is.",
        f"PLUGIN = {source.value!r}",
        "#: The same, where only that can do something; it needs torch-conformance to be installed.",
        f"AUTHOR = {author!r}",
        f"TORCH = {str(torch.__version__)!r}",
        "#: For each step: seconds, and bytes of memory beyond torch's own.",
        f"SECONDS = {limits.seconds!r}",
        f"MEMORY = {limits.memory_bytes!r}",
        "#: What puts a process into its state of availability.",
        f"ENVIRONMENT = { {label: each for label, each in environment.items() if each}!r}",
    ]
    if any("VERBS" in text for text in scenario.collection.texts(_replay.__name__)):
        verbs = {number: step.verb for number, step in enumerate(failing.steps, start=1)}
        declared = declarations_of(scenario.toolchain)
        kept = sorted(
            {verb for verb in verbs.values() if verb in declared and is_handle(declared[verb].hints["return"])}
        )
        lines += ["#: What the clause asked for, step by step.", f"VERBS = {verbs!r}"]
        lines += ["#: Those that make something, which the steps keep.", f"KEPT = frozenset({kept!r})"]
    yield "\n".join(lines)


def _docstring(failing: FailingCell, outcome: Outcome, scenario: Scenario) -> str:
    cell, source = failing.cell, failing.description.source
    version = f" ({source.distribution} {source.version})" if source.distribution else ""
    phase = f" in {outcome.phase}" if outcome.phase else ""
    states = f"host {cell.host.value}" + (f", target {cell.target.value}" if cell.target else "")
    return "\n".join(
        [
            f"{cell.id}: {outcome.verdict.value}{phase}",
            "",
            *hanging("states", " ".join(cell.clause.statement.split())),
            *hanging("observed", outcome.message, most=3),
            f"with      {failing.description.name}{version}, torch {torch.__version__}, {states}, seed {failing.seed}",
            f"run it    python {SCRIPT} [{scenario.kit.option}]      exit code 1: the failure is there, 0: it is gone",
        ]
    )


def _explanation(scenario: Scenario) -> str:
    needs = scenario.kit.needs
    if scenario.backend.author:
        needs = NEEDS_AUTHOR
    elif scenario.needs_author:
        needs = "torch, the backend's package and torch-conformance: a step asks what only the author's class can tell"
    return "\n".join(
        [
            f"What {SCRIPT} beside it needs: its backend, its steps in processes that are watched, their answers.",
            "",
            *textwrap.wrap(
                f"The script needs {needs}. Exit code: 1 the failure is there, 0 it is not there any more, 3 the "
                "script fails otherwise than was recorded, 2 it could not be tried. --process NAME takes the steps of "
                "one process in this one, for a debugger; artifacts that were recorded lie beside the script.",
                118,
            ),
        ]
    )
