"""The scripts of what a generated cell found: models, inputs, and what happens with them, in both ways."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import torch

from conformance.api.verdicts import Verdict
from conformance.compare.values import decode
from conformance.devices import Limits
from conformance.discovery.describing import Description
from conformance.generate.randomness import without_random_numbers
from conformance.generate.steps import Trial
from conformance.generate.tally import Finding
from conformance.generate.tolerances import tolerances_of
from conformance.report.reproducer_folder import SCRIPT
from conformance.run.result import Result
from conformance.standalone.reproducers import _process, _trial
from conformance.standalone.reproducers._assembly import Parts, assembled, hanging
from conformance.standalone.reproducers._scenario import CannotReproduce, ReproducedBackend
from conformance.standalone.reproducers._script import NEEDS_AUTHOR, Reproducer, folder_name
from conformance.standalone.reproducers._sources import Collection
from conformance.standalone.reproducers._straight import Trials, step_name
from conformance.standalone.reproducers.kit import Kit, kit_of
from conformance.toolchains import toolchain_named

#: So many findings of a cell have a script.
_MOST_FINDINGS = 3
#: Functions that play trials and some scripts need, by their modules.
_PLAYED_BY = {
    "conformance.api.trained": ("as_trained",),
    "conformance.generate.models": ("change_weights",),
    "conformance.generate.gradients": ("gradients_of",),
    "conformance.generate.inputs": ("with_other_values",),
    "conformance.generate.call_modes": ("deterministic", "default_dtype"),
}


def generated_reproducers(
    result: Result, description: Description, backend: ReproducedBackend, seed: int, limits: Limits
) -> dict[str, Any]:
    """The scripts for a cell's gravest findings, as a message: a reproducer with others beside it.

    Raises CannotReproduce where no finding repeats, or the toolchain brings nothing to write scripts with.
    """
    kit = kit_of(result.cell.clause.toolchain)
    if kit is None or not kit.trials:
        raise CannotReproduce(f"the toolchain {result.cell.clause.toolchain} brings nothing to write such scripts with")
    findings = [each for each in result.record.findings if each.verdict != Verdict.FLAKY.value]
    if not findings:
        raise CannotReproduce("what was found did not repeat in a fresh process")
    name = folder_name(result.cell.clause.id, result.cell.coordinates)
    messages = [
        Reproducer(
            f"{name}-{place}" if place > 1 else name, _files(finding, result, description, backend, kit, seed, limits)
        ).as_message()
        for place, finding in enumerate(findings[:_MOST_FINDINGS], start=1)
    ]
    return messages[0] | {"others": messages[1:]}


def _files(
    finding: Finding,
    result: Result,
    description: Description,
    backend: ReproducedBackend,
    kit: Kit,
    seed: int,
    limits: Limits,
) -> dict[str, bytes]:
    substitutes = dict.fromkeys(("add_options", "find_backend", "load_backend"), kit.loading) | {"Backend": kit.trials}
    provided = {*_process.PROVIDED, *_trial.PROVIDED, *kit.provided, "SPEC", "LOWERS"}
    collection = Collection(provided, substitutes)
    written = Trials(watches_modes=finding.observable == "process state")
    said = "What fails. ``backend`` is the one under test, or stands for eager PyTorch."
    main = written.function("trial", finding.trial, said)
    models = list(written.models)
    before = [written.function(f"before_{place}", each) for place, each in enumerate(finding.before, start=1)]
    others = written.models[len(models) :]
    text = "\n\n".join([main, *before])
    for module, functions in _PLAYED_BY.items():
        collection.add(module, *(each for each in functions if re.search(rf"\b{each}\(", text)))
    collection.add_all(_trial.__name__)
    names = [*(f"before_{place}" for place in range(1, len(before) + 1)), "trial"]
    imports = {"import torch.nn.functional as F", "from math import inf", "from math import nan"}
    # What has to be played before it in the same process comes last: it is the trial that is read.
    parts = Parts(
        docstring=_docstring(finding, result, description, kit, seed),
        explanation=_explanation(backend, kit),
        own=(*models, main, *others, *before),
        arguments=tuple(names),
        constants=("\n".join(_constants(finding, description, backend, kit, limits)),),
        imports=frozenset(imports),
    )
    files = assembled(parts, collection, lambda definition: False)
    if written.values:
        buffer = io.BytesIO()
        torch.save(written.values, buffer)
        files["inputs.pt"] = buffer.getvalue()
    return files


def _constants(
    finding: Finding, description: Description, backend: ReproducedBackend, kit: Kit, limits: Limits
) -> Iterator[str]:
    spec = backend.reproduction.specs.get(finding.trial.as_case)
    traits = toolchain_named(description.toolchain).programs
    assert traits is not None, "a toolchain with generated clauses says what its models do with programs"
    keeps = {
        "weights": traits.copies_weights,
        "aliases": traits.keeps_aliases,
        "strides": traits.keeps_strides,
        "writes": traits.keeps_writes,
        "requires_grad": traits.keeps_gradients,
    }
    author = backend.author
    yield f"NAME = {backend.name!r}"
    yield 'BACKEND = os.environ.get("REPRODUCER_BACKEND", NAME)'
    yield from kit.constants(backend)
    yield f"DISTRIBUTION = {description.source.distribution!r}"
    yield "#: The author's class, which may know where the backend is."
    yield f"PLUGIN = {description.source.value!r}"
    yield "#: The same, where only that can do something; it needs torch-conformance to be installed."
    yield f"AUTHOR = {author!r}"
    yield f"LOWERS = {backend.reproduction.lowers!r}"
    yield f"SPEC = {_spelt(spec)}"
    yield "#: For each process, with the start of PyTorch."
    yield f"SECONDS = {limits.seconds + 60!r}"
    yield "#: What was found to differ."
    yield f"OBSERVABLE = {finding.observable!r}"
    yield "#: What the backend's models keep of eager PyTorch's, and how far off each dtype may be."
    yield f"KEEPS = {keeps!r}"
    tolerances = tolerances_of(finding.trial, description.tolerances)
    yield from ["TOLERANCES = {", *(f"    {name!r}: {each}," for name, each in tolerances.items()), "}"]
    yield "#: Of calls that draw random numbers, the results that need none of these."
    yield f"SURE = {_sure(finding.trial)!r}"
    yield f"SIGNS_OF_ZEROS = {'zeros of the other sign' in finding.message!r}"


def _sure(trial: Trial) -> dict[str, list[int]]:
    """The places among the results of each call that need no random numbers, by the name of the step; of a trial in
    which none are drawn, nothing."""
    if not any("random" in program.marks for program in trial.programs):
        return {}
    places = {step_name(number, step): without_random_numbers(trial, number) for number, step in enumerate(trial.steps)}
    return {name: sorted(found) for name, found in places.items() if found}


def _spelt(spec: bytes | None) -> str:
    """A compile spec as an expression. Raises CannotReproduce for one that has no text."""
    value = decode(spec) if spec is not None else None
    text = repr(value)
    try:
        if eval(text, {}) == value:
            return text
    except (SyntaxError, NameError, TypeError, ValueError, RuntimeError):
        pass
    raise CannotReproduce("its compile spec cannot be written down")


def _docstring(finding: Finding, result: Result, description: Description, kit: Kit, seed: int) -> str:
    cell, source = result.cell, description.source
    version = f" ({source.distribution} {source.version})" if source.distribution else ""
    return "\n".join(
        [
            f"{cell.id}: {finding.verdict} in {finding.phase}",
            "",
            *hanging("cause", finding.cause),
            *hanging("states", " ".join(cell.clause.statement.split())),
            *hanging("observed", finding.message, most=3),
            f"with      {description.name}{version}, torch {torch.__version__}, seed {seed}",
            f"run it    python {SCRIPT} [{kit.option}]      exit code 1: the failure is there, 0: it is gone",
        ]
    )


def _explanation(backend: ReproducedBackend, kit: Kit) -> str:
    needs = NEEDS_AUTHOR if backend.author else kit.needs
    return "\n".join(
        [
            f"What {SCRIPT} beside it needs: the backend, and how what happens is seen and compared.",
            "",
            *textwrap.wrap(
                f"The script needs {needs}. Exit code: 1 the failure is there, 0 it is not there any more, 3 "
                "something else differs, 2 it could not be tried. --play backend plays the trial in this process, for "
                "a debugger.",
                118,
            ),
        ]
    )
