"""Names are known at once where somebody was asked before, and asked for again when something has changed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from support.project import Project

from conformance._util.remembered import recall, remember, state_of_package
from conformance.discovery.names import text_of_unknown, unknown_text


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which nothing is remembered."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_is_remembered_is_recalled_by_its_key_alone(cache: Path) -> None:
    assert recall("names", "one") is None
    remember("names", "one", ["a"])
    assert recall("names", "one") == ["a"]
    assert recall("names", "two") is None
    assert recall("others", "one") is None
    for file in cache.rglob("*.json"):
        file.write_text("no JSON")
    assert recall("names", "one") is None


def test_a_place_that_cannot_be_written_is_no_fault(cache: Path) -> None:
    cache.write_text("a file")
    remember("names", "one", ["a"])
    assert recall("names", "one") is None


def test_a_package_that_changes_has_another_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / "changing_package" / "inner"
    folder.mkdir(parents=True)
    for file in (folder.parent / "__init__.py", folder / "__init__.py", folder / "deep.py"):
        file.write_text("raise RuntimeError('it was imported')")
    before = state_of_package("changing_package.inner.deep")
    assert before
    assert state_of_package("changing_package.inner.deep") == before
    (folder / "deep.py").write_text("raise RuntimeError('it was imported, and has changed')")
    assert state_of_package("changing_package.inner.deep") != before
    assert state_of_package("no_such_package") == ""
    assert "changing_package" not in sys.modules


def test_a_link_that_leads_nowhere_is_no_file_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path / "edited_package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    before = state_of_package("edited_package")
    (folder / ".#plugin.py").symlink_to("user@host.1234:5678")  # as Emacs locks a file
    assert state_of_package("edited_package") == before != ""
    assert state_of_package("sys") == ""


def test_a_path_need_not_be_utf_8(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / os.fsdecode(b"caf\xe9")
    monkeypatch.syspath_prepend(str(site))
    (site / "package_in_a_cafe").mkdir(parents=True)
    (site / "package_in_a_cafe/__init__.py").touch()
    assert state_of_package("package_in_a_cafe")
    remember("names", str(site), ["a"])
    assert recall("names", str(site)) == ["a"]


def test_nothing_is_said_of_a_name_before_everybody_was_asked() -> None:
    assert unknown_text("no_such_backend") == ""


def test_the_text_has_what_is_close_and_nothing_that_is_for_tests() -> None:
    text = text_of_unknown("torchscript:refrence", {"reference", "relu_error_TESTING_ONLY"})
    assert "no backend named 'torchscript:refrence'. Did you mean 'reference'? Known here: reference. " in text


def test_a_misspelt_name_is_said_without_torch_once_names_are_known(project: Project, cache: Path) -> None:
    project.tell_of_torch()
    home = str(cache)
    assert "torch was imported: True" in project.run("--backend=eagr", "--rootdir=.", XDG_CACHE_HOME=home).output
    run = project.run("--backend=eagr", "--rootdir=.", XDG_CACHE_HOME=home)
    assert run.exit_code == 4
    assert "there is no backend named 'eagr'. Did you mean 'eager'?" in run.output
    assert "torch was imported: False" in run.output
    listing = project.run("--list-backends", "--rootdir=.", XDG_CACHE_HOME=home)
    assert "eager_debug" in listing.output
    assert "torch was imported: False" in listing.output
