"""Backends that are registered by importing a module, which no entry point names."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from support.project import Project

from conformance.discovery.names import module_sources, text_of_unknown

VENDOR = """
import torch._dynamo

@torch._dynamo.register_backend
def quick(graph, inputs, **options):
    return graph.forward

def plain(graph, inputs, **options):
    return graph.forward
"""


def test_a_word_that_is_no_module_means_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)  # as of a script
    monkeypatch.setitem(sys.modules, "made_by_hand", ModuleType("made_by_hand"))
    for word in ("", "dynamo", "torchscript", "no_such_module", "a b", "__main__", "made_by_hand"):
        assert module_sources(word, "quick") == []
    (source,) = module_sources("torch.fx", "quick")
    assert (source.imports, source.distribution, source.found_as) == ("torch.fx", "torch", "torch.fx:quick")
    assert "--backend=MODULE:NAME" in text_of_unknown("quick", set())


@pytest.mark.parametrize("name", ["quick", "plain", "slow"])
def test_a_module_that_registers_its_backend_or_has_it_as_a_function(project: Project, name: str) -> None:
    (project.site / "vendor_of_quick.py").write_text(VENDOR)
    run = project.run(
        f"--backend=vendor_of_quick:{name}", "--conformance-select=compile.outputs[chain-compile-yes/yes]"
    )
    if name == "slow":
        assert run.exit_code == 4
        assert "vendor_of_quick has no class and no function 'slow'" in run.output
        return
    assert run.exit_code == 0, run.output
    report = run.report(name)
    assert report["backend"]["entry_point"] == f"vendor_of_quick:{name}"
    assert [row["verdict"] for row in report["cells"]] == ["PASS"]


CLASSES = """
import conformance
from torch_conformance_saboteurs.backends import PythonControl

class Mine(PythonControl):
    name = "mine_in_a_module"

class Unnamed(conformance.DynamoBackend):
    name = "eager"

instance = Unnamed()

import torch._dynamo
torch._dynamo.register_backend(lambda graph, inputs: graph.forward, name="registered")
registered = 1
"""


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("Mine", "lowering.outputs[chain-compile-yes/yes]"),
        ("Unnamed", "compile.outputs[chain-compile-yes/yes]"),
        ("instance", "compile.outputs[chain-compile-yes/yes]"),
        ("registered", "compile.outputs[chain-compile-yes/yes]"),
    ],
)
def test_a_module_that_has_an_authors_class(project: Project, name: str, cell: str) -> None:
    (project.site / "module_of_classes.py").write_text(CLASSES)
    run = project.run(f"--backend=module_of_classes:{name}", f"--conformance-select={cell}")
    assert run.exit_code == 0, run.output
    report = run.report(name)
    assert report["backend"]["entry_point"] == f"module_of_classes:{name}"
    assert [row["verdict"] for row in report["cells"]] == ["PASS"]
