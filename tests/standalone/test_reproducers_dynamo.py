"""Scripts for backends of torch.compile: they show a failure with the backend alone, and see when it is gone."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.project import Project, Run
from support.scripts import Told, code_of, run_script, scripts_of

from conformance.api.errors import ConformanceFailure
from conformance.api.verdicts import Outcome, Verdict
from conformance.contract import shipped_clauses, suite_function
from conformance.devices import Limits, ZygotePool
from conformance.discovery.describing import Description
from conformance.discovery.selecting import select
from conformance.run.cell_context import CellContext
from conformance.run.plan import cells_of
from conformance.run.run_context import RunContext
from conformance.standalone.reproducers import Reproducer, ReproducerWriter
from conformance.standalone.reproducers._judge import FailingCell
from conformance.standalone.reproducers._scenario import CannotReproduce, ReproducedBackend
from conformance.standalone.reproducers._script import reproducer
from conformance.toolchains.dynamo.verbs import verb

#: PyTorch's own broken backends, a clause in which each fails, and what its script says.
TORCHS_OWN = {
    "relu_compile_error_TESTING_ONLY": ("test_by_name and chain", "raised torch._dynamo.exc.BackendCompilerFailed"),
    "relu_runtime_error_TESTING_ONLY": ("test_outputs and not kept and size_one", "raised AssertionError"),
    "relu_accuracy_error_TESTING_ONLY": ("test_outputs and not kept and chain", "Mismatched elements: 12 / 12"),
    "non_leaf_compile_error_TESTING_ONLY": (
        "test_non_leaf_inputs and dynamo_lowering and chain",
        "TestingOnlyCompileError",
    ),
}
#: Saboteurs, a clause that catches each, and what its script says.
SABOTAGED = {
    "dynamo_crashes_lowering": ("test_outputs and not kept and chain", "(lower) was killed by SIG"),
    "dynamo_gives_up_quietly": ("test_outputs and not kept and chain", "PyTorch ran"),
    "dynamo_writes_unseen": ("test_mutation and lowering and writes_input", "which arguments have a new _version"),
    "dynamo_keeps_guards_to_itself": ("test_made_while_lowering", "(run) raised RuntimeError: The size of tensor a"),
    "dynamo_misses_runtime_late": ("test_absent", "(run) raised RuntimeError: dynamo_misses_runtime_late"),
    "dynamo_shares_programs": ("test_exported_twice and parameters", "elements"),
    "dynamo_exits_badly": ("test_exit and dynamo_lowering", "(exit)"),
    "dynamo_draws_once": ("test_seeds and dropout", "is the same"),
}
#: Clauses that together ask for every verb, each in its first cell or in that of a case.
CLAUSES = (
    "modes.options-apart",
    "package.ready",
    "export.dynamic-sizes",
    "runtime.entry-point",
    "guards.many-sizes",
    "modes.no-grad-then-training",
    "modes.threads",
    "compile.outputs-kept",
    "compile.inputs-untouched",
    "modes.running-leaves-no-trace",
    "compile.exit",
    "cache.artifacts",
    "compile.at-lowering-time",
    "modes.nothing-retained",
    "guards.unbacked-sizes",
    "guards.made-while-lowering",
    "runtime.absent",
    "runtime.target",
    "modes.seeds",
    "training.steps",
    "training.gradients of reductions",
    "compile.original-untouched",
    "training.double-backward",
    "compile.parameters",
    "compile.several-models",
    "modes.inference-outputs",
    "modes.others-unchanged",
    "modes.pytorch-unchanged",
)
_PLUGIN = """
def compiler(graph, example_inputs):
    def code(*arguments):
        return [each * 2 for each in graph.forward(*arguments)]
    return code
"""


def told_by(scripts: list[Path], *arguments: str, site: Path | None = None) -> list[Told]:
    """What scripts end with and say."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda each: run_script(each, *arguments, site=site), scripts))


def first_script(run: Run, backend: str) -> Path:
    """The one script of a backend of which one cell ran."""
    (script,) = scripts_of(run, backend).values()
    return script


def choosing(backends: dict[str, tuple[str, str]]) -> list[str]:
    """Options of pytest that select a cell of each backend."""
    chosen = [f"({name} and {clause})" for name, (clause, _) in backends.items()]
    return [*(f"--backend={name}" for name in backends), "--conformance-reproducers=1", "-k", " or ".join(chosen)]


# PyTorch's own.


@pytest.fixture(scope="module")
def torchs_own(shared_run: Callable[..., Run]) -> Run:
    return shared_run(*choosing(TORCHS_OWN), "-n", "2")


