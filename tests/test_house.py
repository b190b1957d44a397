"""The house itself: each room is where it says, knows what it may, and is shipped whole. Nothing here imports torch."""

from __future__ import annotations

import ast
import fnmatch
import importlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.places import REPOSITORY

HOUSE = REPOSITORY / "conformance"
TESTS = REPOSITORY / "tests"
PROJECT: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))

#: Where a toolchain's name stands outside of its room: file, the line without its indentation, and why it may.
NAMED = {
    (
        "assertions.py",
        "See :mod:`conformance.compare.assertions` and :mod:`conformance.toolchains.torchscript.assertions`.",
    ): "a former public name, which says where its functions are now",
    (
        "assertions.py",
        "from conformance.toolchains.torchscript.assertions import (",
    ): "a former public name, which plugins of release 0.1 import",
    **{
        ("__init__.py", line): "where the public class is that authors derive from"
        for room, name in (
            ("dynamo", "DynamoBackend"),
            ("executorch", "ExecuTorchBackend"),
            ("torchscript", "TorchScriptBackend"),
        )
        for line in (
            f"from conformance.toolchains.{room}.backend import {name} as {name}",
            f'"{name}": "conformance.toolchains.{room}.backend",',
        )
    },
}
#: The toolchains, by the folders of their rooms.
ROOMS = sorted(path.parent.name for path in HOUSE.glob("toolchains/*/plugin.py"))
LONGEST_MODULE = 400
#: Folders of `conformance` as pyproject.toml calls them.
PACKAGES = sorted(".".join(path.parent.relative_to(REPOSITORY).parts) for path in HOUSE.rglob("__init__.py"))


def sources(folder: Path) -> Iterator[Path]:
    """Every file below a folder but what Python makes of sources."""
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)


def test_only_its_own_room_knows_the_name_of_a_toolchain() -> None:
    found = set()
    for path in sources(HOUSE):
        file = path.relative_to(HOUSE)
        if file.parts[0] == "toolchains" and file.parts[1] in ROOMS:
            continue
        text = path.read_text(encoding="utf-8")
        found |= {(file.as_posix(), line.strip()) for line in text.splitlines() if re.search("|".join(ROOMS), line)}
    assert sorted(found - set(NAMED)) == [], "let the toolchain say it: see conformance/toolchains/_toolchain.py"
    assert sorted(set(NAMED) - found) == [], "these lines are gone: take them off the list"


@pytest.mark.parametrize("folder", ["conformance", "plugins", "suites", "tests"])
def test_no_module_is_too_long_to_be_read_at_once(folder: str) -> None:
    long = {
        str(path.relative_to(REPOSITORY)): count
        for path in sources(REPOSITORY / folder)
        if path.suffix == ".py" and (count := len(path.read_text(encoding="utf-8").splitlines())) > LONGEST_MODULE
    }
    assert long == {}, f"more than {LONGEST_MODULE} lines: a file that needs sections wants to be two files"


def test_every_room_is_shipped() -> None:
    listed = PROJECT["tool"]["setuptools"]["packages"]
    elsewhere = set(PROJECT["tool"]["setuptools"]["package-dir"]) - {"conformance"}
    assert sorted(set(listed) - elsewhere) == PACKAGES
    assert len(listed) == len(set(listed))
    modules = {path.parent for path in sources(HOUSE) if path.suffix == ".py"}
    assert modules <= {REPOSITORY.joinpath(*each.split(".")) for each in PACKAGES}, "a folder without __init__.py"


def test_every_file_of_a_room_is_shipped() -> None:
    data: dict[str, list[str]] = PROJECT["tool"]["setuptools"]["package-data"]
    patterns = ["/".join((*package.split("."), pattern)) for package, patterns in data.items() for pattern in patterns]
    files = [path.relative_to(REPOSITORY).as_posix() for path in sources(HOUSE) if path.suffix != ".py"]
    assert [each for each in files if not any(fnmatch.fnmatch(each, pattern) for pattern in patterns)] == []


@pytest.mark.parametrize("name", PROJECT["project"]["entry-points"]["conformance"])
def test_every_extension_of_our_own_can_be_imported(name: str) -> None:
    module = importlib.import_module(PROJECT["project"]["entry-points"]["conformance"][name])
    assert any(hasattr(value, "conformance_impl") for value in vars(module).values()), "it implements no hook"


