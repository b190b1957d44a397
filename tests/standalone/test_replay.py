"""A clause that is held against what the steps of a script came to hears it as the harness would say it."""

from __future__ import annotations

import pytest

from conformance.api.errors import DeviceEnded
from conformance.standalone.reproducers._main import StepReport
from conformance.standalone.reproducers._replay import Replay


def test_a_script_says_what_a_step_came_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.standalone.reproducers._replay.VERBS", {1: "run"})
    replay = Replay({1: StepReport(1, "run", came_to="did not come back in time", stderr="a stack")})
    with pytest.raises(DeviceEnded) as ended:
        replay.answer("run", "run")
    assert str(ended.value) == "the process did not come back in time during run"
    assert ended.value.stderr == "a stack"
