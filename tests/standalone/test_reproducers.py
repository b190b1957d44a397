"""Reproducers: scripts that show a failure again, without the harness, and see when it is gone."""

from __future__ import annotations

import ast
import dataclasses
import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.generated_rows import generated_clause
from support.project import Project, Run
from support.scripts import code_of, failing_rows, run_script, scripts_of

from conformance.api.case import registered_cases
from conformance.api.errors import ConformanceFailure
from conformance.api.verdicts import Outcome, Verdict
from conformance.compare.comparison import Margin
from conformance.contract import Clause, SpeaksOf, shipped_clauses, suite_function
from conformance.devices import Limits, Step, Trace, ZygotePool
from conformance.discovery.describing import Description
from conformance.discovery.selecting import select
from conformance.report import ReproducerFolder
from conformance.run.cell_context import CellContext
from conformance.run.plan import cells_of
from conformance.run.result import FailureRecord, Record, Result
from conformance.run.run_context import RunContext
from conformance.standalone.reproducers import Reproducer, ReproducerWriter
from conformance.standalone.reproducers._judge import FailingCell
from conformance.standalone.reproducers._scenario import CannotReproduce
from conformance.standalone.reproducers._script import reproducer
from conformance.toolchains import import_cases
from conformance.toolchains.torchscript.verbs import verb

#: Third parties, whose failures must show with torch and their library alone.
PLAIN = ("backend_with_compiler_demo", "test_backend")
#: A cell in which test_backend fails for certain: it answers with sums and differences, whatever the model says.
ADD = "lowering.outputs[add-full-yes/yes]"
#: Saboteurs, and a clause that catches each, chosen so that every ending occurs.
SABOTAGED = {
    "segfaults_in_preprocess": "test_outputs and lowering and add-full",
    "hangs_in_compile": "test_outputs_survive and add-full",
    "claims_without_execute": "test_claim",
    "needs_the_wrapper": "test_older and add",
    "slips_floats_through_under_lite": "test_types and scalars",
    "exits_with_1_at_exit": "test_exit",
    "mutates_inputs_under_lite": "test_inputs and add-lite",
    "silences_the_warning": "test_warning",
}


# Third parties.


@pytest.fixture(scope="module")
def third_parties(shared_run: Callable[..., Run]) -> Run:
    """Two backends that come with torch. The demo reads and writes behind the end of a tensor, so that what a cell of
    it comes to is the allocator's to say; more scripts than cells are asked for, so that no order decides which there
    are."""
    names = [f"--backend={name}" for name in PLAIN]
    chosen = "(test_outputs and lowering and (add-full or empty)) or (test_bundled_inputs_run and add-lite) or "
    return shared_run(*names, "--conformance-reproducers=9", "-k", f"{chosen} test_lowering_after_deepcopy", "-n", "2")


@pytest.mark.parts
def test_failures_of_third_parties_show_with_torch_alone(third_parties: Run, without_harness: Path) -> None:
    failing = [(name, row) for name in PLAIN for row in failing_rows(third_parties, name)]
    assert {name for name, _ in failing} == set(PLAIN)
    scripts = [scripts_of(third_parties, name)[row["id"]] for name, row in failing]
    with ThreadPoolExecutor(2) as pool:
        told = list(pool.map(lambda each: run_script(each, site=without_harness), scripts))
    for (_, row), each in zip(failing, told, strict=True):
        assert each.exit_code == 1, each.output
        if row["verdict"] == "CRASH":
            assert f"was killed by {row['error']['signal']}" in each.output
        elif "elements differ" in row["message"]:
            assert "Mismatched elements" in each.output


def test_a_failure_is_gone_with_a_backend_that_conforms(
    third_parties: Run, without_harness: Path, library: str
) -> None:
    scripts = {(name, cell): script for name in PLAIN for cell, script in scripts_of(third_parties, name).items()}
    chosen = [script for (_, cell), script in scripts.items() if cell.startswith("lowering.outputs[")]
    assert scripts["test_backend", ADD] in chosen
    for script in chosen:
        told = run_script(script, "--backend=reference", f"--library={library}", site=without_harness)
        assert told.exit_code == 0, told.output
        assert "NOT REPRODUCED" in told.output


