"""The operator table of torch.compile backends: between other operators, calibrated, and with what is delegated."""

from __future__ import annotations

from collections.abc import Callable

import torch
from support.operator_rows import outcomes, rows
from support.project import Project, Run

from conformance.operators.statistics import within_budget
from conformance.operators.table import Outcome, Tried, row_of
from conformance.operators.trial import _names, share_delegated

SUITE = ("-k", "test_table", "--conformance-operator-samples=1")
#: Runs what has a tanh in NumPy, refuses one operator, fails at another, and lets PyTorch run the others.
PECULIAR = """
    import numpy
    import torch

    def compiler(graph, example_inputs, **keywords):
        targets = {node.target for node in graph.graph.nodes}
        if torch.exp in targets:
            raise NotImplementedError("torch.exp is not supported")
        if torch.expm1 in targets:
            raise ValueError("an internal error")
        if torch.tanh not in targets or example_inputs[0].dtype != torch.float64:
            return graph.forward

        def code(*arguments):
            tensor, zero = (each.numpy() for each in sorted(arguments, key=lambda each: -each.ndim))
            return (torch.from_numpy(numpy.tanh(tensor - zero) - zero),)

        return code
"""
#: Computes what is subtracted in NumPy, and has PyTorch run all else.
SUBTRACTS = """
    import operator

    import numpy
    import torch

    def subtracted(one, other):
        return torch.from_numpy(numpy.asarray(one.numpy() - other.numpy()))

    def compiler(graph, example_inputs, **keywords):
        own = [node for node in graph.graph.nodes if node.target in (operator.sub, torch.sub) and not node.kwargs]
        for node in own if example_inputs[0].dtype == torch.float64 else []:
            node.target = subtracted
        graph.recompile()
        return graph.forward
"""


def test_what_is_delegated_refused_and_failed_is_told_apart(project: Project) -> None:
    project.install("peculiar", PECULIAR, "compiler", group="torch_dynamo_backends")
    run = project.run("--backend=peculiar", "--conformance-operators=tanh,exp,expm1,sgn", *SUITE)
    found = outcomes(run, "peculiar")
    assert {outcome for (operator, _), outcome in found.items() if operator == "exp"} == {"refused"}
    assert {outcome for (operator, _), outcome in found.items() if operator == "expm1"} == {"failed"}
    assert {outcome for (operator, _), outcome in found.items() if operator in ("tanh", "sgn")} == {"right"}
    shares = {dtype: row["delegated"] for dtype, row in rows(run, "peculiar", "tanh").items()}
    assert shares.pop("float64") == 1
    assert set(shares.values()) == {0}
    assert all("delegated" not in row for row in rows(run, "peculiar", "exp").values())
    assert "torch.exp is not supported" in rows(run, "peculiar", "exp")["bool"]["message"]


def test_what_stands_around_an_operator_is_no_part_of_what_is_delegated(project: Project) -> None:
    project.install("subtracts", SUBTRACTS, "compiler", group="torch_dynamo_backends")
    run = project.run("--backend=subtracts", "--conformance-operators=tanh,sub,t", *SUITE)
    assert rows(run, "subtracts", "tanh")["float64"]["delegated"] == 0
    assert rows(run, "subtracts", "sub")["float64"]["delegated"] == 1
    assert all("delegated" not in row for row in rows(run, "subtracts", "t").values()), "a view computes nothing"


def test_the_share_is_of_the_operators_own_work() -> None:
    around = ["aten::sub", "aten::sub"]
    assert share_delegated(["aten::tanh", *around], around, []) == 1
    assert share_delegated(["aten::tanh", *around], around, around) == 1
    assert share_delegated(["aten::tanh", *around], around, ["aten::tanh"]) == 0
    assert share_delegated(["aten::sub", *around], around, ["aten::sub", *around]) == 0
    assert share_delegated(["aten::mm", "aten::add", *around], around, ["aten::mm"]) == 0.5
    assert share_delegated(["aten::mm", *around], around, ["aten::exp", "aten::log"]) == 0
    assert share_delegated(around, around, around) is None


def test_a_saboteur_of_one_operator_is_wrong_there_only(shared_run: Callable[..., Run]) -> None:
    run = shared_run("--backend=dynamo_imprecise_tanh", "--conformance-operators=tanh,atan,rand_like", *SUITE)
    found = outcomes(run, "dynamo_imprecise_tanh")
    assert {operator for (operator, _), outcome in found.items() if outcome == "wrong"} == {"tanh"}
    assert {outcome for (operator, _), outcome in found.items() if operator == "atan"} == {"right"}
    assert {outcome for (operator, _), outcome in found.items() if operator == "rand_like"} == {"not_applicable"}
    worst = rows(run, "dynamo_imprecise_tanh", "tanh")["float64"]
    assert 1e-3 < worst["max_rel"] <= 0.05
    assert run.exit_code == 0, "reported, not graded"


def test_a_result_that_cancels_is_judged_by_the_exact_one() -> None:
    exact = (torch.tensor([1e-3, 2.0], dtype=torch.float64),)
    eager = (torch.tensor([1.1e-3, 2.0]),)
    assert within_budget((torch.tensor([0.7e-3, 2.0]),), eager, exact)
    assert not within_budget((torch.tensor([0.5e-3, 2.0]),), eager, exact)
    assert not within_budget((torch.tensor([1e-3, torch.nan]),), eager, exact)
    assert not within_budget((), eager, exact)


def test_an_operator_is_named_as_a_whole_word() -> None:
    assert _names("no lowering for aten.add.Tensor", "aten.add")
    assert _names("no lowering for aten::add", "aten::add")
    assert not _names("no lowering for aten::addmm", "aten::add")
    assert not _names("the graph has mathaten::add", "aten::add")


def test_what_is_delegated_is_the_mean_of_the_samples_that_ran() -> None:
    tried = [Tried(Outcome.RIGHT, delegated=1.0), Tried(Outcome.RIGHT, delegated=0.5), Tried(Outcome.REFUSED)]
    assert row_of("add", "bool", tried)["delegated"] == 0.75
    assert "delegated" not in row_of("add", "bool", [Tried(Outcome.REFUSED)])
