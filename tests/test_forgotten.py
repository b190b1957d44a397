"""What those who change something forget: a proof, a version, a report, a note, a place for a module. In seconds."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.api.case import registered_cases
from conformance.contract import (
    CONTRACT_VERSION,
    SpeaksOf,
    contract_digest,
    shipped_clauses,
    suites_path,
)
from conformance.toolchains import case_named, corpus, toolchains

ROOT = Path(__file__).resolve().parent.parent
SABOTEURS = sorted(ROOT.glob("plugins/saboteurs*/src/*/*.py"))
NOTES = ROOT / "changes"

#: What `reports/` keeps although the contract has changed since, until it is written anew (CONTRIBUTING.md, "A clause",
#: says how). A file that is up to date again has to go from here.
STALE: set[str] = set()


def _committed() -> Iterator[tuple[str, dict[str, Any], str]]:
    """Each report of the repository by its name, with its contract, and that of its toolchain now; the kill matrix,
    too."""
    for path in sorted((ROOT / "reports").glob("*/report.json")):
        report = json.loads(path.read_text(encoding="utf-8"))
        name = path.relative_to(ROOT / "reports").as_posix()
        yield name, report["harness"]["contract"], contract_digest(report["backend"]["toolchain"])
    matrix = json.loads((ROOT / "reports" / "selftest.json").read_text(encoding="utf-8"))
    yield "selftest.json", {"sha256": matrix["contract"]}, contract_digest()


def test_every_clause_is_named_by_a_saboteur() -> None:
    """By the text of the saboteurs, since importing them all takes longer than this file may."""
    named = "".join(path.read_text(encoding="utf-8") for path in SABOTEURS)
    graded = [each.id for each in shipped_clauses() if each.speaks_of is not SpeaksOf.OPERATORS]
    assert len(graded) > 100
    unproven = [each for each in graded if f'"{each}"' not in named]
    assert not unproven, f"write a saboteur that names these in caught_by: {', '.join(unproven)}"


def test_another_contract_has_another_version() -> None:
    same = [each for each in _committed() if each[1].get("version") == CONTRACT_VERSION]
    differing = [name for name, contract, now in same if contract["sha256"] != now]
    assert not differing, (
        f"clauses were added, removed or stated otherwise since {', '.join(differing)}, which have the version "
        f"{CONTRACT_VERSION!r} too: raise CONTRACT_VERSION in conformance/contract/table.py"
    )


def test_reports_are_of_this_contract_or_known_to_be_stale() -> None:
    stale = {name for name, contract, now in _committed() if contract["sha256"] != now}
    assert not stale - STALE, f"of another contract, to be written anew: {', '.join(sorted(stale - STALE))}"
    assert not STALE - stale, f"up to date, to be taken off the list STALE: {', '.join(sorted(STALE - stale))}"


@pytest.mark.parametrize("toolchain", toolchains(), ids=lambda each: each.name)
def test_every_case_is_reached(toolchain: Any) -> None:
    """A case outside of the corpus is there for a clause that names it, as a case of its own or as another one."""
    everywhere = {case.name for case in corpus(toolchain.name)}
    assert everywhere
    own = [case for case in registered_cases() if case.module_class.__module__ in toolchain.cases]
    named = {name for clause in shipped_clauses() if clause.toolchain == toolchain.name for name in clause.cases}
    texts = "".join(path.read_text(encoding="utf-8") for path in sorted(toolchain.suites.glob("test_*.py")))
    for given in re.findall(r"other_cases?\(([^()]*)\)", texts):
        named |= set(re.findall(r'"(\w+)"', given))
    idle = sorted(case.name for case in own if case.name not in everywhere | named)
    assert not idle, f"no clause reaches {', '.join(idle)}: name them in a clause, or let them be in the corpus"


@pytest.mark.parametrize("toolchain", toolchains(), ids=lambda each: each.name)
def test_a_clause_that_asks_for_a_case_has_one_that_every_backend_takes(toolchain: Any) -> None:
    texts = "".join(path.read_text(encoding="utf-8") for path in sorted(toolchain.suites.glob("test_*.py")))
    asked = [case_named(name, toolchain.name) for name in sorted(set(re.findall(r'other_case\("(\w+)"\)', texts)))]
    assert asked
    needy = {case.name: sorted(each.name for each in case.features) for case in asked if case.features}
    assert not needy, f"a backend may lack what these need: {needy}; ask for them with other_cases(...)"


def test_every_file_of_clauses_is_in_a_folder_of_a_toolchain() -> None:
    folders = {each.suites for each in toolchains()}
    lost = [path for path in sorted(suites_path().rglob("test_*.py")) if path.parent not in folders]
    assert not lost, f"no toolchain has these suites: {lost}"


def test_notes_of_changes_have_names_that_towncrier_takes() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]
    types = "|".join(each["directory"] for each in settings["type"])
    files = [path.name for path in NOTES.iterdir() if path.name != "README.md"]
    wrong = sorted(name for name in files if not re.fullmatch(rf"(\+[\w-]+|\d+)\.({types})\.md", name))
    assert not wrong, f"changes/ has {', '.join(wrong)}; expected +NAME.TYPE.md or NUMBER.TYPE.md, TYPE one of {types}"


def test_no_import_goes_the_other_way() -> None:
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
