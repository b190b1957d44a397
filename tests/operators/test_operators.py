"""The operator table: what it says of backends that are right, of broken ones, and where it cannot be had."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.operator_rows import outcomes, rows
from support.project import Project, Run

from conformance.cli import main
from conformance.compare.values import decode
from conformance.devices import Device, Ledger, Limits, ZygotePool
from conformance.operators import DTYPES
from conformance.operators.table import Errors, Outcome, Tried, row_of
from conformance.toolchains import default_toolchain

HANDFUL = "add,tanh,nn.functional.linear,rand_like,empty,item,addr"
#: The function that states the clause: the name of the folder may hold "operators" too.
TABLE = ("-k", "test_table")


@pytest.mark.parts
def test_the_reference_is_right(shared_run: Callable[..., Run]) -> None:
    run = shared_run("--backend=reference", f"--conformance-operators={HANDFUL}", *TABLE)
    assert run.exit_code == 0, run.output
    table = run.report("reference")["operators"]
    assert set(outcomes(run, "reference").values()) == {"right", "not_applicable"}
    assert sum(table["summary"].values()) == len(table["rows"])
    assert table["samples"] == sum(row["samples"] for row in table["rows"]) > 100
    added = rows(run, "reference", "add")
    assert list(added) == list(DTYPES)
    assert added["float32"] | {"message": ""} == {
        "operator": "add",
        "dtype": "float32",
        "outcome": "right",
        "samples": 3,
        "counts": {"right": 3},
        "max_abs": 0,
        "max_rel": 0,
        "ulp": 0,
        "sqnr_db": None,
        "message": "",
    }
    assert added["int64"]["ulp"] is None
    for row in (*rows(run, "reference", "item").values(),):
        assert (row["outcome"], row["counts"]) == ("not_applicable", {"not_applicable": row["samples"]})
        assert "the result is no tensor but" in row["message"]


@pytest.mark.quick
def test_values_that_differ_at_each_call_are_compared_by_their_outline(shared_run: Callable[..., Run]) -> None:
    run = shared_run("--backend=reference", f"--conformance-operators={HANDFUL}", *TABLE)
    for operator in ("empty", "rand_like"):
        row = rows(run, "reference", operator)["float32"]
        assert row["outcome"] == "right"
        assert "compared by dtype and shape only" in row["message"]
    assert rows(run, "reference", "empty")["float32"]["max_abs"] is None


@pytest.mark.quick
def test_every_face_shows_the_table(shared_run: Callable[..., Run], capsys: pytest.CaptureFixture[str]) -> None:
    run = shared_run("--backend=reference", f"--conformance-operators={HANDFUL}", *TABLE)
    assert "Operators: 7, in " in run.output
    folder = run.report_folder("reference")
    assert "### Operators" in (folder / "report.md").read_text()
    assert main(["operators", str(folder / "report.json"), "--outcome", "not_applicable"]) == 0
    said = capsys.readouterr().out
    assert "the result is no tensor" in " ".join(said.split())
    assert "nn.functional.linear" not in said
    assert main(["compare", *[str(folder / "report.json")] * 2]) == 0
    assert "0 of " in capsys.readouterr().out


def test_two_workers_come_to_the_same_table(shared_run: Callable[..., Run]) -> None:
    alone = shared_run("--backend=reference", f"--conformance-operators={HANDFUL}", *TABLE)
    spread = shared_run("--backend=reference", f"--conformance-operators={HANDFUL}", *TABLE, "-n", "2")
    assert spread.report("reference")["operators"] == alone.report("reference")["operators"]
    assert spread.report("reference")["plan"] == alone.report("reference")["plan"]


def test_a_run_that_does_not_ask_plans_no_operators(shared_run: Callable[..., Run]) -> None:
    asked = shared_run("--backend=reference", f"--conformance-operators={HANDFUL}", *TABLE).report("reference")
    plain = shared_run("--backend=reference", "-k", "test_stable").report("reference")
    assert "operators" not in plain
    first = [row["id"] for row in asked["cells"]][:2]
    assert first == ["operators.table[add-full-yes/yes]", "operators.table[item-full-yes/yes]"]
    assert asked["plan"]["deselected"] == plain["plan"]["cells"] + plain["plan"]["deselected"]


def test_a_saboteur_of_one_operator_is_wrong_there_only(project: Project) -> None:
    run = project.run("--backend=imprecise_tanh", "--conformance-operators=tanh,sigmoid,atan", *TABLE)
    found = outcomes(run, "imprecise_tanh")
    assert {operator for (operator, _), outcome in found.items() if outcome == "wrong"} == {"tanh"}
    assert set(found.values()) == {"wrong", "right"}
    worst = rows(run, "imprecise_tanh", "tanh")["float64"]
    assert 1e-3 < worst["max_rel"] <= 0.05
    assert worst["ulp"] > 1e12
    assert 20 < worst["sqnr_db"] < 80
    assert "elements differ beyond" in worst["message"]
    assert "wrong tanh: " in run.output
    assert run.exit_code == 0, "reported, not graded"


def test_a_saboteur_of_one_dtype_crashes_there_only(project: Project) -> None:
    run = project.run("--backend=dies_of_integers", "--conformance-operators=add,neg,sigmoid", *TABLE)
    found = outcomes(run, "dies_of_integers")
    assert {dtype for (_, dtype), outcome in found.items() if outcome == "crashed"} == {"int64"}
    assert set(found.values()) == {"crashed", "right"}
    row = rows(run, "dies_of_integers", "add")["int64"]
    assert row["counts"] == {"crashed": 3}
    assert "killed by SIGABRT during run" in row["message"]


def test_the_demo_of_pytorch_refuses_by_name_and_is_wrong(project: Project) -> None:
    run = project.run("--backend=backend_with_compiler_demo", "--conformance-operators=rsub,mul", *TABLE)
    if run.exit_code == 4 and "does not ship" in run.output:
        pytest.skip("this build of torch has no demo backend")
    assert set(rows(run, "backend_with_compiler_demo", "mul")["float32"]["counts"]) == {"refused"}
    assert "aten::mul" in rows(run, "backend_with_compiler_demo", "mul")["float32"]["message"]
    subtracted = rows(run, "backend_with_compiler_demo", "rsub")
    assert (subtracted["float32"]["outcome"], subtracted["float32"]["max_rel"]) == ("wrong", pytest.approx(2, rel=0.5))
    assert subtracted["float64"]["outcome"] == "failed"
    assert "Only float tensors are compatible" in subtracted["float64"]["message"]


PECULIAR = """
    import time
    from torch_conformance_saboteurs.backends import PythonControl
    from torch_conformance_saboteurs.control import PythonBackend

    class _Peculiar(PythonBackend):
        runs = 0

        def call(self, handle, inputs):
            _Peculiar.runs += 1
            code = str(handle.function.graph)
            if "aten::hardswish" in code:
                time.sleep(60)
            result = super().call(handle, inputs)
            return result + 1 if "aten::exp(" in code and self.runs > 1 else result

    class Plugin(PythonControl):
        name = "peculiar"
        implementation = _Peculiar
