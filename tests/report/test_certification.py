"""The level that a report certifies is what its cells show."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.report._certification import certification


def row(clause: str, level: str, verdict: str, host: str = "yes/yes", target: str | None = "yes/yes") -> dict[str, Any]:
    """The columns of a cell that a certificate looks at."""
    return {"clause": clause, "level": level, "verdict": verdict, "host": host, "target": target}


WHOLE = [row("a", "core", "PASS"), row("b", "mobile", "PASS"), row("b", "mobile", "PASS", "no/no", "no/no")]


@pytest.mark.parametrize(
    ("cells", "achieved", "missing"),
    [
        (WHOLE, "mobile", ""),
        ([*WHOLE, row("c", "reported", "FAIL")], "mobile", ""),
        ([*WHOLE, row("c", "mobile", "FAIL")], "core", "c: FAIL in 1 of 1 cells"),
        ([*WHOLE, row("a", "core", "CRASH")], None, "a: CRASH in 1 of 2 cells"),
        ([*WHOLE, row("a", "core", "LOST")], None, "a: LOST in 1 of 2 cells"),
        ([*WHOLE, row("a", "core", "XFAIL")], None, "a: XFAIL in 1 of 2 cells"),
        ([*WHOLE, row("a", "core", "HARNESS_ERROR")], None, "a: HARNESS_ERROR"),
        ([*WHOLE, row("b", "mobile", "NOT_EXERCISED", "yes/no")], "mobile", ""),
        ([*WHOLE, row("native.a", "mobile", "NOT_EXERCISED"), row("native.b", "mobile", "PASS")], "mobile", ""),
        (
            [*WHOLE, row("native.a", "mobile", "NOT_EXERCISED")],
            "core",
            "nothing was exercised in a program without Python",
        ),
        (
            [WHOLE[0], WHOLE[1], row("b", "mobile", "NOT_EXERCISED", "no/no", "no/no")],
            "core",
            "availability no/no on the host was not exercised",
        ),
    ],
)
def test_a_level_is_what_the_cells_show(cells: list[dict[str, Any]], achieved: str | None, missing: str) -> None:
    found = certification(cells, None, deselected=0)
    assert found["level"] == "mobile"
    assert found["achieved"] == achieved
    assert missing in " ".join(found["missing"])
    assert bool(found["missing"]) == (achieved != "mobile")
    assert found["excused"] == (missing == "a: XFAIL in 1 of 2 cells")
