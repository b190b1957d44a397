"""Known failures still run, and are held against what happens."""

from __future__ import annotations

import pytest
from conftest import Project

SELECTION = ("--backend=backend_with_compiler_demo", "-k", "test_deepcopy or test_selective_errors")


def entry(clause: str, case: str, verdict: str = "FAIL", phase: str = "run") -> str:
    """One entry of a file of expectations."""
    entries = {"clause": clause, "case": case, "verdict": verdict, "phase": phase, "reason": "known"}
    return "\n".join(["[[expect]]", *(f'{name} = "{value}"' for name, value in entries.items()), ""])


def test_known_failures_are_excused_and_others_are_not(project: Project) -> None:
    project.write("known.toml", entry("composition.deepcopy", "*"))
    run = project.run(*SELECTION, "--conformance-expectations=known.toml")
    assert run.exit_code == 0, run.output
    verdicts = run.verdicts("backend_with_compiler_demo")
    assert verdicts["composition.deepcopy[add-full-yes/yes]"] == ("XFAIL", "run")
    project.write("known.toml", entry("composition.deepcopy", "two_methods"))
    assert project.run(*SELECTION, "--conformance-expectations=known.toml").exit_code == 1


@pytest.mark.parametrize(
    ("expectation", "verdict"),
    [
        (entry("composition.selective-errors", "add"), "XPASS"),
        (entry("composition.deepcopy", "add", "CRASH"), "XFAIL_MISMATCH"),
        (entry("composition.deepcopy", "add", "FAIL", "lower"), "XFAIL_MISMATCH"),
    ],
)
def test_expectations_do_not_rot(project: Project, expectation: str, verdict: str) -> None:
    project.write("known.toml", entry("composition.deepcopy", "two_methods") + expectation)
    run = project.run(*SELECTION, "--conformance-expectations=known.toml")
    assert run.exit_code == 1
    assert verdict in run.report("backend_with_compiler_demo")["summary"]["verdicts"]


def test_an_entry_that_matches_nothing_fails_the_run(project: Project) -> None:
    project.write("known.toml", entry("composition.deepcopy", "*") + entry("composition.deepcopy", "no_such_case"))
    run = project.run(*SELECTION, "--conformance-expectations=known.toml")
    assert run.exit_code == 1
    assert "an expectation matches no cell of this run" in run.output


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[expect]\n", "are not TOML"),
        ('[[expect]]\nclause = "a"\n', "'verdict' is a required property"),
        (entry("a", "b", verdict="BAD"), "'BAD' is not one of"),
        (entry("a", "b") + "nonsense = 1\n", "'nonsense' was unexpected"),
    ],
)
def test_a_corrupt_file_is_explained(project: Project, text: str, complaint: str) -> None:
    project.write("known.toml", text)
    run = project.run(*SELECTION, "--conformance-expectations=known.toml")
    assert run.exit_code == 4
    assert complaint in run.output
