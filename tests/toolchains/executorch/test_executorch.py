"""ExecuTorch's delegates, tried by the harness as a user would: the reference delegate, one that is wrong, the list."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import pytest
from support.project import Run

from conformance.contract import contract_digest
from conformance.toolchains import toolchain_named

HAS_DELEGATES = importlib.util.find_spec("torch_conformance_saboteurs_executorch") is not None
LACKING = toolchain_named("executorch").lacking() or ("" if HAS_DELEGATES else "its plugins: see .ci/executorch")
pytestmark = pytest.mark.skipif(bool(LACKING), reason=LACKING)

OF_TWO_OPERATORS = ("--conformance-operators=add,cumsum", "--conformance-operator-samples=1")
FEW = "(test_outputs and (add or linear)) or (test_delegated and left_over) or test_unregistered or test_target"


def test_a_delegate_is_certified_in_the_phases_of_both_halves(shared_run: Callable[..., Run]) -> None:
    run = shared_run("--backend=reference_executorch", "-k", FEW)
    assert run.exit_code == 0, run.output
    report = run.report("reference_executorch")
    assert report["backend"]["toolchain"] == "executorch"
    assert report["harness"]["contract"]["sha256"] == contract_digest("executorch")
    cells = {row["id"]: row for row in report["cells"]}
    linear = cells["delegate.outputs[linear-runtime-yes/yes-yes/yes]"]
    assert list(linear["seconds"]) == ["register", "export", "lower", "emit", "load", "init", "run", "release"]
    assert {row["verdict"] for row in cells.values() if row["case"]} <= {"PASS", "NOT_EXERCISED"}


def test_the_share_that_is_delegated_is_told(shared_run: Callable[..., Run]) -> None:
    report = shared_run("--backend=reference_executorch", "-k", FEW).report("reference_executorch")
    (row,) = [row for row in report["cells"] if row["id"].startswith("delegate.delegated[left_over")]
    assert row["notes"] == ["left_over.forward: 67% of the nodes are delegated"]


def test_where_it_is_not_available_it_is_refused_by_name(shared_run: Callable[..., Run]) -> None:
    verdicts = shared_run("--backend=reference_executorch", "-k", FEW).verdicts("reference_executorch")
    refused = [name for name in verdicts if name.startswith(("registry.target", "registry.unregistered"))]
    assert len(refused) == 3
    assert {verdicts[name] for name in refused} == {("PASS", "")}


def test_the_table_of_operators_tells_what_is_taken_and_what_is_left(shared_run: Callable[..., Run]) -> None:
    run = shared_run("--backend=adds_a_thousandth", "--conformance-select=delegate.operators", *OF_TWO_OPERATORS)
    assert run.exit_code == 0, run.output
    found = {(row["operator"], row["dtype"]): row for row in run.report("adds_a_thousandth")["operators"]["rows"]}
    assert found["add", "float32"]["outcome"] == "wrong"
    assert found["cumsum", "float32"]["outcome"] == "not_applicable"
    assert "leaves all of it to PyTorch" in found["cumsum", "float32"]["message"]


def test_a_delegate_whose_programs_run_elsewhere_is_held_against_the_contract_as_far_as_lowering_goes(
    shared_run: Callable[..., Run],
) -> None:
    run = shared_run(
        "--backend=VulkanBackend", "-k", "(test_outputs or test_delegated) and add-runtime or test_unregistered"
    )
    assert run.exit_code == 0, run.output
    found = {row["clause"]: (row["verdict"], row["message"]) for row in run.report("VulkanBackend")["cells"]}
    assert found["delegate.delegated"][0] == found["registry.unregistered"][0] == "PASS"
    verdict, message = found["delegate.outputs"]
    assert verdict == "NOT_EXERCISED"
    assert message.startswith("the run-time half of Vulkan is not in ExecuTorch's wheel")


@pytest.mark.parametrize(
    ("saboteur", "cell", "phase", "message"),
    [
        ("adds_a_thousandth", "delegate.outputs[linear", "run", "elements differ"),
        ("delegates_nothing", "delegate.delegated[add-", "inspect", "left to ExecuTorch's kernels: "),
        ("delegates_what_costs_nothing", "delegate.delegated[add-", "inspect", "left to ExecuTorch's kernels: "),
        ("lowers_only_where_available", "registry.target[add-runtime-no/no", "lower", "no device to compile for"),
        ("falls_back_to_the_last_good_blob", "program.blob-garbled[add-", "run", "expected an error, but it was"),
        ("consumes_its_specs", "program.specs[add-", "inspect", "expected the compile specs of a DelegationSpec"),
        ("adds_a_thousandth", "bundle.verifies[add_sub-", "run", "Result verification failed"),
    ],
)
def test_a_delegate_that_is_wrong_is_refused_by_the_clause(
    shared_run: Callable[..., Run], saboteur: str, cell: str, phase: str, message: str
) -> None:
    clause = {
        "delegate.outputs": "test_outputs and linear",
        "delegate.delegated": "test_delegated and add",
        "program.blob-garbled": "test_blob_garbled and add",
        "program.specs": "test_specs and add",
        "bundle.verifies": "test_verifies and add_sub",
    }
    wanted = clause.get(cell.partition("[")[0], "test_target")
    run = shared_run(f"--backend={saboteur}", "-k", wanted)
    assert run.exit_code == 1, run.output
    (row,) = [row for row in run.report(saboteur)["cells"] if row["id"].startswith(cell) and row["verdict"] != "PASS"]
    assert (row["verdict"], row["phase"]) == ("FAIL", phase)
    assert message in row["message"]
