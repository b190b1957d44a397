"""Steps of a behaviour table, as every format of a report shows them."""

from __future__ import annotations

from conformance.report._rows import steps_text


def test_steps_of_the_same_circumstances_stand_together() -> None:
    assert steps_text({"lower": "ok", "run": "refused"}) == "lower ok, run refused"
    twice = {"there: load": "ok", "there: run": "ok", "gone: load": "ok"}
    assert steps_text(twice) == "there: load ok, run ok; gone: load ok"
