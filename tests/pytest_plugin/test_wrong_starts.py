"""Runs that certify nothing, or cannot begin: what is wrong is said, with an exit code that tells whose fault it is."""

from __future__ import annotations

import pytest
from support.project import Project

PLUGIN = """
    from torch_conformance_reference.backend import ReferenceBackend

    class Plugin(ReferenceBackend):
        name = "twin"
"""


def test_a_run_of_own_tests_alone_certifies_nothing_and_says_so(project: Project) -> None:
    project.write("test_own.py", "def test_own():\n    pass\n")
    run = project.run("--backend=reference", "test_own.py")
    assert run.exit_code == 0, run.output
    assert "WARNING: no clause of the contract was among these tests: nothing is certified of reference." in run.output
    assert "1 passed" in run.output


def test_two_plugins_with_one_name_are_said(project: Project) -> None:
    project.install("twin", PLUGIN)
    other = project.site / "other-2.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 2.0\n")
    (other / "entry_points.txt").write_text("[conformance_backends]\ntwin = other_twin:Plugin\n")
    (project.site / "other_twin.py").write_text("from plugin_twin import Plugin\n")
    run = project.run("--backend=twin")
    assert run.exit_code == 4
    assert (
        "two plugins bring a backend named 'twin' of the toolchain torchscript: other_twin:Plugin of other 2.0 and "
        "plugin_twin:Plugin of plugin_twin 1.2. Uninstall one of them"
    ) in run.output


@pytest.mark.quick
def test_a_failure_of_the_harness_is_no_wrong_usage(project: Project) -> None:
    project.write(
        "conftest.py",
        """
        from conformance.api.errors import MachineTooSlow
        from conformance.devices import ZygotePool

        def fork(self, *arguments):
            raise MachineTooSlow("it did not answer within 1200 s")

        ZygotePool.fork = fork
        """,
    )
    run = project.run("--backend=reference")
    assert run.exit_code == 11, run.output
    assert "the harness itself failed before anything ran: it did not answer within 1200 s" in run.output


@pytest.mark.quick
def test_an_extension_that_an_option_needs_and_that_cannot_be_used_is_said(project: Project) -> None:
    project.install("broken", "raise RuntimeError('not today')", group="conformance")
    run = project.run("--backend=reference", "--conformance-target=popen")
    assert run.exit_code == 4, run.output
    assert "not today" in run.output
    assert "INTERNALERROR" not in run.output
