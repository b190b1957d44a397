"""Targets of torch.compile, with the vendor's runtime and without: what is measured, and how each face shows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from support.project import Project, Run

from conformance.api.assertions import assert_as_expected
from conformance.api.availability import is_as_expected
from conformance.api.errors import ConformanceFailure, SubjectError
from conformance.report.formats.html import html
from conformance.report.formats.markdown import markdown
from conformance.report.formats.terminal import summary_text
from conformance.toolchains.dynamo.vendor_runtime import Shipment, expected_on_target, told, without_runtime

TARGET = ("-k", "test_dynamo_availability and test_target")
CELL = "runtime.target[chain-compile-yes/yes-yes/yes]"
NEEDS_RUNTIME = """
    from torch_conformance_saboteurs.dynamo_control import VENDOR, DynamoControl

    class Plugin(DynamoControl):
        name = "needs_runtime"

        def package(self, graph):
            from refusing_package import Refusing

            return Refusing(graph)
"""
REFUSING_PACKAGE = """
    from torch_conformance_saboteurs.dynamo_control import VENDOR, vendor_is_there
    from torch_conformance_saboteurs.dynamo_packages import Package

    class Refusing(Package):
        def __call__(self, *arguments):
            if not vendor_is_there():
                raise RuntimeError(f"needs_runtime executes by {VENDOR}, which is not there: install it")
            return super().__call__(*arguments)
"""


@pytest.fixture(scope="module")
def run(new_project: Callable[[str], Project]) -> Run:
    """Backends on a target: one that PyTorch brings along, one whose packages need a runtime, and one that hands its
    packages to PyTorch and does not say so."""
    project = new_project("targets")
    project.install("needs_runtime", NEEDS_RUNTIME)
    project.write("site/refusing_package.py", REFUSING_PACKAGE)
    names = ("aot_eager", "needs_runtime", "dynamo_packages_for_pytorch")
    return project.run(*(f"--backend={name}" for name in names), *TARGET)


def row_of(run: Run, backend: str) -> dict[str, Any]:
    """The row of the behaviour table on the target."""
    (row,) = run.report(backend)["availability"]["target"]
    assert isinstance(row, dict)
    return row


def came_to(where: str, **steps: str) -> dict[str, str]:
    """What steps came to in some circumstances, as the report has it."""
    return {f"{where}: {step}": end for step, end in steps.items()}


def test_a_package_may_refuse_where_the_runtime_is_missing(run: Run) -> None:
    assert run.verdicts("needs_runtime") == {CELL: ("PASS", "")}
    row = row_of(run, "needs_runtime")
    assert row["observed"] == {
        **came_to("present: program", load="ok", lower="ok", run="ok", uncompiled="ok"),
        **came_to("present: package", load="ok", run="ok"),
        **came_to("absent: program", load="ok", lower="refused", run="refused", uncompiled="ok"),
        **came_to("absent: package", load="ok", run="refused"),
    }
    assert row["expected"]["absent: package: run"] == "ok or refused"
    (cell,) = run.report("needs_runtime")["cells"]
    first, second = cell["notes"]
    assert "BackendCompilerFailed in lower, which says what to do" in first
    assert "RuntimeError in run, which says what to do: needs_runtime executes by" in second


def test_a_backend_of_pytorch_has_no_target_without_it(run: Run) -> None:
    assert run.verdicts("aot_eager") == {CELL: ("PASS", "")}
    assert not any(step.startswith("absent") for step in row_of(run, "aot_eager")["expected"])
    assert "There is no target without the backend's runtime" in run.output


@pytest.mark.parametrize(("delegates", "lowered"), [(True, "refused"), (False, "ok or refused")])
def test_only_who_computes_by_itself_must_refuse_without_its_runtime(delegates: bool, lowered: str) -> None:
    shipment = Shipment(case=Mock(), program=b"", package=b"", operators=["aten::mul"] if delegates else [])
    assert without_runtime(delegates=delegates) == lowered
    assert expected_on_target(shipment, present=False) == {
        "program: load": "ok",
        "program: lower": lowered,
        "program: run": lowered,
        "program: uncompiled": "ok",
        "package: load": "ok or refused",
        "package: run": "ok or refused",
    }
    assert set(expected_on_target(shipment, present=True).values()) == {"ok"}


def test_what_pytorch_computes_for_a_package_is_told(run: Run) -> None:
    assert run.verdicts("dynamo_packages_for_pytorch") == {CELL: ("FAIL", "run")}
    assert "present: package: run: expected ok, observed by PyTorch" in " ".join(run.output.split())


def test_every_face_shows_the_table(run: Run) -> None:
    report = run.report("needs_runtime")
    for face in (summary_text(report, 160), markdown(report)):
        assert "absent: package: load ok, run refused" in face
        assert "load ok or refused, run ok or refused" in face
    shown, broken = (
        html(each).split('id="behaviour"')[1].split("</section>")[0]
        for each in (report, run.report("dynamo_packages_for_pytorch"))
    )
    assert 'colspan="2" class="group">absent: package</th>' in shown
    assert '<td><span class="yes">✓</span> refused</td>' in shown
    assert "✗" not in shown
    assert "<b>✗ by PyTorch</b> <small>expected ok</small>" in broken


def test_a_step_may_come_to_one_of_several_things() -> None:
    assert is_as_expected("ok or refused", "refused")
    assert not is_as_expected("ok or refused", "wrong numbers")
    assert not is_as_expected("ok or refused", "ok or refused")
    assert not is_as_expected("ok", None)
    assert not is_as_expected(None, "ok")
    assert_as_expected({"run": "ok or refused"}, {"run": "ok"})
    with pytest.raises(ConformanceFailure, match="run: expected ok or refused, observed error"):
        assert_as_expected({"run": "ok or refused"}, {"run": "error (KeyError)"})


@pytest.mark.parametrize(("advice", "says"), [("install npu-runtime", True), ("it is not there", False)])
def test_what_dynamo_advises_is_no_remedy(advice: str, says: bool) -> None:
    text = f"backend='npu' raised:\nRuntimeError: {advice}\n\nSet TORCHDYNAMO_VERBOSE=1 for the internal stack trace"
    said = told(SubjectError("lower", "torch._dynamo.exc.BackendCompilerFailed", (), text))
    assert ("which says what to do" in said) is says
    assert "TORCHDYNAMO" not in said
