"""torch.compile backends that declare what they lack, and refuse just that, fail nowhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.project import Project, Run

pytestmark = pytest.mark.slow

#: Lacks a few things, each of which shows in another way: in a symbol, an operator, or the data of a call.
PICKY = """
    import torch
    from conformance import DynamoBackend, Features, features

    class Plugin(DynamoBackend):
        features = (
            Features.all()
            .without(features.delegation, "runs in PyTorch")
            .without(features.dynamic_shapes, "each size is compiled for")
            .without(features.unbacked_sizes, "results have known sizes")
            .without(features.control_flow, "there are no branches")
            .without(features.loops, "there are no loops")
            .without(features.non_finite, "numbers are checked when code runs")
            .without(features.integers, "they are narrowed to 32 bits")
            .without(features.non_contiguous, "inputs are checked when code runs")
            .without(features.mixed_dtypes, "there is one dtype")
            .without(features.training, "there is no backward pass")
        )

    def check(arguments):
        for each in arguments:
            if not each.is_contiguous():
                raise RuntimeError("an input is not contiguous")
            if each.is_floating_point() and not each.isfinite().all():
                raise FloatingPointError("an input is not finite")
            if each.dtype == torch.int64 and (each.abs() >= 2**31).any():
                raise OverflowError("an input does not fit into 32 bits")
        floating = {each.dtype for each in arguments if not isinstance(each, torch.nn.Parameter)}
        if torch.float32 in floating and floating & {torch.float64, torch.int32}:
            raise TypeError("the inputs have several dtypes")

    def compiler(graph, example_inputs):
        if any(isinstance(each, torch.SymInt) for each in example_inputs):
            raise NotImplementedError("sizes are no symbols")
        if torch.is_grad_enabled() and any(each.requires_grad for each in example_inputs):
            raise NotImplementedError("there is no backward pass")
        for node in graph.graph.nodes:
            if any(word in str(node.target) for word in ("nonzero", "cond")):
                raise NotImplementedError(f"there is no {node.target}")

        def code(*arguments):
            check(arguments)
            return graph.forward(*arguments)

        return code
"""
#: Has the floor of operators, and refuses a graph with any other.
MODEST = """
    import operator
    import torch
    from conformance import DynamoBackend, Features, features

    class Plugin(DynamoBackend):
        features = Features.none("the floor alone").including(
            features.broadcasting, features.zero_dim, features.empty, features.large, features.non_contiguous,
            features.float64, features.half_precision, features.complex_numbers, features.non_finite,
            features.several_outputs, features.parameters, features.dynamic_shapes, features.training,
        )

    FLOOR = {operator.add, operator.sub, operator.mul, operator.truediv, torch.relu}

    def compiler(graph, example_inputs):
        for node in graph.graph.find_nodes(op="call_method"):
            sizes = node.target == "size"
            if not sizes:
                raise NotImplementedError(f"there is no {node.target}")
        for node in graph.graph.nodes:
            if node.op == "call_function" and node.target not in FLOOR:
                raise NotImplementedError(f"there is no {node.target}")
        if any(not each.dtype.is_floating_point and not each.dtype.is_complex for each in example_inputs
               if isinstance(each, torch.Tensor)):
            raise NotImplementedError("there are real and complex numbers alone")
        return graph.forward
"""
SOURCES = {"picky": PICKY, "modest": MODEST}
GUARDS = "test_dynamo_guards and (test_kinds or test_one_shape_env or test_specialisation)"
PARTS = {
    "picky": "test_outputs and (branch_on or loop or sizes or sized)"
    f" or test_refusal or test_training_refused or {GUARDS}",
    "modest": "test_outputs and (break or loop or sizes or several or scalars or dictionary or tuple)"
    f" or test_refusal and (matmul or reductions or cond or branch_on or nonzero or constants) or {GUARDS}"
    " or test_several_models or test_backward_again",
}


@pytest.fixture(scope="module")
def runs(new_project: Callable[[str], Project]) -> dict[str, Run]:
    done = {}
    for name, source in SOURCES.items():
        project = new_project(name)
        project.install(name, source)
        project.install(name, source, "compiler", group="torch_dynamo_backends")
        done[name] = project.run(f"--backend={name}", "-k", PARTS[name])
    return done


@pytest.mark.parametrize("name", SOURCES)
def test_a_backend_that_refuses_what_it_declares_missing_fails_nowhere(runs: dict[str, Run], name: str) -> None:
    failed = {
        row["id"]: row["message"]
        for row in runs[name].report(name)["cells"]
        if row["verdict"] not in ("PASS", "UNSUPPORTED", "NOT_APPLICABLE")
    }
    assert not failed
    assert runs[name].exit_code == 0, runs[name].output


@pytest.mark.parametrize(
    ("name", "clause", "cases"),
    [
        ("picky", "compile.refusal", {"nonzero", "cond", "non_finite", "beyond_32_bits", "odd_strides", "lookup"}),
        ("picky", "compile.outputs", {"branch_on_data", "loop", "sizes", "sized_backward"}),
        ("picky", "guards.specialisation", {"sizes"}),
        ("picky", "guards.kinds", {"chain"}),
        ("picky", "training.refusal", {"chain"}),
        ("picky", "guards.one-shape-env", {"sizes"}),
        ("modest", "compile.refusal", {"matmul", "reductions", "cond", "branch_on_data", "nonzero", "constants"}),
        ("modest", "compile.outputs", {"graph_break", "loop", "several_outputs", "scalars", "dictionary"}),
    ],
)
def test_and_is_tried_where_it_can_be(runs: dict[str, Run], name: str, clause: str, cases: set[str]) -> None:
    rows = {row["case"]: row["verdict"] for row in runs[name].report(name)["cells"] if row["clause"] == clause}
    assert {rows[case] for case in cases} == {"PASS"}
