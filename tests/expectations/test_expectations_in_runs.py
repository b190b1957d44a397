"""Known failures in real runs: written, excused, and found to have rotted."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.entries import entry
from support.project import Project, Run

SELECTION = ("--backend=test_backend", "-k", "(test_deepcopy and not parameters) or test_selective_errors")
DEEPCOPY = "composition.deepcopy[add-full-yes/yes]"


@pytest.fixture(scope="module")
def updated(new_project: Callable[[str], Project]) -> tuple[Project, Run]:
    """A project in which a run on two workers has written the file of expectations."""
    project = new_project("updated")
    options = ("--conformance-expectations=known.toml", "--conformance-update-expectations")
    return project, project.run(*SELECTION, "-n", "2", *options)


def test_a_run_writes_what_the_next_one_excuses(updated: tuple[Project, Run]) -> None:
    project, run = updated
    assert run.exit_code == 1, run.output  # it was judged by the file as it was
    assert run.verdicts("test_backend")[DEEPCOPY] == ("FAIL", "run")
    assert "added: clause 'composition.deepcopy'" in run.output
    text = (project.folder / "known.toml").read_text()
    project.write("known.toml", text.replace("TODO: say why.", "It takes one argument only."))
    then = project.run(*SELECTION, "--conformance-expectations=known.toml", "-v")
    assert then.exit_code == 0, then.output
    assert then.verdicts("test_backend")[DEEPCOPY] == ("XFAIL", "run")
    assert "XFAIL (It takes one argument only." in then.output
    assert "Known failures" in then.output
    assert "It takes one argument only" in (then.report_folder("test_backend") / "report.md").read_text().replace(
        "\n", " "
    )


@pytest.mark.parts
def test_expectations_do_not_rot(project: Project) -> None:
    known = [
        entry("composition.selective-errors", case='"add"'),
        entry("composition.deepcopy", verdict="CRASH", case='"add"'),
        entry("composition.deepcopy", case='"two_methods"', expires="2026-01-01", since="2025-01-01"),
        entry("composition.deepcopy", case='"no_such_case"'),
        entry("composition.selective-errors", versions='{torch = "<2"}'),
        entry("lowering.outputs"),
    ]
    project.write("known.toml", "\n".join(known))
    options = (*SELECTION, "--conformance-expectations=known.toml")
    run = project.run(*options, "--conformance-strict-expectations=none", "-v")
    said = [
        *("WARNING: an expectation expired on 2026-01-01: entry 3", "WARNING: an expectation matches no cell"),
        "expectation skipped for test_backend: entry 5",
    ]
    assert [line for line in said if line not in run.output] == []
    assert "entry 6" not in run.output  # merely deselected
    verdicts = run.report("test_backend")["summary"]["verdicts"]
    assert {"XPASS", "XFAIL", "XFAIL_MISMATCH"} <= set(verdicts)
    assert run.exit_code == 0
    strict = project.run(*options, "-o", "conformance_strict_expectations=expired")
    assert strict.exit_code == 1
    assert "ERROR: an expectation expired" in strict.output
    assert "WARNING: an expectation matches no cell" in strict.output


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--conformance-expectations=known.toml",), "'verdict': expected one of"),
        (("--conformance-update-expectations",), "needs to be told which file"),
        (("--conformance-strict-expectations=often",), "there is no kind of strictness 'often'"),
        (("--conformance-reruns=-1",), "--conformance-reruns takes a number, 0 or more"),
    ],
)
def test_options_that_make_no_sense_are_explained(project: Project, options: tuple[str, ...], complaint: str) -> None:
    project.write("known.toml", entry(verdict="BAD"))
    run = project.run(*SELECTION, *options)
    assert run.exit_code == 4
    assert complaint in run.output
