"""An author's own suite of clauses, in the words of pytest."""

from __future__ import annotations

import pytest
from support.project import Project

OWN = '''
    import pytest
    from conformance.contract import Control, Level, clause

    @clause("own.skips", source="the author", level=Level.CORE)
    def test_skips(host, case):
        """A clause that has nothing to say here."""
        pytest.skip("there is no such device here")

    @clause("own.fails", source="the author", level=Level.CORE, control=Control.NONE)
    def test_fails(host, case):
        """A clause that finds a breach."""
        host.script(case)
        pytest.fail("it is not as it should be")
'''


@pytest.mark.quick
def test_what_pytest_raises_is_a_verdict(project: Project) -> None:
    project.write("test_own.py", OWN)
    run = project.run("--backend=reference", "--conformance-reproducers=0", "test_own.py")
    assert run.exit_code == 1, run.output
    rows = {row["clause"]: row for row in run.report("reference")["cells"]}
    verdicts = {name: row["verdict"] for name, row in rows.items()}
    assert verdicts == {"own.skips": "NOT_APPLICABLE", "own.fails": "FAIL"}
    assert rows["own.skips"]["message"] == "there is no such device here"
    assert "it is not as it should be" in rows["own.fails"]["message"]
