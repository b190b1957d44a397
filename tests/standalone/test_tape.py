"""The tape of a script: what each step came to is said as the harness says it."""

from __future__ import annotations

import pytest

from conformance.api.errors import (
    DeviceEnded,
)
from conformance.standalone.reproducers._tape import Tape


def test_a_script_says_what_a_step_came_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.standalone.reproducers._tape.VERBS", {1: "run"})
    tape = Tape({1: {"step": 1, "phase": "run", "came_to": "did not come back in time", "stderr": "a stack"}})
    with pytest.raises(DeviceEnded) as ended:
        tape.play("run", "run")
    assert str(ended.value) == "the process did not come back in time during run"
    assert ended.value.stderr == "a stack"
