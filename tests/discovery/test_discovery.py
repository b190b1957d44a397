"""Backends are found by entry points and libraries; what is wrong with one is said, and hides no other."""

from __future__ import annotations

import pytest
from support.project import Project

GOOD = """
    from conformance import TorchScriptBackend
    from torch_conformance_reference.backend import ReferenceBackend

    class Plugin(ReferenceBackend):
        name = "reference"
"""

DERIVED = "from conformance import TorchScriptBackend\nclass Plugin(TorchScriptBackend):\n"


def test_a_plugin_that_fails_to_import_is_a_row(project: Project) -> None:
    project.install("broken", "import a_module_that_nobody_has\n")
    project.install("crashing", "import os\nos.abort()\n")
    quick = project.run("--list-backends")
    assert quick.exit_code == 0, quick.output
    assert "broken ? not tried plugin_broken 1.2" in " ".join(quick.output.split())
    run = project.run("--list-backends", "-v")
    assert run.exit_code == 0, run.output
    text = " ".join(run.output.split())
    assert "No module named 'a_module_that_nobody_has'" in text
    assert "plugin_broken 1.2" in text
    assert "killed by SIGABRT during import" in text
    assert "reference torchscript yes torch-conformance-reference" in text
    assert "tvm dynamo no torch" in text
    assert "tvm cannot be used here: one addition: FAIL in lower: " in text
    assert max(map(len, run.output.splitlines())) <= 80


@pytest.mark.quick
def test_an_unknown_name_lists_the_known_ones(project: Project) -> None:
    run = project.run("--backend=referenc")
    assert run.exit_code == 4
    assert "Did you mean 'reference'?" in run.output
    assert "python_control" in run.output
    assert not (project.folder / "conformance-report").exists()


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("class Plugin:\n    pass\n", "not a conformance.Backend: let the class derive from"),
        (
            DERIVED + "    libraries = 'lib.so'\n",
            "libraries must be a tuple of paths as strings, found str: 'lib.so'",
        ),
        (
            DERIVED + "    @property\n    def libraries(self):\n        return ['lib.so']\n",
            "libraries must be a tuple of paths as strings, found list: ['lib.so']",
        ),
        (
            DERIVED + "    features = ['loops']\n",
            "features must be a conformance.Features, found list: ['loops']",
        ),
        (
            DERIVED + "    unavailable = {'A': '1'}\n",
            "unavailable must be a conformance.Environment or None, found dict",
        ),
        (
            DERIVED + "    tolerances = {'float32': 1}\n",
            "tolerances must be a mapping from dtype names",
        ),
        (
            "from conformance import Environment\nEnvironment(DISABLE=1)\n",
            "takes a string, or None to remove the variable; found int: 1",
        ),
        (
            DERIVED + "    name = 'ghost'\n",
            "PyTorch knows no TorchScript backend named 'ghost' afterwards: it registered no backend at all",
        ),
    ],
)
def test_a_wrong_class_is_explained(project: Project, source: str, complaint: str) -> None:
    project.install("wrong", source)
    run = project.run("--backend=wrong")
    assert run.exit_code == 4
    assert complaint in " ".join(run.output.split())


BUILT_BY_PREPARE = """
    import os, shutil
    from conformance import Environment, TorchScriptBackend
    from torch_conformance_reference import library_path

    class Plugin(TorchScriptBackend):
        name = "reference"
{libraries}

        def prepare(self):
            os.makedirs("build", exist_ok=True)
            shutil.copy(library_path(), "build/libmine.so")
            return Environment(MINE_IS_BUILT="yes")
"""

COMPUTED = """
        @property
        def libraries(self):
            assert os.environ["MINE_IS_BUILT"], "a library that is asked for before prepare() has to be built slowly"
            return ("build/libmine.so",)
"""


@pytest.mark.parametrize(
    "libraries", ['        libraries = ("build/libmine.so",)', COMPUTED], ids=["named", "computed"]
)
def test_what_prepare_builds_need_not_be_there_before(project: Project, libraries: str) -> None:
    project.install("mine", BUILT_BY_PREPARE.format(libraries=libraries))
    listing = project.run("--list-backends", "-v")
    assert "mine torchscript no" in " ".join(listing.output.split()), listing.output
    run = project.run("--backend=mine", "-k", "test_composition")
    assert run.exit_code == 0, run.output
    assert [file["name"] for file in run.report("mine")["backend"]["files"]] == ["libmine.so"]


def test_a_library_that_nobody_built_is_named(project: Project) -> None:
    project.install("mine", DERIVED + "    libraries = ('build/libmine.so',)\n")
    run = project.run("--backend=mine")
    assert run.exit_code == 4
    assert "libraries names build/libmine.so, and after prepare() there is no such file" in " ".join(run.output.split())


def test_a_compile_spec_of_the_wrong_shape_is_a_failure_of_lowering(project: Project) -> None:
    project.install("listspec", GOOD + "\n        def compile_spec(self, case):\n            return ['forward']\n")
    run = project.run("--backend=listspec", "-k", "test_twice")
    assert run.exit_code == 1, run.output
    assert set(run.verdicts("listspec").values()) == {("FAIL", "lower")}
    assert "incompatible function arguments" in run.output


@pytest.mark.quick
def test_a_library_needs_no_plugin(project: Project) -> None:
    from torch_conformance_reference import library_path

    run = project.run(f"--conformance-library={library_path()}", "-k", "test_composition")
    assert run.exit_code == 0, run.output
    assert run.report("reference")["backend"]["files"][0]["sha256"]
    assert str(library_path()) not in (run.report_folder("reference") / "report.json").read_text()


def test_a_library_that_cannot_be_used_is_explained(project: Project) -> None:
    missing = project.run("--conformance-library=missing.so")
    assert missing.exit_code == 4
    assert "there is no file missing.so" in missing.output
    project.write("text.so", "not a library")
    broken = project.run("--conformance-library=text.so")
    assert broken.exit_code == 4
    assert "text.so does not load" in broken.output
    import torch

    silent = project.run(f"--conformance-library={torch.__path__[0]}/lib/libtorch_cpu.so")
    assert silent.exit_code == 4
    assert "registers no TorchScript backend" in " ".join(silent.output.split())
