"""``--list-backends``."""

from __future__ import annotations

from support.project import Project


def test_a_harness_that_fails_while_it_lists_backends_says_so(project: Project) -> None:
    project.write(
        "conftest.py",
        """
        from conformance.api.errors import HarnessError
        from conformance.pytest_plugin import _listing

        def fail(*arguments, **named):
            raise HarnessError("the zygote is gone")

        _listing.candidates = fail
        """,
    )
    run = project.run("--list-backends", "-v")
    assert run.exit_code == 4
    assert run.output == "ERROR: the zygote is gone\n\n"
