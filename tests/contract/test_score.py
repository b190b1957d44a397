"""The score of a self-test speaks of one contract, and reports of another do not have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.contract.score import remember, remembered_score

OWN: dict[str, Any] = {"score": {"caught": 3, "saboteurs": 4}, "unproven": [], "controls": []}
SHARED: dict[str, Any] = {"score": {"caught": 5, "saboteurs": 5}, "unproven": [], "controls": []}


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_each_contract_has_a_score_of_its_own() -> None:
    remember(SHARED)
    assert remembered_score("executorch") is None
    remember(OWN, "executorch")
    assert remembered_score("executorch") == {"caught": 3, "saboteurs": 4, "succeeded": False}
    for toolchain in ("", "torchscript", "dynamo"):
        assert remembered_score(toolchain) == {"caught": 5, "saboteurs": 5, "succeeded": True}
