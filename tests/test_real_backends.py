"""What the harness says of backends that nobody broke on purpose."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from conftest import Run


def test_the_demo_computes_only_the_first_element(shared_run: Callable[..., Run]) -> None:
    run = shared_run("--backend=backend_with_compiler_demo", "-k", "test_lowering")
    rows = {row["id"]: row for row in run.report("backend_with_compiler_demo")["cells"]}
    row = rows["lowering.outputs[add-full-yes/yes]"]
    assert (row["verdict"], row["phase"]) == ("FAIL", "run")
    assert "5 of 6 elements differ" in row["message"]
    assert rows["lowering.outputs[zero_dim-full-yes/yes]"]["verdict"] == "PASS"
    assert rows["lowering.outputs[empty-full-yes/yes]"]["verdict"] == "CRASH"
    assert rows["lowering.outputs[elementwise-full-yes/yes]"]["verdict"] == "UNSUPPORTED"
    assert rows["lowering.refusal[elementwise-full-yes/yes]"]["verdict"] == "PASS"


def test_pytorchs_test_backend_returns_wrong_values(shared_run: Callable[..., Run]) -> None:
    run = shared_run("--backend=test_backend", "--backend=test_backend_unavailable", "-k", "outputs or availability")
    verdicts = run.verdicts("test_backend")
    for case in ("add", "conv_net", "several_outputs"):
        assert verdicts[f"lowering.outputs[{case}-full-yes/yes]"] == ("FAIL", "run")
    tables = [run.report(name)["availability"] for name in ("test_backend", "test_backend_unavailable")]
    assert [row["host"] for table in tables for row in table["host"]] == ["yes/yes", "no/no"]
    twin = {row["id"]: row for row in run.report("test_backend_unavailable")["cells"]}
    assert "is_available() is False, but measured" in twin["availability.claim[add-full-no/no]"]["message"]
    assert twin["lowering.outputs[add-full-yes/yes]"]["verdict"] == "NOT_EXERCISED"


@pytest.mark.parametrize("name", ["reference", "python_control"])
def test_conforming_backends_reach_mobile(shared_run: Callable[..., Run], name: str) -> None:
    run = shared_run("--backend=reference", "--backend=python_control", "-n", "2")
    report = run.report(name)
    assert run.exit_code == 0, run.output
    assert report["certification"]["achieved"] == "mobile"
    assert set(report["summary"]["verdicts"]) <= {"PASS", "UNSUPPORTED", "NOT_APPLICABLE"}
    exercised = {row["clause"] for row in report["cells"] if row["verdict"] == "PASS"}
    graded = {row["clause"] for row in report["cells"] if row["level"] != "reported"}
    # A backend that registers itself by no library has no copy of one to refuse.
    assert graded - exercised <= ({"lowering.registered-twice"} if name == "python_control" else set())
