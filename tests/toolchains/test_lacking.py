"""A toolchain whose own PyTorch is not installed: it is told so, and nothing else is harmed."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from support.project import Project

from conformance.contract import contract_clauses, contract_digest
from conformance.toolchains import Toolchain, toolchain_named, toolchains

#: Keeps a package from being found, as if it were not installed.
HIDING = """\
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "executorch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""
BACKEND = """
    from conformance import ExecuTorchBackend

    class Plugin(ExecuTorchBackend):
        name = "mine"

        def partitioner(self, case):
            raise AssertionError("nothing is lowered here")
"""


class Needy(Toolchain):
    """One that needs a module which nobody has, and one that everybody has."""

    name = "needy"
    summary = "backends of nowhere"
    requires = ("torch", "nowhere_to_be_found", "nowhere.either")
    installed_by = "pip install nowhere"


def test_it_says_what_is_missing_and_what_installs_it() -> None:
    assert Needy().lacking() == (
        "backends of nowhere need nowhere_to_be_found and nowhere.either, which is not installed: pip install nowhere"
    )


@pytest.mark.parametrize("name", [each.name for each in toolchains() if each.requires])
def test_a_folder_of_its_name_is_not_the_package(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = toolchain_named(name).requires[0]
    package = module.partition(".")[0]
    (tmp_path / package).mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, package, raising=False)
    monkeypatch.delitem(sys.modules, module, raising=False)
    importlib.invalidate_caches()
    assert module in toolchain_named(name).lacking()


def test_those_that_need_nothing_lack_nothing() -> None:
    assert [each.name for each in toolchains() if not each.requires] == ["torchscript", "dynamo"]
    assert toolchain_named("dynamo").lacking() == ""


def test_what_needs_more_than_the_harness_brings_has_a_contract_of_its_own() -> None:
    shared = {each.toolchain for each in contract_clauses()}
    assert shared == {"torchscript", "dynamo"}
    assert {each.toolchain for each in contract_clauses("executorch")} == {"executorch"}
    assert contract_digest() == contract_digest("torchscript") == contract_digest("dynamo")
    assert contract_digest("executorch") != contract_digest()


@pytest.fixture
def without_executorch(project: Project) -> Project:
    """A project in an environment where ExecuTorch is not installed, with a backend for it."""
    (project.site / "sitecustomize.py").write_text(HIDING)
    project.install("mine", BACKEND)
    return project


@pytest.mark.quick
def test_a_backend_of_it_is_refused_with_the_command_that_helps(without_executorch: Project) -> None:
    run = without_executorch.run("--backend=mine")
    assert run.exit_code == 4
    assert "ExecuTorch delegates need executorch.runtime, which is not installed" in run.output
    assert "pip install 'torch-conformance[executorch]'" in run.output


def test_the_list_has_it_beside_those_that_can_be_used(without_executorch: Project) -> None:
    run = without_executorch.run("--list-backends")
    assert run.exit_code == 0, run.output
    listed = {line.partition(" ")[0] for line in run.output.splitlines()}
    assert {"mine", "inductor", "reference"} <= listed
