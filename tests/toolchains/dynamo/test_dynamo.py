"""torch.compile backends: chosen with no code, told apart, given options; and PyTorch's own broken ones are caught."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from support.descriptions import ANY_BACKENDS
from support.project import Project, Run

from conformance.api.errors import ConformanceFailure
from conformance.api.verdicts import Verdict
from conformance.cli import main
from conformance.compare.comparison import assert_close
from conformance.contract import Level, levels_of, shipped_clauses
from conformance.run.plan import cells_of
from conformance.toolchains import Source
from conformance.toolchains.dynamo.assertions import assert_counts
from conformance.toolchains.dynamo.client import Counts
from conformance.toolchains.dynamo.plugin import _written_down

REGISTERED = """
    def compiler(graph, example_inputs, **keywords):
        options = keywords.get("options", {})
        if options.get("level") == 3:
            raise RuntimeError("level 3 is \\x1b[2Jnot there yet")
        return graph.forward
"""
REWRITING = """
    def compiler(graph, example_inputs, **keywords):
        output = graph.graph.output_node()
        (output.args,) = output.args
        graph.recompile()
        return lambda *arguments: (graph(*arguments),)
"""
CLASS = """
    from conformance import DynamoBackend, Features, features

    class Plugin(DynamoBackend):
        features = Features.all().without(features.delegation, "runs in PyTorch")
        options = {"level": 2}
"""
OF_THE_OTHER_TOOLCHAIN = """
    from torch_conformance_reference.backend import ReferenceBackend as Plugin