@pytest.mark.parts
def test_failures_show_with_torch_alone(torchs_own: Run, without_harness: Path) -> None:
    scripts = [first_script(torchs_own, name) for name in TORCHS_OWN]
    for told, (_, text) in zip(told_by(scripts, site=without_harness), TORCHS_OWN.values(), strict=True):
        assert told.exit_code == 1, told.output
        assert "REPRODUCED" in told.output
        assert text in told.output


def test_failures_are_gone_with_eager(torchs_own: Run, without_harness: Path) -> None:
    scripts = [first_script(torchs_own, f"relu_{which}_error_TESTING_ONLY") for which in ("runtime", "accuracy")]
    for told in told_by(scripts, "--backend=eager", site=without_harness):
        assert told.exit_code == 0, told.output
        assert "NOT REPRODUCED" in told.output


def test_a_script_calls_torch_compile_as_users_do(torchs_own: Run) -> None:
    text = first_script(torchs_own, "relu_compile_error_TESTING_ONLY").read_text()
    assert "compiled = torch.compile(model, backend=BACKEND)" in text
    assert "class Mixed(torch.nn.Module):" in text
    assert "Watch" not in text


def test_a_backend_that_pytorch_does_not_know_is_asked_for(torchs_own: Run) -> None:
    told = run_script(first_script(torchs_own, "relu_accuracy_error_TESTING_ONLY"), "--backend=nowhere")
    assert told.exit_code == 2
    assert "torch.compile knows no backend 'nowhere'" in told.output
    assert "--backend NAME" in told.output
    assert "Traceback" not in told.output


