"""What is copied into scripts stands in an order in which it can be executed."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import conformance
from conformance.extensions import resolve
from conformance.standalone.reproducers._sources import Collection
from conformance.standalone.reproducers._steps import COMMON
from conformance.toolchains import corpus, toolchains


@pytest.mark.parametrize("toolchain", ["dynamo", "torchscript"])
def test_what_looks_at_pytorch_is_made_when_a_script_begins(toolchain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    collection = Collection()
    collection.add(f"conformance.toolchains.{toolchain}.verbs.pytorch", "pytorch_changes")
    script: dict[str, Any] = {"__name__": "script"}
    exec("\n".join(["from __future__ import annotations", *sorted(collection.imports), *collection.texts()]), script)
    assert script["pytorch_changes"](None, [])["changes"] == {}


@pytest.mark.parametrize("toolchain", toolchains(), ids=lambda each: each.name)
def test_a_verb_that_is_copied_asks_of_a_session_what_scripts_have(toolchain: Any) -> None:
    if toolchain.lacking():
        pytest.skip(toolchain.lacking())
    kit = resolve(toolchain.kit)
    there = dir(importlib.import_module(kit.session).session)  # a look at each would ask for the author's class
    written = COMMON.by_verb | kit.writers.by_verb
    functions = [kit.verbs().named(name) for name in kit.verbs().names() if name not in written]
    copied = [each for each in functions if not each.__module__.endswith(".operators")]  # they have no scripts
    assert copied
    lacking = {
        f"{each.__name__}: session.{node.attr}"
        for each in copied
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(each))))
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "session" and node.attr not in there
    }
    assert not lacking


#: Rooms of which a script for a written cell copies what it needs.
_COPIED = ("_util", "api", "compare", "devices", "standalone")


@pytest.mark.parametrize("toolchain", ["dynamo", "executorch", "torchscript"])
def test_no_case_is_called_as_something_else_that_its_script_may_have(toolchain: str) -> None:
    house = Path(conformance.__file__).parent
    own = house / "toolchains" / toolchain
    cases = _defined(own.glob("cases/*.py"))
    others = _defined(
        [
            *(path for room in _COPIED for path in house.glob(f"{room}/**/*.py")),
            *house.glob("toolchains/*.py"),
            *own.glob("*.py"),
            *own.glob("verbs/*.py"),
            *own.glob("reproduce/*.py"),
        ]
    )
    assert cases
    assert others
    assert not cases & others


def _defined(paths: Iterable[Path]) -> set[str]:
    """The functions and classes at the top level of modules."""
    nodes = [node for path in paths for node in ast.parse(path.read_text()).body]
    return {node.name for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef)}


@pytest.mark.parametrize("toolchain", [each.name for each in toolchains()])
def test_the_model_of_every_case_stands_alone(toolchain: str) -> None:
    for case in corpus(toolchain):
        collection = Collection()
        collection.add(case.module_class.__module__, case.module_class.__name__)
        text = "\n\n".join(collection.texts())
        assert f"class {case.module_class.__name__}(" in text
        ast.parse(text)
        assert not re.search(r"^@\w*(case|everyday)", text, re.M), f"{case.name} registers itself:\n{text}"