"""
#: One model, and the clauses that say the most about it.
PART = "test_dynamo_lowering and chain and (test_outputs or test_once or test_non_leaf or test_delegated)"
OUTPUTS, DELEGATED = "compile.outputs[chain-compile-yes/yes]", "compile.delegated[chain-compile-yes/yes]"


@pytest.mark.quick
def test_a_name_that_pytorch_knows_needs_no_code(shared_run: Callable[..., Run]) -> None:
    run = shared_run("--backend=aot_eager", "-k", PART)
    assert run.exit_code == 0, run.output
    backend = run.report("aot_eager")["backend"]
    assert (backend["toolchain"], backend["distribution"], backend["options"]) == ("dynamo", "torch", {})
    assert "PyTorch registers it for debugging" in backend["features"]["missing"]["delegation"]
    assert {row["suite"] for row in run.report("aot_eager")["cells"]} == {"dynamo_lowering"}


@pytest.mark.parametrize(
    ("name", "breach"),
    [
        ("relu_compile_error_TESTING_ONLY", {"compile.outputs": "lower", "compile.once": "lower"}),
        ("relu_runtime_error_TESTING_ONLY", {"compile.outputs": "run", "compile.once": "run"}),
        ("relu_accuracy_error_TESTING_ONLY", {"compile.outputs": "run"}),
        ("non_leaf_compile_error_TESTING_ONLY", {"compile.non-leaf-inputs": "lower"}),
    ],
)
def test_backends_that_pytorch_has_broken_are_caught(
    shared_run: Callable[..., Run], name: str, breach: dict[str, str]
) -> None:
    names = ("relu_compile_error", "relu_runtime_error", "relu_accuracy_error", "non_leaf_compile_error")
    run = shared_run(*(f"--backend={each}_TESTING_ONLY" for each in names), "-k", PART)
    rows = {row["clause"]: row for row in run.report(name)["cells"]}
    for clause, phase in breach.items():
        assert (rows[clause]["verdict"], rows[clause]["phase"]) == ("FAIL", phase)
    if name.startswith("relu_compile"):
        assert rows["compile.outputs"]["message"].endswith("BackendCompilerFailed: ReluCompileError:")
    if name.startswith("non_leaf"):
        assert rows["compile.outputs"]["verdict"] == "PASS"


def test_two_toolchains_with_one_name_are_told_apart(project: Project) -> None:
    project.install("twin", OF_THE_OTHER_TOOLCHAIN)
    project.install("twin", REGISTERED, "compiler", group="torch_dynamo_backends")
    either = project.run("--backend=twin")
    assert either.exit_code == 4
    assert "say --backend=dynamo:twin or --backend=torchscript:twin" in " ".join(either.output.split())
    run = project.run("--backend=dynamo:twin", "-k", "chain and test_outputs")
    assert run.exit_code == 0, run.output
    assert run.report("dynamo-twin")["backend"]["name"] == "twin"
    other = project.run("--backend=torchscript:no_such_backend")
    assert other.exit_code == 4
    assert "there is no backend named 'torchscript:no_such_backend'" in " ".join(other.output.split())


def test_a_graph_is_the_backends_to_rewrite(project: Project) -> None:
    project.install("rewriting", REWRITING, "compiler", group="torch_dynamo_backends")
    run = project.run("--backend=rewriting", "-k", "chain and (test_outputs or test_result_form)")
    assert run.exit_code == 0, run.output
    assert run.verdicts("rewriting")[OUTPUTS] == ("PASS", "")


def test_a_class_wins_over_the_bare_registration(project: Project) -> None:
    project.install("mine", CLASS)
    project.install("mine", REGISTERED, "compiler", group="torch_dynamo_backends")
    run = project.run("--backend=mine", "-k", "chain and (test_outputs or test_delegated)")
    assert run.exit_code == 0, run.output
    assert run.report("mine")["backend"]["options"] == {"level": 2}
    assert run.verdicts("mine")[OUTPUTS] == ("PASS", "")
    assert run.verdicts("mine")[DELEGATED] == ("UNSUPPORTED", "")


def test_each_set_of_options_is_an_entry_of_its_own(project: Project) -> None:
    project.install("mine", REGISTERED, "compiler", group="torch_dynamo_backends")
    options = [f"--conformance-compile-options={json.dumps({'level': level})}" for level in (1, 3)]
    run = project.run("--backend=mine", *options, "-k", "chain and (test_outputs or test_delegated)")
    assert run.exit_code == 1, run.output
    assert run.report("mine+level=1")["backend"]["options"] == {"level": 1}
    assert run.verdicts("mine+level=1")[OUTPUTS] == ("PASS", "")
    assert run.verdicts("mine+level=1")[DELEGATED] == ("FAIL", "run")
    assert set(run.verdicts("mine+level=3").values()) == {("FAIL", "lower")}
    assert "level 3 is not there yet" in " ".join(run.output.split())
    assert "\x1b" not in run.output, "what a backend says is shown, and not obeyed"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--backend=eager", "--conformance-compile-options=[1]"), "takes a JSON object such as"),
        (("--backend=eager", "--conformance-compile-options={"), "takes a JSON object: Expecting property name"),
        (("--backend=reference", "--conformance-compile-options={}"), "is for torch.compile backends"),
        (
            ("--backend=eager", "--conformance-level=mobile"),
            "of the toolchain dynamo, such as 'eager', have the levels",
        ),
        (("--backend=torchscript:eager",), "'eager' is of the toolchain dynamo, not of 'torchscript'"),
        (("--backend=aot_eger",), "Did you mean 'aot_eager'?"),
    ],
)
def test_what_was_asked_wrongly_is_explained(project: Project, arguments: tuple[str, ...], complaint: str) -> None:
    run = project.run(*arguments)
    assert run.exit_code == 4
    assert complaint in " ".join(run.output.split())
    assert not (project.folder / "conformance-report").exists()


def test_a_class_that_pytorch_does_not_know_is_explained(project: Project) -> None:
    project.install("ghost", CLASS + "\n        def load(self):\n            pass\n")
    run = project.run("--backend=ghost")
    assert run.exit_code == 4
    assert "torch.compile knows no backend 'ghost' afterwards" in " ".join(run.output.split())


def test_clauses_of_another_toolchain_are_not_collected(project: Project) -> None:
    run = project.run("--backend=eager", "--collect-only", "-q")
    assert "suites/dynamo/test_dynamo_lowering.py::test_outputs[eager-chain" in run.output
    assert "test_save_load" not in run.output
    assert "skipped" not in run.output
    for backend in ANY_BACKENDS:
        planned = [clause for clause in shipped_clauses() if cells_of(clause, backend)]
        assert {clause.toolchain for clause in planned} == {backend.toolchain}


def test_the_contract_names_the_toolchain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clauses", "--toolchain", "dynamo"]) == 0
    said = capsys.readouterr().out
    assert "compile.outputs  " in said
    assert "torchscript" not in said
    assert levels_of("dynamo")[0] is Level.CORE
    assert Level.MOBILE not in levels_of("dynamo")


def test_right_numbers_alone_are_no_proof() -> None:
    assert_counts(Counts(1, 3, [], []), "three calls", lowerings=1, least_runs=3)
    for counts in (Counts(0, 0, [], []), Counts(1, 2, [], []), Counts(2, 3, [], [])):
        with pytest.raises(ConformanceFailure):
            assert_counts(counts, "three calls", lowerings=1, least_runs=3)
    with pytest.raises(ConformanceFailure):
        assert_close(1.0, 2.0, "a number")


def test_a_clause_that_needs_what_is_declared_missing_is_unsupported() -> None:
    import dataclasses

    (clause,) = (each for each in shipped_clauses() if each.id == "compile.delegated")
    (dynamo,) = (each for each in ANY_BACKENDS if each.toolchain == "dynamo")
    declared = dataclasses.replace(dynamo, missing_features={"delegation": "none"}, source=Source("x"))
    assert {cell.decided for cell in cells_of(clause, declared)} == {Verdict.UNSUPPORTED}
    assert {cell.decided for cell in cells_of(clause, dynamo)} == {None}


def test_entry_points_that_hide_one_another_are_told() -> None:
    from conformance.toolchains.dynamo.verbs.runtime import entry_point_problems

    points = [("mine", "first:compiler"), ("mine", "second:compiler"), ("other", "third:compiler")]
    (several,) = entry_point_problems("mine", points, ())
    assert "first:compiler, second:compiler" in several
    (shadowed,) = entry_point_problems("other", points, {"other"})
    assert "taken in place of third:compiler" in shadowed
    assert entry_point_problems("other", points, {"mine"}) == []


def test_options_that_are_objects_are_not_written_down() -> None:
    assert _written_down({"level": 2, "names": ["x"]}) == {"level": 2, "names": ["x"]}
    assert _written_down({"level": object()}) is None
