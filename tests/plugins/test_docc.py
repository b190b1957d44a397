"""Which compiler ``plugins/docc`` names for docc, which ends the process where it does not find its own."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from support.places import REPOSITORY

from conformance import DynamoBackend


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The plugin, with a docc beside it that has nothing in it."""
    monkeypatch.syspath_prepend(str(REPOSITORY / "plugins" / "docc" / "src"))
    for name in ("docc", "docc.torch"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    monkeypatch.setattr(DynamoBackend, "load", lambda self: None)
    monkeypatch.setenv("DOCC_BACKEND_COMPILER", "")  # so that whatever is set is undone
    monkeypatch.delenv("DOCC_BACKEND_COMPILER")
    return importlib.import_module("torch_conformance_docc")


@pytest.mark.parametrize(
    ("installed", "named"),
    [({"clang++-19", "g++"}, "clang++-19"), ({"clang++-19", "clang++-21"}, "clang++-21")],
    ids=["the older", "both"],
)
def test_a_compiler_that_is_installed_is_named(
    plugin: Any, monkeypatch: pytest.MonkeyPatch, installed: set[str], named: str
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: str(Path("bin") / name) if name in installed else None)
    plugin.Docc().load()
    assert os.environ["DOCC_BACKEND_COMPILER"] == named


def test_the_users_choice_stays(plugin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCC_BACKEND_COMPILER", "ccache clang++")
    plugin.Docc().load()
    assert os.environ["DOCC_BACKEND_COMPILER"] == "ccache clang++"


def test_without_a_compiler_it_says_what_to_install(plugin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match=r"expected clang\+\+-21 or clang\+\+-19 on PATH, found neither; install"):
        plugin.Docc().load()
