"""The reference of the site says everything that the code has; building the site is CI's (`.ci/run`)."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest
from support.places import REPOSITORY
from support.project import Project

from conformance.api.features import known_features
from conformance.cli import command_parsers
from conformance.contract import shipped_clauses
from conformance.contract.evidence import shipped_evidence
from conformance.report import report_schema

DOCS = REPOSITORY / "docs"


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The generated pages."""
    sys.path.insert(0, str(DOCS))
    try:
        generated: dict[str, str] = importlib.import_module("reference").pages()
        return generated
    finally:
        sys.path.remove(str(DOCS))


@pytest.mark.quick
def test_every_option_of_the_plugin_is_in_the_reference(pages: dict[str, str], project: Project) -> None:
    said = project.run("--help").output
    options = set(re.findall(r"--conformance-[a-z-]+|--list-backends", said))
    assert len(options) >= 9
    described = set(re.findall(r"^`(--[a-z-]+)[=`].*\n: \w", pages["options.md"], re.MULTILINE))
    assert described == options


def test_every_command_is_in_the_reference(pages: dict[str, str]) -> None:
    assert {"new", "clauses", "explain", "compare"} <= set(command_parsers())
    for name in command_parsers():
        assert f"### conformance {name}\n" in pages["options.md"]
        assert f"usage: conformance {name} " in pages["options.md"]


def test_every_feature_is_in_the_reference(pages: dict[str, str]) -> None:
    for feature in known_features():
        assert f"`features.{feature.name}`" in pages["features.md"]


def test_every_clause_is_in_the_reference_with_its_source_and_proofs(pages: dict[str, str]) -> None:
    for clause in shipped_clauses():
        page = pages[f"contract/{clause.suite}.md"]
        assert f"## {clause.id}\n" in page
        assert f"def {clause.function}(" in page
        for kill in shipped_evidence().of(clause.id):
            assert f"`{kill.saboteur}`" in page
        assert f"[{clause.id}](#" in pages["contract/index.md"]


def test_every_field_of_a_report_is_described(pages: dict[str, str]) -> None:
    assert not list(importlib.import_module("reference.schema").undescribed(report_schema()))
    for field in ("`deselected`", "`shards[].argv`", "`contract.sha256`", "`features.missing`", "`margin`"):
        assert field in pages["schema.md"]
    for name in report_schema()["properties"]:
        assert f"## {name}\n" in pages["schema.md"]


@pytest.mark.usefixtures("pages")
def test_a_field_without_a_description_is_noticed() -> None:
    undescribed = importlib.import_module("reference.schema").undescribed
    bare = {"properties": {"a": {"type": "array", "items": {"properties": {"b": {"type": "string"}}}}}}
    assert list(undescribed(bare)) == ["a", "a[].b"]


def test_pages_are_written_once_and_stale_ones_go(pages: dict[str, str], tmp_path: Path) -> None:
    write_pages = importlib.import_module("reference").write_pages
    stale = tmp_path / "contract" / "gone.md"
    stale.parent.mkdir()
    stale.write_text("old")
    write_pages(tmp_path)
    assert not stale.exists()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.md")}
    assert {str(path.relative_to(tmp_path)) for path in before} == set(pages)
    write_pages(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.md")} == before
