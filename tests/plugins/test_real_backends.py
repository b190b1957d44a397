"""What the harness says of backends that nobody broke on purpose."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.project import Run

#: They would be the larger part of the work, and are tested elsewhere.
NO_SCRIPTS = "--conformance-reproducers=0"


@pytest.mark.parts
def test_the_demo_computes_only_the_first_element(shared_run: Callable[..., Run]) -> None:
    run = shared_run(
        "--backend=backend_with_compiler_demo", "-k", "test_lowering and (test_outputs or test_refusal)", NO_SCRIPTS
    )
    rows = {row["id"]: row for row in run.report("backend_with_compiler_demo")["cells"]}
    row = rows["lowering.outputs[add-full-yes/yes]"]
    assert (row["verdict"], row["phase"]) == ("FAIL", "run")
    assert "5 of 6 elements differ" in row["message"]
    assert rows["lowering.outputs[zero_dim-full-yes/yes]"]["verdict"] == "PASS"
    assert rows["lowering.outputs[empty-full-yes/yes]"]["verdict"] == "CRASH"
    assert rows["lowering.outputs[elementwise-full-yes/yes]"]["verdict"] == "UNSUPPORTED"
    assert rows["lowering.refusal[elementwise-full-yes/yes]"]["verdict"] == "PASS"


def test_pytorchs_test_backend_returns_wrong_values(shared_run: Callable[..., Run]) -> None:
    chosen = "(test_outputs and lowering) or availability"
    run = shared_run("--backend=test_backend", "--backend=test_backend_unavailable", "-k", chosen, NO_SCRIPTS)
    verdicts = run.verdicts("test_backend")
    for case in ("add", "conv_net", "several_outputs"):
        assert verdicts[f"lowering.outputs[{case}-full-yes/yes]"] == ("FAIL", "run")
    tables = [run.report(name)["availability"] for name in ("test_backend", "test_backend_unavailable")]
    assert [row["host"] for table in tables for row in table["host"]] == ["yes/yes", "no/no"]
    twin = {row["id"]: row for row in run.report("test_backend_unavailable")["cells"]}
    assert "is_available() is False, but measured" in twin["availability.claim[add-full-no/no]"]["message"]
    assert twin["lowering.outputs[add-full-yes/yes]"]["verdict"] == "NOT_EXERCISED"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "level"), [("reference", "complete"), ("python_control", "mobile")])
def test_conforming_backends_reach_their_level(shared_run: Callable[..., Run], name: str, level: str) -> None:
    options = ("-n", "2", "--conformance-level=mobile", "--conformance-generated=25")
    run = shared_run("--backend=reference", "--backend=python_control", *options, seconds=900)
    report = run.report(name)
    assert run.exit_code == 0, run.output
    assert report["certification"]["achieved"] == level
    not_exercised = {row["suite"] for row in report["cells"] if row["verdict"] == "NOT_EXERCISED"}
    assert not_exercised == ({"native"} if name == "python_control" else set())
    assert set(report["summary"]["verdicts"]) <= {"PASS", "UNSUPPORTED", "NOT_APPLICABLE", "NOT_EXERCISED"}
    exercised = {row["clause"] for row in report["cells"] if row["verdict"] == "PASS"}
    graded = {row["clause"] for row in report["cells"] if row["level"] != "reported" and row["suite"] != "native"}
    # A backend that registers itself by no library has no copy of one to refuse, and none for a program without Python.
    assert graded - exercised <= ({"lowering.registered-twice"} if name == "python_control" else set())
