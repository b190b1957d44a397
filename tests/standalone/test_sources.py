"""What is copied into scripts stands in an order in which it can be executed."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from conformance.standalone.reproducers._sources import Collection


@pytest.mark.parametrize("toolchain", ["dynamo", "torchscript"])
def test_what_looks_at_pytorch_is_made_when_a_script_begins(toolchain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    collection = Collection()
    collection.add(f"conformance.toolchains.{toolchain}.verbs.pytorch", "pytorch_changes")
    script: dict[str, Any] = {"__name__": "script"}
    exec("\n".join(["from __future__ import annotations", *sorted(collection.imports), *collection.texts()]), script)
    assert script["pytorch_changes"](None, [])["changes"] == {}