def test_one_script_is_enough_for_failures_that_are_alike(shared_run: Callable[..., Run]) -> None:
    chosen = "test_outputs and lowering and (add-full or parameters-full or linear-full)"
    run = shared_run("--backend=test_backend", "--conformance-reproducers=1", "-k", chosen)
    rows = failing_rows(run, "test_backend")
    groups = [(row["clause"], row["verdict"], row["phase"]) for row in rows]
    with_script = [(row["clause"], row["verdict"], row["phase"]) for row in rows if "reproducer" in row]
    assert len(groups) > len(with_script)
    assert sorted(set(groups)) == sorted(with_script)
    assert f"test_backend/part/reproducers ({len(with_script)} script" in run.output


def test_no_path_of_the_machine_is_in_a_reproducer(third_parties: Run) -> None:
    paths = (str(Path.home()) + "/", str(third_parties.folder), os.path.dirname(json.__file__), sys.prefix)
    for name in PLAIN:
        for script in scripts_of(third_parties, name).values():
            for file in filter(Path.is_file, script.parent.iterdir()):  # beside it Python keeps what it compiled
                data = file.read_bytes()
                assert not [path for path in paths if path.encode() in data], file.name


def test_a_library_that_is_not_found_is_asked_for(third_parties: Run, tmp_path: Path) -> None:
    original = next(iter(scripts_of(third_parties, "test_backend").values()))
    script = _copied(original.parent, tmp_path / "copy", "support.py")
    support = script.with_name("support.py")
    support.write_text(support.read_text().replace("libjitbackend_test.so", "libnowhere.so"))
    told = run_script(script)
    assert told.exit_code == 2
    assert "libnowhere.so was not found" in told.output
    assert "--library PATH" in told.output
    assert "Traceback" not in told.output


def test_a_script_that_breaks_says_so_and_does_not_claim_the_failure(third_parties: Run, tmp_path: Path) -> None:
    original = scripts_of(third_parties, "test_backend")[ADD]
    told = run_script(_copied(original.parent, tmp_path / "without inputs", "support.py"))
    assert told.exit_code == 3, told.output
    assert "inputs.pt" in told.output
    told = run_script(_copied(original.parent, tmp_path / "without support"))
    assert told.exit_code == 2, told.output
    assert "No module named 'support'" in told.output


def _copied(folder: Path, to: Path, *beside: str) -> Path:
    """The script of a folder in another one, with some of what lies beside it."""
    to.mkdir()
    for name in ("reproduce.py", *beside):
        (to / name).write_bytes((folder / name).read_bytes())
    return to / "reproduce.py"


def test_a_script_shows_the_model_the_calls_and_the_comparison(third_parties: Run) -> None:
    lines = scripts_of(third_parties, "test_backend")[ADD].read_text().splitlines()
    shown = ("class Add(", "load_backend()", "torch._C._jit_to_backend(", "lowered.forward(", "fails=(")
    places = [next(n for n, line in enumerate(lines) if text in line) for text in shown]
    assert places == sorted(places)
    assert len(lines) <= 50


# Saboteurs.


@pytest.fixture(scope="module")
def sabotaged(shared_run: Callable[..., Run]) -> Run:
    names = [f"--backend={name}" for name in SABOTAGED]
    chosen = [f"({name} and {clause})" for name, clause in SABOTAGED.items()]
    return shared_run(
        *names, "--conformance-reproducers=1", "--conformance-timeout=4", "-k", " or ".join(chosen), "-n", "2"
    )


def test_failures_of_every_kind_show_again(sabotaged: Run) -> None:
    scripts = {name: next(iter(scripts_of(sabotaged, name).values()), None) for name in SABOTAGED}
    assert None not in scripts.values(), scripts
    with ThreadPoolExecutor(2) as pool:
        told = dict(zip(scripts, pool.map(run_script, filter(None, scripts.values())), strict=True))
    assert {name: each.exit_code for name, each in told.items()} == dict.fromkeys(scripts, 1), told
    expected = {
        "segfaults_in_preprocess": "was killed by SIGSEGV",
        "hangs_in_compile": "did not come back in time",
        "claims_without_execute": "is_available() is True, but measured compile/execute is yes/no",
        "exits_with_1_at_exit": "exited with code 1",
    }
    for name, text in expected.items():
        assert text in told[name].output


