"""What was written for release 0.1 still runs: its names are where they were."""

from __future__ import annotations

import pytest
from support.project import Project

BACKEND = """
import torch
import torch._dynamo

from conformance import Backend, DynamoBackend, Environment, Features, Tolerance, TorchScriptBackend, features
from conformance.availability import Availability
from conformance.backend import Backend as TheSame
from conformance.backend import TorchScriptBackend as TheSameForTorchScript
from conformance.compiling import Compilation, compiled, torch_folder
from conformance.features import Feature, known_features

assert TheSame is Backend and issubclass(TorchScriptBackend, Backend)
assert TheSameForTorchScript is TorchScriptBackend


def compiler(graph, inputs):
    return graph.forward


class Former(DynamoBackend):
    name = "former"
    features = Features.all().without(features.delegation, "it runs the graph as it is")
    tolerances = {"float32": Tolerance(1e-5, 1e-6)}
    unavailable = Environment(FORMER_DISABLE="1")

    def load(self):
        if "former" not in torch._dynamo.list_backends(exclude_tags=()):
            torch._dynamo.register_backend(compiler, name="former")
"""
CLAUSES = '''
import pytest

from conformance import features
from conformance.assertions import assert_close, assert_equal, check, refused
from conformance.availability import Availability
from conformance.cases import Call, case_named, corpus
from conformance.comparison import comparing
from conformance.contract import Clause, Control, Level, clause
from conformance.errors import ConformanceFailure, SubjectError
from conformance.verdict import NotApplicable, NotExercised, Verdict


@clause("former.outputs", source="author", level=Level.CORE, toolchain="dynamo", control=Control.AOT, cases=("chain",))
def test_outputs(host, case, record, bench):
    """A compiled model gives what eager PyTorch gives."""
    assert bench.case is case
    compiled = host.compile(case)
    for call in case.calls:
        assert_close(host.run(compiled, call.inputs).result, call.expected, "the result")
    record.note("written for 0.1")


@clause("former.torchscript", source="an author", level=Level.CORE, control=Control.NONE)
def test_of_the_default_toolchain(host, case):
    """Says nothing of a toolchain, and so is of TorchScript."""


@clause("former.lacking", source="an author", level=Level.REPORTED, toolchain="dynamo", cases=("chain",))
def test_lacking(backend):
    """What is declared missing is asked by its name."""
    if "delegation" in backend.missing_features:
        raise NotApplicable("it does not delegate")
'''


@pytest.fixture
def former(project: Project) -> Project:
    """A project with a plugin and clauses of then."""
    project.install("former", BACKEND, attribute="Former")
    project.write("test_former.py", CLAUSES)
    return project


@pytest.mark.parts
def test_a_plugin_and_its_clauses_run(former: Project) -> None:
    run = former.run("--backend=former", "test_former.py", "-W", "error::DeprecationWarning:conformance")
    assert run.exit_code == 0, run.output
    assert run.verdicts("former") == {
        "former.outputs[chain-compile-yes/yes]": ("PASS", ""),
        "former.lacking[chain-compile-yes/yes]": ("NOT_APPLICABLE", ""),
    }


def test_the_contract_runs_on_it(former: Project) -> None:
    run = former.run("--backend=former", "-q", "-k", "dynamo_lowering and chain")
    assert run.exit_code == 0, run.output