"""


def test_a_sample_is_charged_with_its_own_faults_only(project: Project) -> None:
    """One that hangs costs its own time; and what an earlier one left behind is not a later one's fault."""
    project.install("peculiar", PECULIAR)
    arguments = ("--conformance-operators=abs,exp,nn.functional.hardswish,sin", "--conformance-operator-samples=1")
    run = project.run("--backend=peculiar", *arguments, "--conformance-timeout=3", *TABLE)
    found = outcomes(run, "peculiar")
    assert {operator for (operator, _), outcome in found.items() if outcome == "timeout"} == {"nn.functional.hardswish"}
    assert set(found.values()) == {"timeout", "right"}
    assert all(row["samples"] == 1 for row in run.report("peculiar")["operators"]["rows"])
    remarks = [row["message"] for row in rows(run, "peculiar", "exp").values()]
    assert any("right in a fresh process; wrong in one that had run other operators" in text for text in remarks)


FORGETFUL = """
    import torch
    from torch_conformance_saboteurs.backends import PythonControl
    from torch_conformance_saboteurs.control import PythonBackend

    class _Forgetful(PythonBackend):
        results = {}

        def call(self, handle, inputs):
            result = super().call(handle, inputs)
            if not isinstance(result, torch.Tensor):
                return result
            return _Forgetful.results.setdefault((result.shape, result.dtype), result)

    class Plugin(PythonControl):
        name = "forgetful"
        implementation = _Forgetful
"""