def test_what_needs_the_authors_class_says_so(sabotaged: Run) -> None:
    (script,) = scripts_of(sabotaged, "hangs_in_compile").values()
    said = " ".join(script.with_name("support.py").read_text().split())
    assert "torch-conformance: the backend is registered by the Python of its" in said


# Every clause and every verb.


@dataclasses.dataclass
class Attempt:
    """A cell that was run on a backend that conforms, and is told as if its clause had failed at its end."""

    clause: Clause
    steps: tuple[Step, ...]
    script: Reproducer


@pytest.fixture(scope="module")
def run_context() -> Iterator[RunContext]:
    pool = ZygotePool(Limits())
    (candidate,) = select(["reference"], None, pool)
    assert candidate.description is not None
    yield RunContext(pool, 0, {"reference": candidate.description})
    pool.close()


@pytest.fixture(scope="module")
def reference(run_context: RunContext) -> Description:
    return run_context.descriptions["reference"]


@pytest.fixture(scope="module")
def library(reference: Description) -> str:
    return str(reference.prepared["REFERENCE_BACKEND_LIBRARY"])


@pytest.fixture(scope="module")
def attempts(run_context: RunContext, reference: Description) -> list[Attempt]:
    """One for each clause that the reference backend can be tried on."""
    made = []
    backend = ReproducerWriter(run_context, 1)._ask(reference, _cases())
    calls = functools.partial(run_context.calls, toolchain="torchscript")
    for clause in _with_scripts():
        cell = next((each for each in cells_of(clause, reference) if each.decided is None), None)
        if cell is None:
            continue
        function, names = suite_function(clause)
        context = CellContext(run_context, cell, reference)
        assert context.attempt(function, {name: context.part(name) for name in names}).verdict in (
            Verdict.PASS,
            Verdict.NOT_APPLICABLE,
        )
        steps = tuple(context.trace.steps)
        facts = FailingCell(cell, ConformanceFailure("on purpose"), steps, reference, 0, function, names, calls)
        made.append(
            Attempt(clause, steps, reproducer(facts, Outcome(Verdict.FAIL, "run", "x"), backend, Limits(60, 2**33)))
        )
    return made


def _with_scripts() -> list[Clause]:
    """The clauses of delegates, but for those that ask for what only a run has, or generate their models."""
    written = [each for each in shipped_clauses() if each.speaks_of is not SpeaksOf.GENERATED]
    clauses = [each for each in written if each.toolchain == "torchscript"]
    return [each for each in clauses if not {"native", "goldens", "operators"} & set(suite_function(each)[1])]


def _cases() -> list[str]:
    import_cases("torchscript")
    return [case.name for case in registered_cases() if case.toolchain == "torchscript"]


def _verbs_of_clauses() -> list[str]:
    return [
        name for name in verb.names() if not verb.named(name).__module__.endswith((".generate.verbs", ".operators"))
    ]


@pytest.mark.runs
def test_every_clause_and_every_verb_has_a_script(attempts: list[Attempt], tmp_path: Path) -> None:
    assert {each.clause.id for each in attempts} == {each.id for each in _with_scripts()}
    asked = {step.verb for each in attempts for step in each.steps}
    # Eager outputs are computed for the harness; the rest is asked by no clause that the reference backend comes to.
    assert set(_verbs_of_clauses()) - asked <= {"samples"}
    for each in attempts:
        text = code_of(each.script.files)
        ast.parse(text)
        assert not re.search(r"^\s*(from|import) conformance", text, re.MULTILINE), each.clause.id
        assert "Subject()" not in text
        (tmp_path / f"{each.clause.id}.py").write_text(text)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821,E9", str(tmp_path)]
    linted = subprocess.run(command, capture_output=True, text=True, check=False)
    assert linted.returncode == 0, linted.stdout[:3000]