def is_private(name: str) -> bool:
    """Whether a dotted name within `conformance` has a part that is a room's own.

    `conformance._util` is a room for the others; what is private in it begins with an underscore too.
    """
    parts = name.removeprefix("conformance._util").split(".")
    return any(part.startswith("_") and not part.endswith("__") for part in parts)


def private_names(tree: ast.Module) -> set[str]:
    """The private names of `conformance` that a module takes: what it imports, what it patches, and in which module."""
    found = set()
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "conformance":
            names = {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
            modules |= names
            found |= set(names.values())
        elif isinstance(node, ast.Constant) and re.fullmatch(r"conformance(\.\w+)+", str(node.value)):
            found.add(str(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            found.add(f"{modules[node.value.id]}.{node.attr}")
        elif isinstance(node, ast.Call) and len(node.args) > 1 and isinstance(node.args[0], ast.Name):
            first, second = node.args[0].id, node.args[1]
            if first in modules and isinstance(second, ast.Constant) and isinstance(second.value, str):
                found.add(f"{modules[first]}.{second.value}")
    return {name for name in found if name.startswith("conformance.") and is_private(name)}


def test_tests_use_no_private_name_of_another_room() -> None:
    taken = []
    for path in sources(TESTS):
        file = path.relative_to(TESTS)
        if path.suffix == ".py" and file.parts[:2] != ("support", "outside"):
            own = ".".join(("conformance", *file.parent.parts)) + "."
            names = private_names(ast.parse(path.read_text(encoding="utf-8")))
            taken += [f"{file}: {name}" for name in sorted(names) if not name.startswith(own)]
    assert taken == [], "test by the public door, or make public what deserves it"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from conformance.report import _rows", {"conformance.report._rows"}),
        ("from conformance.report._rows import steps", {"conformance.report._rows.steps"}),
        ("import conformance.cli._new", {"conformance.cli._new"}),
        ("from conformance.contract import score\nset(score, '_path')", {"conformance.contract.score._path"}),
        ("from conformance.contract import score\nscore._path()", {"conformance.contract.score._path"}),
        ("patch('conformance.devices._child._SECONDS')", {"conformance.devices._child._SECONDS"}),
        ("from conformance._util.files import _flush", {"conformance._util.files._flush"}),
        ("from conformance._util.files import sha256_of\nfrom conformance import __version__", set()),
        ("from torch._dynamo import lookup_backend", set()),
    ],
)
def test_a_private_name_is_seen_however_it_is_taken(text: str, found: set[str]) -> None:
    assert private_names(ast.parse(text)) == found


#: Where the time of day is asked for, and why: no verdict, limit or order comes of it.
TIME_OF_DAY = {
    "pytest_plugin/_start.py": "when a run was started stands in its report",
    "pytest_plugin/_expectations.py": "an expectation expires on a date",
}


def test_whole_runs_are_started_by_fixtures_which_mark_the_test() -> None:
    makers = re.compile(r"\bProject\(")
    by_hand = [
        str(path.relative_to(TESTS))
        for path in sorted(TESTS.rglob("test_*.py"))
        if makers.search(text := path.read_text(encoding="utf-8")) and "\npytestmark = pytest.mark.runs\n" not in text
    ]
    assert by_hand == [], "ask for `project` or `new_project`"


def test_every_room_that_starts_whole_runs_has_one_that_ci_tries() -> None:
    starts, tried = set(), set()
    for path in TESTS.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        room = path.relative_to(TESTS).parts[0]
        if re.search(r"\b(project: Project|shared_run: Callable|new_project: Callable)", text):
            starts.add(room)
        if re.search(r"\bpytest\.mark\.(quick|parts)\b", text):
            tried.add(room)
    lacking = {each for each in starts - tried if not each.endswith(".py")} - {"generate"}  # its only one is slow
    assert starts & tried
    assert lacking == set(), "mark the cheapest of them `quick` or `parts`, or CI says nothing of the room"


def test_only_clocks_that_never_jump_decide() -> None:
    asked = {
        path.relative_to(HOUSE).as_posix()
        for path in sources(HOUSE)
        if path.suffix == ".py"
        and re.search(
            r"\btime\.time(_ns)?\b|\bfrom time import\b|\b(datetime|date)\.(now|today)\b", path.read_text("utf-8")
        )
    }
    assert asked == set(TIME_OF_DAY), "a clock may be set while a run goes on: use time.monotonic or process_time"
