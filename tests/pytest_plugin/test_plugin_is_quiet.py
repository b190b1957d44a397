"""Having the harness installed costs a pytest run nothing, and takes nothing away from a project."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.project import Project


@pytest.mark.quick
def test_no_torch_without_a_backend(project: Project) -> None:
    project.write("test_own.py", "import sys\n\ndef test_own():\n    assert 'torch' not in sys.modules\n")
    project.write(
        "conftest.py",
        """
        import sys

        def pytest_unconfigure(config):
            heavy = {"torch", "jsonschema", "tabulate", "execnet", "conformance.run.run_context"} & set(sys.modules)
            print("heavy modules:", sorted(heavy - {"execnet"}))
        """,
    )
    run = project.run("-q", "-s")
    assert run.exit_code == 0, run.output
    assert "heavy modules: []" in run.output
    assert not (project.folder / "conformance-report").exists()


@pytest.mark.quick
def test_a_conftest_that_owns_the_option_keeps_it(project: Project) -> None:
    project.write(
        "conftest.py",
        """
        def pytest_addoption(parser):
            parser.addoption("--backend", default="numpy", choices=["numpy", "jax"])
        """,
    )
    project.write("test_own.py", "def test_own(request):\n    assert request.config.getoption('--backend') == 'jax'\n")
    run = project.run("--backend=jax")
    assert run.exit_code == 0, run.output
    named = project.run("--conformance-backend=no_such_backend")
    assert named.exit_code == 4
    assert "there is no backend named 'no_such_backend'" in named.output


@pytest.mark.quick
def test_the_short_option_is_there_when_nobody_owns_it(project: Project) -> None:
    run = project.run("--help")
    assert "--conformance-backend=NAME" in run.output
    assert "--backend=NAME" in run.output


@pytest.mark.quick
def test_suites_without_a_backend_say_what_is_missing(project: Project) -> None:
    from conformance.contract import suites_path

    run = project.run(str(suites_path()))
    assert run.exit_code == 4
    assert "pytest --backend=NAME" in run.output


def test_a_run_imports_what_draws_programs_with_its_first_generated_cell() -> None:
    code = (
        "import sys, conformance.pytest_plugin._start\n"
        "from conformance.contract import installed_clauses\n"
        "assert any(clause.suite.endswith('generated') for clause in installed_clauses())\n"
        "assert 'hypothesis' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
