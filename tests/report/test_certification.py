"""The level that a report certifies is what its cells show."""

from __future__ import annotations

import msgspec
import pytest
from support.generated_rows import generated

from conformance.api.availability import Availability
from conformance.api.clause import Level
from conformance.api.verdicts import Verdict
from conformance.report._certification import certification
from conformance.report.model import Shown
from conformance.report.parts import read_part
from conformance.report.row_model import CellRow, Generated
from conformance.run.plan import LEFT_OUT


def row(clause: str, level: str, verdict: str, host: str = "yes/yes", target: str | None = "yes/yes") -> CellRow:
    """A cell, with the columns that a certificate looks at."""
    return CellRow(
        id=f"{clause}[a-full-{host}]",
        clause=clause,
        suite="a",
        level=Level(level),
        case="a",
        runtime="full",
        host=Availability(host),
        target=None if target is None else Availability(target),
        verdict=Verdict(verdict),
        phase="",
        message="",
        seconds={},
    )


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
def test_a_level_is_what_the_cells_show(cells: list[CellRow], achieved: str | None, missing: str) -> None:
    found = certification(cells, None, deselected=0)
    assert found.level is Level.MOBILE
    assert found.achieved == (Level(achieved) if achieved else None)
    assert missing in " ".join(found.missing)
    assert bool(found.missing) == (achieved != "mobile")
    assert found.excused == (missing == "a: XFAIL in 1 of 2 cells")


def test_a_level_takes_every_cell_that_a_run_had_no_time_for() -> None:
    late = [
        msgspec.structs.replace(row("b", level, "LOST", host), message=LEFT_OUT)
        for level, host in (("mobile", "yes/no"), ("mobile", "no/yes"), ("reported", "no/no"))
    ]
    found = certification([*WHOLE, *late], None, deselected=0)
    assert found.achieved is Level.CORE
    assert found.missing == ["2 of 5 cells of the level were left out: the time of the run was over"]
    assert not found.excused
    assert certification([*WHOLE, late[2]], None, deselected=0).achieved is Level.MOBILE


def test_a_level_takes_generated_cells_that_nobody_interrupted() -> None:
    drawn = msgspec.structs.replace(row("c", "mobile", "PASS"), generated=read_part(Generated, generated()))
    assert certification([*WHOLE, drawn], None, deselected=0).achieved is Level.MOBILE
    cut = msgspec.structs.replace(drawn, generated=read_part(Generated, generated(interrupted=True)))
    found = certification([*WHOLE, cut], None, deselected=0)
    assert found.achieved is Level.CORE
    assert found.missing == ["1 generated cells were interrupted before they had tried what they might"]


def test_a_level_is_earned_by_passes() -> None:
    excused = [row(name, "core", "NOT_APPLICABLE") for name in "abc"]
    found = certification(excused, None, deselected=0)
    assert found.achieved is None
    assert "0 of 3 clauses were shown by a PASS, and a level takes a third of them" in found.missing
    assert certification([*excused[:2], row("d", "core", "PASS")], None, deselected=0).achieved is Level.CORE


@pytest.mark.parametrize(
    ("verdicts", "achieved"),
    [
        (("NOT_APPLICABLE", "UNSUPPORTED"), None),
        (("UNSUPPORTED", "NOT_EXERCISED"), Level.CORE),
        (("NOT_APPLICABLE", "PASS"), Level.CORE),
    ],
)
def test_each_suite_of_a_level_is_shown_by_a_pass_or_declared_away(
    verdicts: tuple[str, ...], achieved: Level | None
) -> None:
    other = [msgspec.structs.replace(each, suite="b") for each in (row("b", "core", verdict) for verdict in verdicts)]
    found = certification([row("a", "core", "PASS"), *other], None, deselected=0)
    assert found.achieved is achieved
    assert ("nothing of the suite b was shown by a PASS" in found.missing) == (achieved is None)


def test_a_report_says_what_share_was_shown() -> None:
    cells = [row("a", "core", "PASS"), row("a", "core", "UNSUPPORTED"), row("b", "core", "PASS")]
    shown = certification([*cells, row("c", "reported", "PASS")], None, deselected=0).shown
    assert shown == Shown(clauses=2, of_clauses=2, cells=2, of_cells=3)
