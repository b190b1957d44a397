"""What is copied into scripts stands in an order in which it can be executed."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import conformance
from conformance.standalone.reproducers._sources import Collection


@pytest.mark.parametrize("toolchain", ["dynamo", "torchscript"])
def test_what_looks_at_pytorch_is_made_when_a_script_begins(toolchain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    collection = Collection()
    collection.add(f"conformance.toolchains.{toolchain}.verbs.pytorch", "pytorch_changes")
    script: dict[str, Any] = {"__name__": "script"}
    exec("\n".join(["from __future__ import annotations", *sorted(collection.imports), *collection.texts()]), script)
    assert script["pytorch_changes"](None, [])["changes"] == {}


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
