"""Runs that certify nothing, or cannot begin: what is wrong is said, with an exit code that tells whose fault it is."""

from __future__ import annotations

import os

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
def test_what_cannot_be_collected_says_why(project: Project) -> None:
    project.write("test_own.py", "from conformance.nowhere import anything\n")
    run = project.run("--backend=reference", "test_own.py")
    assert run.exit_code == 2, run.output
    assert "No module named 'conformance.nowhere'" in run.output


@pytest.mark.quick
def test_a_cache_that_cannot_be_written_ends_no_run(project: Project) -> None:
    options = ("-p", "cacheprovider", "-o", "cache_dir=/proc/no")
    run = project.run("--backend=python_control", "--conformance-select=lowering.delegated[add-full-yes/yes]", *options)
    assert run.exit_code == 0, run.output
    assert "INTERNALERROR" not in run.output


@pytest.mark.quick
def test_what_is_no_unicode_among_the_options_loses_no_report(project: Project) -> None:
    run = project.run(
        "--backend=python_control",
        "--conformance-select=lowering.delegated[add-full-yes/yes]",
        os.fsdecode(b"--junit-prefix=\xff"),
    )
    assert run.exit_code == 0, run.output
    (said,) = [each for each in run.report("python_control")["run"]["argv"] if each.startswith("--junit-prefix")]
    assert said == "--junit-prefix=?"


@pytest.mark.quick
def test_a_clause_that_has_no_place_in_a_report_is_refused(project: Project) -> None:
    project.write(
        "test_mine.py",
        """
        from conformance.contract import Level, clause

        class TestMine:
            @clause("mine.works", source="mine", level=Level.REPORTED, toolchain="torchscript", cases=("add",))
            def test_works(self, case):
                "It works."
        """,
    )
    run = project.run("--backend=reference", "test_mine.py")
    assert run.exit_code == 4, run.output
    assert "a clause is a function of the module where it is collected" in run.output


@pytest.mark.quick
def test_a_failure_that_another_plugin_tries_again_stays_one(project: Project) -> None:
    """As pytest-rerunfailures does: one item, reported twice."""
    project.write(
        "conftest.py",
        """
        import pytest
        from _pytest.runner import runtestprotocol

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(item, nextitem):
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            for report in runtestprotocol(item, nextitem=nextitem, log=False):
                if report.when == "call":
                    passed = report.conformance
                    failed = passed["row"] | {"verdict": "FAIL", "fingerprint": "0" * 12}
                    report.outcome, report.conformance = "rerun", passed | {"row": failed}
                    item.ihook.pytest_runtest_logreport(report=report)
                    report.outcome, report.conformance = "passed", passed
                item.ihook.pytest_runtest_logreport(report=report)
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
            return True
        """,
    )
    run = project.run("--backend=python_control", "--conformance-select=lowering.delegated[add-full-yes/yes]")
    assert run.exit_code == 1, run.output
    assert [row["verdict"] for row in run.report("python_control")["cells"]] == ["FAIL"]


@pytest.mark.quick
def test_an_extension_that_an_option_needs_and_that_cannot_be_used_is_said(project: Project) -> None:
    project.install("broken", "raise RuntimeError('not today')", group="conformance")
    run = project.run("--backend=reference", "--conformance-target=popen")
    assert run.exit_code == 4, run.output
    assert "not today" in run.output
    assert "INTERNALERROR" not in run.output
