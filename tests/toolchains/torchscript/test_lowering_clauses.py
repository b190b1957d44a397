"""What the clauses about lowering leave to a backend: entries of its own in a compile spec."""

from __future__ import annotations

import pytest
from support.project import Project

from conformance.toolchains.torchscript.specs import with_foreign_entries

PARTICULAR = """
    from torch_conformance_saboteurs.backends import PythonControl

    class _Particular(PythonControl.implementation):
        def check_spec(self, module, method_compile_spec):
            super().check_spec(module, method_compile_spec)
            for method, value in method_compile_spec.items():
                if "target" not in value:
                    raise RuntimeError(f"the compile spec of {method} names no target: {value}")

    class Plugin(PythonControl):
        name = "particular"
        implementation = _Particular

        def compile_spec(self, case):
            return {method: {"target": "npu"} for method in case.methods}
"""


@pytest.mark.slow
def test_a_backend_may_need_its_own_spec(project: Project) -> None:
    project.install("particular", PARTICULAR)
    run = project.run("--backend=particular", "-k", "test_spec_is_intact")
    assert run.exit_code == 0, run.output
    cells = run.report("particular")["cells"]
    assert {row["clause"] for row in cells} == {"lowering.spec-intact"}
    assert {row["verdict"] for row in cells} == {"PASS"}


def test_foreign_entries_leave_what_an_author_wrote() -> None:
    written = {"levels": [1], "more": [4, 5]}
    given = with_foreign_entries({"forward": written, "encode": written})
    assert [{**value, "conformance": None} for value in given.values()] == [{**written, "conformance": None}] * 2
    assert given["forward"] != given["encode"]
    assert all(type(number) is int for value in given.values() for number in value["conformance"])
    assert with_foreign_entries({"forward": "npu"}) == {"forward": "npu"}


def test_foreign_entries_have_the_type_of_the_others() -> None:
    options = (True, 1, 0.5, "fast", {"levels": [1.0]})
    given = with_foreign_entries({"forward": {"options": options}})["forward"]["conformance"]
    assert [type(each) for each in given] == [bool, int, float, str, dict]
    assert given != options
    assert [type(each) for each in given[-1]["levels"]] == [float] * 3


def test_a_spec_that_says_nothing_becomes_one_of_every_type() -> None:
    given = with_foreign_entries({"forward": "", "encode": ""})
    assert given["forward"] != given["encode"]
    assert [type(each) for each in given["forward"]["conformance"]] == [dict, float, str, bool]