def test_an_import_that_fails_is_no_failure_of_the_backend(torchs_own: Run, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('there is no torch here')")
    told = run_script(first_script(torchs_own, "relu_accuracy_error_TESTING_ONLY"), site=tmp_path)
    assert told.exit_code == 2, told.output
    assert "there is no torch here" in told.output


# An entry point of PyTorch, which knows nothing of the harness.


def test_an_entry_point_is_enough(project: Project, without_harness: Path, tmp_path: Path) -> None:
    project.install("doubles", _PLUGIN, "compiler", group="torch_dynamo_backends")
    run = project.run("--backend=doubles", "-k", "test_outputs and not kept and chain and dynamo_lowering")
    script = first_script(run, "doubles")
    missing = run_script(script, site=without_harness)
    assert missing.exit_code == 2
    assert "install registered_doubles" in missing.output
    for file in without_harness.glob("*.py"):
        (project.site / file.name).write_bytes(file.read_bytes())
    told = run_script(script, site=project.site)
    assert told.exit_code == 1, told.output


# Saboteurs.


@pytest.fixture(scope="module")
def sabotaged(shared_run: Callable[..., Run]) -> Run:
    return shared_run(*choosing(SABOTAGED), "-n", "2")


@pytest.mark.slow
def test_failures_of_every_kind_show_again(sabotaged: Run) -> None:
    scripts = [first_script(sabotaged, name) for name in SABOTAGED]
    for script, told, (_, text) in zip(scripts, told_by(scripts), SABOTAGED.values(), strict=True):
        assert told.exit_code == 1, (script, told.output)
        assert text in told.output


@pytest.mark.slow
def test_failures_that_the_clause_judges_are_gone_with_eager(sabotaged: Run) -> None:
    chosen = ("dynamo_gives_up_quietly", "dynamo_writes_unseen")
    for told in told_by([first_script(sabotaged, name) for name in chosen], "--backend=eager"):
        assert told.exit_code == 0, told.output


@pytest.mark.slow
def test_what_needs_the_authors_class_says_so(sabotaged: Run) -> None:
    support = first_script(sabotaged, "dynamo_writes_unseen").with_name("support.py")
    text = " ".join(support.read_text().split())
    assert "torch-conformance: the backend is registered by the Python of its" in text


# Every verb.


@pytest.fixture(scope="module")
def run_context() -> Iterator[RunContext]:
    pool = ZygotePool(Limits())
    (candidate,) = select(["eager"], None, pool)
    assert candidate.description is not None
    yield RunContext(pool, 0, {"eager": candidate.description})
    pool.close()


@pytest.fixture(scope="module")
def eager(run_context: RunContext) -> Description:
    return run_context.descriptions["eager"]


def _facts(run_context: RunContext, named: str) -> FailingCell:
    """A cell of a clause, the first or that of a case, that was run on a backend that conforms, told as if its clause
    had failed at its end."""
    description = run_context.descriptions["eager"]
    clause_id, _, case = named.partition(" of ")
    clause = next(each for each in shipped_clauses() if each.id == clause_id)
    cells = [each for each in cells_of(clause, description) if each.decided is None]
    cell = next(each for each in cells if case in ("", each.case))
    function, names = suite_function(clause)
    context = CellContext(run_context, cell, description)
    outcome = context.attempt(function, {name: context.part(name) for name in names})
    assert outcome.verdict in (Verdict.PASS, Verdict.NOT_APPLICABLE, Verdict.NOT_EXERCISED), outcome
    calls = functools.partial(run_context.calls, toolchain="dynamo")
    steps = tuple(context.trace.steps)
    return FailingCell(cell, ConformanceFailure("on purpose"), steps, description, 0, function, names, calls)


def _told(facts: FailingCell, backend: ReproducedBackend) -> Reproducer:
    return reproducer(facts, Outcome(Verdict.FAIL, "run", "x"), backend, Limits(60, 2**33))


@pytest.fixture(scope="module")
def backend(run_context: RunContext, eager: Description) -> ReproducedBackend:
    return ReproducerWriter(run_context, 1)._ask(eager, [])


@pytest.fixture(scope="module")
def attempts(run_context: RunContext, backend: ReproducedBackend) -> dict[str, tuple[FailingCell, Reproducer]]:
    """A script for each of CLAUSES."""
    facts = {each: _facts(run_context, each) for each in CLAUSES}
    return {clause: (each, _told(each, backend)) for clause, each in facts.items()}


@pytest.mark.parts
def test_every_verb_can_be_told(attempts: dict[str, tuple[FailingCell, Reproducer]], tmp_path: Path) -> None:
    asked = {step.verb for facts, _ in attempts.values() for step in facts.steps}
    known = {
        name for name in verb.names() if not _module_of(name).endswith((".generate.verbs", ".operators", ".varied"))
    }
    # Eager outputs are computed for the harness; "eager" caches and delegates nothing; no clause asks for the rest yet.
    assert known - asked <= {"samples", "load_cache", "operators_run_in_training", "switch"}
    for clause, (_, script) in attempts.items():
        text = code_of(script.files)
        assert not re.search(r"^\s*(from|import) conformance", text, re.MULTILINE), clause
        assert "Subject()" not in text
        _define(text, clause)
        (tmp_path / f"{clause}.py").write_text(text)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821,E9", str(tmp_path)]
    linted = subprocess.run(command, capture_output=True, text=True, check=False)
    assert linted.returncode == 0, linted.stdout[:3000]


def _module_of(name: str) -> str:
    return verb.named(name).__module__


def _define(text: str, name: str) -> None:
    """Execute the definitions of a script: each has to stand behind those that it needs at once."""
    module: Any = types.ModuleType(name)
    module.__file__ = __file__
    sys.modules[name] = module  # where dataclasses look
    hook = sys.excepthook
    try:
        exec(compile(text, name, "exec"), module.__dict__)
    finally:
        del sys.modules[name]
        sys.excepthook = hook


@pytest.mark.parts
@pytest.mark.parametrize("clause", ["package.ready"])
def test_a_clause_that_holds_is_not_reproduced(
    attempts: dict[str, tuple[FailingCell, Reproducer]],
    clause: str,
    tmp_path: Path,
    without_harness: Path,
) -> None:
    for name, data in attempts[clause][1].files.items():
        (tmp_path / name).write_bytes(data)
    told = run_script(tmp_path / "reproduce.py", site=without_harness)
    assert told.exit_code == 0, told.output
    assert "nothing was found wrong" in told.output


# What cannot be told.


def test_what_cannot_be_told_is_said(run_context: RunContext, backend: ReproducedBackend) -> None:
    facts = _facts(run_context, "guards.specialisation")  # which asks "eager" nothing
    with pytest.raises(CannotReproduce, match="nothing is recorded"):
        _told(facts, backend)


def test_a_function_of_a_module_is_found_by_its_script(new_project: Callable[[str], Project]) -> None:
    project = new_project("function")
    (project.site / "vendor_of_functions.py").write_text(_PLUGIN, encoding="utf-8")
    run = project.run(
        "--backend=vendor_of_functions:compiler", "--conformance-select=compile.outputs[chain-compile-yes/yes]"
    )
    assert run.exit_code == 1, run.output
    script = first_script(run, "compiler")
    shown, missing = run_script(script, site=project.site), run_script(script)
    assert (shown.exit_code, missing.exit_code) == (1, 2), shown.output + missing.output
    assert "comes from the package vendor_of_functions, which is not installed" in missing.output
