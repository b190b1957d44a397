"""A distribution that lives outside adds a case, clauses, a report format, a target and a toolchain.

It is `tests/support/outside`, and touches nothing of ours.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.project import Project

OUTSIDE = Path(__file__).parent / "support" / "outside"


@pytest.fixture
def extended(project: Project) -> Project:
    """A project in which the distribution is installed as its own pyproject.toml says."""
    described = tomllib.loads((OUTSIDE / "pyproject.toml").read_text())["project"]
    shutil.copytree(OUTSIDE / "src" / "outside", project.site / "outside")
    metadata = project.site / "outside-1.2.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: outside\nVersion: {described['version']}\n")
    points = described["entry-points"]
    (metadata / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in each.items())
            for group, each in points.items()
        )
    )
    return project


@pytest.mark.parts
def test_a_toolchain_of_its_own(extended: Project) -> None:
    run = extended.run("--backend=postfix", "--backend=postfix_wrong", "-q")
    assert run.exit_code == 1, run.output
    right, wrong = run.report("postfix"), run.report("postfix_wrong")
    assert right["backend"]["toolchain"] == "postfix"
    assert right["certification"]["achieved"] == "core", right["certification"]
    assert {row["id"]: row["verdict"] for row in right["cells"]} == {
        "postfix.results[difference-call-yes/yes]": "PASS",
        "postfix.results[mean-call-yes/yes]": "PASS",
        "postfix.refusal[mean-call-yes/yes]": "PASS",
        "postfix.where[mean-call-yes/yes-yes/yes]": "PASS",
    }
    assert run.verdicts("postfix_wrong")["postfix.results[mean-call-yes/yes]"] == ("FAIL", "run")
    assert wrong["certification"]["achieved"] is None
    assert (extended.folder / "conformance-report" / "postfix" / "report.html").is_file()


def test_a_wrong_compiler_fails_beside_a_right_control(extended: Project) -> None:
    """Plain Python stands in for the backend in the control, so that the failure is the backend's."""
    run = extended.run("--backend=postfix_wrong", "-n", "2", "-q")
    rows = {row["id"]: row for row in run.report("postfix_wrong")["cells"]}
    assert "gives" in rows["postfix.results[difference-call-yes/yes]"]["message"]
    assert rows["postfix.refusal[mean-call-yes/yes]"]["verdict"] == "PASS"


def test_a_case_and_a_clause(extended: Project) -> None:
    run = extended.run("--backend=reference", "-q", "-k", "test_mean or test_unregistered")
    assert run.exit_code == 0, run.output
    assert run.verdicts("reference")["outside.mean[outside_running_mean-full-yes/yes-yes/yes]"] == ("PASS", "")


def test_a_case_of_an_extension_is_not_tried_by_the_contract(extended: Project) -> None:
    run = extended.run("--backend=reference", "-q", "--collect-only")
    assert "outside_running_mean" in run.output
    assert "test_outputs[reference-outside_running_mean" not in run.output


def test_a_report_format(extended: Project) -> None:
    run = extended.run("--backend=postfix", "-q")
    lines = (extended.folder / "conformance-report" / "postfix" / "report.txt").read_text().splitlines()
    assert "PASS postfix.refusal[mean-call-yes/yes]" in lines
    report = str(run.folder / "conformance-report" / "postfix" / "report.json")
    shown = subprocess.run(
        [sys.executable, "-m", "conformance.cli", "show", report, "--format", "lines"],
        env=extended.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.splitlines() == lines


def test_a_target(extended: Project) -> None:
    run = extended.run("--backend=postfix", "-q", "--conformance-target=board=red")
    assert run.exit_code == 0, run.output
    report = run.report("postfix")
    assert report["target"]["spec"] == "board"
    (where,) = [row for row in report["cells"] if row["clause"] == "postfix.where"]
    assert where["notes"] == ["host: no board, target: red"]
    assert "board=red" not in json.dumps(report)
    refused = extended.run("--backend=reference", "--conformance-target=board=")
    assert refused.exit_code == 4
    assert "board= needs the name of a board" in refused.output
    assert "our board, as processes here" in refused.output


HOOK = "from conformance import hookimpl\n@hookimpl\ndef {}:\n    {}\n"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise RuntimeError('no licence')", "cannot be imported: RuntimeError: no licence"),
        (HOOK.format("conformance_tollchains()", "return []"), "implements a hook that there is not"),
        (
            HOOK.format("conformance_toolchains()", "return ['mine']"),
            "gives str by the hook conformance_toolchains, where a conformance.toolchains._toolchain.Toolchain was",
        ),
        (
            HOOK.format("conformance_toolchains()", "return hookimpl"),
            "gives HookimplMarker by the hook conformance_toolchains, where a list of conformance.toolchains.",
        ),
        (
            HOOK.format("conformance_toolchains()", "raise RuntimeError('no licence')"),
            "fails in the hook conformance_toolchains: RuntimeError: no licence",
        ),
        (
            HOOK.format("conformance_toolchains()", "yield 1 / 0"),
            "fails in the hook conformance_toolchains: ZeroDivisionError: division by zero",
        ),
    ],
    ids=["import", "hook", "type", "no list", "raises", "generator"],
)
def test_an_extension_that_cannot_be_used_is_named(source: str, said: str, tmp_path: Path) -> None:
    install_broken(tmp_path, source)
    done = subprocess.run(
        [sys.executable, "-m", "conformance.cli", "clauses"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("conformance: the extension 'broken' of broken (broken_extension) ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_an_extension_that_cannot_be_used_ends_a_run(project: Project) -> None:
    install_broken(project.site, HOOK.format("conformance_toolchains()", "return ['mine']"))
    run = project.run("--backend=eager")
    assert run.exit_code == 4, run.output
    assert "the extension 'broken' of broken (broken_extension) gives str by the" in " ".join(run.output.split())
    assert "Traceback" not in run.output


def test_an_extension_may_give_nothing(tmp_path: Path) -> None:
    install_broken(tmp_path, HOOK.format("conformance_toolchains()", "pass"))
    command = "from conformance.toolchains import toolchains; print(len(toolchains()))"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "3\n"


def install_broken(site: Path, source: str) -> None:
    """A distribution with an extension of this source."""
    (site / "broken_extension.py").write_text(source)
    metadata = site / "broken-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[conformance]\nbroken = broken_extension\n")
