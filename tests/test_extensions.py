"""A distribution that lives outside adds a case, clauses, a report format, a target and a toolchain.

It is `tests/support/outside`, and touches nothing of ours.
"""

from __future__ import annotations

import json
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


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise RuntimeError('no licence')", "cannot be imported: RuntimeError: no licence"),
        (
            "from conformance import hookimpl\n@hookimpl\ndef conformance_tollchains():\n    return []\n",
            "implements a hook that there is not",
        ),
        (
            "from conformance import hookimpl\n@hookimpl\ndef conformance_toolchains():\n    return ['mine']\n",
            "gives str by the hook conformance_toolchains",
        ),
    ],
    ids=["import", "hook", "type"],
)
def test_an_extension_that_cannot_be_used_is_named(project: Project, source: str, said: str) -> None:
    (project.site / "broken_extension.py").write_text(source)
    metadata = project.site / "broken-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[conformance]\nbroken = broken_extension\n")
    run = project.run("--backend=eager")
    assert run.exit_code == 4, run.output
    assert said in " ".join(run.output.split())
    assert "Traceback" not in run.output
