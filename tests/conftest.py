"""What the tests of the harness share: plugins made on the spot, and pytest runs in processes of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.project import Project, Run

if TYPE_CHECKING:  # it imports torch, and every run of the contract in this checkout comes past this file
    from support.certificate_office import Office

#: Distributions of somebody else, whose clauses are for backends.
collect_ignore = ["support"]


#: What tests start whole runs with.
_OF_RUNS = frozenset({"new_project", "project", "shared_run"})


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark those that start whole runs, but for those with a mark of their own, before pytest looks at any marks."""
    for item in items:
        starts_runs = not _OF_RUNS.isdisjoint(getattr(item, "fixturenames", ()))
        if starts_runs and not any(item.get_closest_marker(name) for name in ("quick", "parts", "slow")):
            item.add_marker(pytest.mark.runs)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project."""
    return Project(tmp_path)


@pytest.fixture(scope="session")
def new_project(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Project]:
    """An empty project in a folder that is called so, for fixtures that several tests share."""
    return lambda name: Project(tmp_path_factory.mktemp(name))


@pytest.fixture(scope="session")
def shared_run(new_project: Callable[[str], Project]) -> Callable[..., Run]:
    """Runs that several tests read: each command line runs once a session."""
    done: dict[tuple[str, ...], Run] = {}

    def run(*arguments: str, seconds: float = 300) -> Run:
        if arguments not in done:
            done[arguments] = new_project("project").run(*arguments, seconds=seconds)
        return done[arguments]

    return run


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    """A report that reaches level mobile. Not to be changed."""
    from support.made_reports import made_report

    return made_report()


@pytest.fixture
def office(tmp_path: Path, capsys: pytest.CaptureFixture[str], whole: dict[str, Any]) -> Office:
    """One with the report."""
    from support.certificate_office import Office
    from support.made_reports import put

    put(tmp_path / "report.json", whole)
    return Office(tmp_path, capsys)


@pytest.fixture
def signing_office(office: Office) -> Office:
    """One with a signed certificate too."""
    assert office.run("certify", "--new-key", office.key)[0] == 0
    code, said, complained = office.certify(None, "--key", office.key)
    assert code == 0, said + complained
    return office


_BLOCK = '''\
"""Importing the harness fails here."""
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("conformance", "pytest"):
            raise ImportError(f"{name} is not there")

sys.meta_path.insert(0, Blocked())
'''


@pytest.fixture(scope="session")
def without_harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the module search path, with which ``import conformance`` fails."""
    folder = tmp_path_factory.mktemp("blocked")
    (folder / "sitecustomize.py").write_text(_BLOCK)
    return folder