def test_what_is_wrong_after_other_samples_alone_is_a_finding_of_drawn_operators(project: Project) -> None:
    project.install("forgetful", FORGETFUL)
    run = project.run("--backend=forgetful", "--conformance-generated=40", "-k", "test_drawn and reductions")
    (row,) = [each for each in run.report("forgetful")["cells"] if each["verdict"] == "FAIL"]
    assert "right in a fresh process, and not after" in row["message"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--conformance-operators=add,tahn"], "named 'tahn'. Did you mean 'tan' or 'tanh'"),
        (["--conformance-operators=relu6"], "Did you mean 'nn.functional.relu6'"),
        (["--conformance-operators=,"], "takes 'all' or names of operators with commas between them"),
        (["--conformance-operators=add", "--conformance-operator-samples=0"], "takes a number from 1 up, found 0"),
    ],
)
def test_what_is_asked_wrongly_is_refused(project: Project, arguments: list[str], complaint: str) -> None:
    run = project.run("--backend=reference", *arguments)
    assert run.exit_code == 4
    assert complaint in run.output
    assert "Traceback" not in run.output


def test_what_the_samples_need_and_is_missing_is_named(project: Project) -> None:
    (project.site / "expecttest.py").write_text("raise ModuleNotFoundError(\"No module named 'expecttest'\")")
    run = project.run("--backend=reference", "--conformance-operators=add")
    assert run.exit_code == 4
    assert "No module named 'expecttest'" in run.output
    assert "pip install expecttest numpy" in run.output
    assert "Traceback" not in run.output


@pytest.fixture
def control() -> Iterator[Device]:
    """A process without a backend."""
    pool = ZygotePool(Limits())
    device = Device("control", lambda: pool.fork(default_toolchain().device("control"), None, {}), Ledger())
    yield device
    device.end()
    pool.close()


def test_samples_are_drawn_from_the_seed(control: Device) -> None:
    def inputs(operator: str, seed: int) -> list[Any]:
        made = control.call("operator_samples", operator=operator, dtype="float32", seed=seed, count=2)
        return [[tensor.tolist() for tensor in decode(sample["inputs"])] for sample in made]

    first = inputs("atan2", 1)
    assert inputs("sin", 1)
    assert inputs("atan2", 1) == first != inputs("atan2", 2)


def test_the_outcome_of_a_row_is_its_gravest_and_json_can_hold_it() -> None:
    tried = [
        Tried(Outcome.RIGHT, errors=Errors(0.5, 0.25, 2, 30.0)),
        Tried(Outcome.NOT_APPLICABLE, "PyTorch"),
        Tried(Outcome.WRONG, "far off", Errors(float("inf"), 0.5, None, 10.0)),
        Tried(Outcome.REFUSED, "no"),
    ]
    row = row_of("add", "bool", tried)
    assert (row["outcome"], row["message"], row["samples"]) == ("wrong", "far off", 4)
    assert row["counts"] == {"wrong": 1, "refused": 1, "right": 1, "not_applicable": 1}
    assert [row[name] for name in ("max_abs", "max_rel", "ulp", "sqnr_db")] == [None, 0.5, 2, 10.0]
    json.dumps(row, allow_nan=False)