def test_a_finding_of_a_generated_cell_is_in_the_report(run_context: RunContext, reference: Description) -> None:
    clause = generated_clause()
    (cell, _) = cells_of(clause, reference)
    failure = FailureRecord(ConformanceFailure("on purpose"), Trace())
    result = Result(cell, Outcome(Verdict.FAIL, "run", "x"), {}, Record(), Margin(), failure)
    told = ReproducerWriter(run_context, 1).write(result, lambda: None, ())
    assert told == {"problem": f"{cell.id}: what it found stands in the report, each with the program that shows it"}


@pytest.mark.parts
def test_what_only_a_program_without_python_answers_is_said(
    attempts: list[Attempt], run_context: RunContext, reference: Description
) -> None:
    clause = next(each for each in shipped_clauses() if each.id == "native.threads")
    cell = next(each for each in cells_of(clause, reference) if each.decided is None)
    steps = next(each.steps for each in attempts if each.clause.id == "lite.same-outputs")
    asked = dataclasses.replace(steps[-1], verb="run_at_once")
    calls = functools.partial(run_context.calls, toolchain="torchscript")
    failure = ConformanceFailure("on purpose")
    facts = FailingCell(cell, failure, (*steps, asked), reference, 0, *suite_function(clause), calls)
    with pytest.raises(CannotReproduce, match=r"\(run_at_once\) only a program without it answers"):
        reproducer(
            facts,
            Outcome(Verdict.FAIL, "run", "x"),
            ReproducerWriter(run_context, 1)._ask(reference, _cases()),
            Limits(60, 1),
        )


@pytest.mark.runs
@pytest.mark.parametrize("clause", ["composition.several", "save-load.again", "availability.host"])
def test_a_clause_that_holds_is_not_reproduced(
    attempts: list[Attempt], clause: str, library: str, tmp_path: Path, without_harness: Path
) -> None:
    attempt = next(each for each in attempts if each.clause.id == clause)
    for name, data in attempt.script.files.items():
        (tmp_path / name).write_bytes(data)
    told = run_script(tmp_path / "reproduce.py", f"--library={library}", site=without_harness)
    assert told.exit_code == 0, told.output
    assert "nothing was found wrong" in told.output


# Where they are kept.


def test_none_are_written_when_none_are_wanted(project: Project) -> None:
    run = project.run(
        "--backend=test_backend", "-k", "test_outputs and lowering and add", "--conformance-reproducers=0"
    )
    assert not scripts_of(run, "test_backend")
    assert not (run.report_folder("test_backend") / "reproducers").exists()
    refused = project.run("--backend=test_backend", "--conformance-reproducers=-1")
    assert refused.exit_code == 4
    assert "--conformance-reproducers takes 0 or a positive number, found -1" in refused.output


def test_reproducers_of_an_earlier_run_are_removed_and_nothing_else(tmp_path: Path) -> None:
    row = {"clause": "a.b", "verdict": "FAIL", "phase": "run"}
    files = {
        "reproduce.py": b"# Written by torch-conformance: a failure of a backend, to be seen without the harness.\n"
    }
    reproducers = ReproducerFolder(tmp_path, 1)
    assert reproducers.write(row, Reproducer("mine", {**files, "support.py": b"", "artifact-1.pt": b"x"}).as_message())
    assert reproducers.write(row, Reproducer("second", files).as_message()) is None
    (tmp_path / "reproducers/theirs").mkdir()
    (tmp_path / "reproducers/theirs/reproduce.py").write_text("print('written by hand')\n")
    ReproducerFolder(tmp_path, 1).clear()
    assert [path.name for path in (tmp_path / "reproducers").iterdir()] == ["theirs"]
    (tmp_path / "reproducers/theirs/reproduce.py").unlink()
    (tmp_path / "reproducers/theirs").rmdir()
    ReproducerFolder(tmp_path, 1).clear()
    assert not (tmp_path / "reproducers").exists()
