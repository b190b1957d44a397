"""A run with a time of its own: the lowest level comes first, and what was left out is said and claimed by nobody."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.certificate_office import Office
from support.made_reports import described, made_report
from support.project import Project

from conformance._util.times import seconds_of, time_text
from conformance.contract import Level
from conformance.pytest_plugin._budget import Budgeter
from conformance.pytest_plugin._exit_code import exit_code_of
from conformance.pytest_plugin._run import CELL
from conformance.pytest_plugin._scope import TimeBudget
from conformance.report import assemble
from conformance.report.formats.terminal import summary_text
from conformance.report.model import Report
from conformance.report.parts import as_json, read_part
from conformance.report.unfinished import unfinished
from conformance.run.plan import LEFT_OUT, cells_of

#: The time is over when three cells have ended.
OVER = """
    import math
    import types

    from conformance.pytest_plugin import _budget

    ended = []

    def pytest_runtest_teardown(item):
        ended.append(item)
        if len(ended) == 3:
            _budget.time = types.SimpleNamespace(monotonic=lambda: math.inf)
"""


@pytest.mark.parametrize(
    ("text", "seconds", "shown"),
    [("30m", 1800, "30m"), ("90s", 90, "90s"), ("1.5h", 5400, "90m"), ("0.5s", 0.5, "0.5s"), ("7200s", 7200, "2h")],
)
def test_a_time_is_shown_in_its_largest_unit(text: str, seconds: float, shown: str) -> None:
    assert TimeBudget.parse(text).seconds == seconds
    assert str(TimeBudget.parse(text)) == time_text(seconds) == shown
    assert seconds_of(shown) == seconds


@pytest.mark.parametrize("text", ["", "30", "0", "0s", "-1m", "1d", "m", "1e3s", "9" * 20 + "h"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"takes a time such as 30s, 5m or 2h, from 0.01s to 10000000s, found"):
        TimeBudget.parse(text)


class FakeItem:
    """An item with a cell, or without one."""

    def __init__(self, cell: Any = None) -> None:
        self.stash = pytest.Stash()
        if cell is not None:
            self.stash[CELL] = cell

    @property
    def level(self) -> str:
        return self.stash[CELL].clause.level.value if CELL in self.stash else "none"


def test_cells_are_ordered_by_level_and_within_one_as_they_were() -> None:
    from conformance.contract import shipped_clauses

    cells = [cell for clause in shipped_clauses() for cell in cells_of(clause, described())]
    items: list[Any] = [FakeItem(), *map(FakeItem, cells)]
    ordering = Budgeter(0.0).pytest_collection_modifyitems(items)
    next(ordering)
    with pytest.raises(StopIteration):
        ordering.send(None)
    levels = [item.level for item in items]
    assert list(dict.fromkeys(levels)) == ["core", "mobile", "complete", "reported", "none"]
    for level in Level:
        own = [cell.id for cell in cells if cell.clause.level is level]
        assert [item.stash[CELL].id for item in items if item.level == level.value] == own


def late_report(level: Level | None, *left_out: Level, deselected: int = 0, **verdicts: str) -> Report:
    """The report of a run whose time was over before cells of these levels began."""
    report = made_report(level=level)
    for row in report["cells"]:
        if Level(row["level"]) in left_out:
            row |= {"verdict": "LOST", "message": LEFT_OUT}
            row.pop("generated", None)
        row["verdict"] = verdicts.get(row["level"], row["verdict"])
    report["run"]["budget"] = "30m"
    wanted = Level(report["certification"]["level"])
    return read_part(Report, assemble(report, report["clauses"], report["cells"], deselected, wanted))


BEYOND_CORE = (Level.MOBILE, Level.COMPLETE, Level.REPORTED)


@pytest.mark.parametrize(
    ("level", "left_out", "more", "code"),
    [
        (None, (), {}, 0),
        (None, (Level.COMPLETE, Level.REPORTED), {}, 10),
        (Level.CORE, BEYOND_CORE, {}, 0),
        (Level.MOBILE, BEYOND_CORE, {}, 10),
        (None, (Level.REPORTED,), {}, 0),
        (None, (Level.REPORTED,), {"deselected": 3}, 10),
        (Level.CORE, BEYOND_CORE, {"core": "LOST"}, 10),
        (Level.CORE, BEYOND_CORE, {"core": "NOT_APPLICABLE"}, 1),
    ],
    ids=["nothing", "the-end-of-a-level", "beyond-the-level", "a-level", "reported", "part", "lost", "nothing-shown"],
)
def test_the_exit_code_is_that_of_what_was_asked_for(
    level: Level | None, left_out: tuple[Level, ...], more: dict[str, Any], code: int
) -> None:
    assert exit_code_of([late_report(level, *left_out, **more)], status=0, has_problems=False) == code


def test_what_failed_in_time_fails_the_run() -> None:
    assert exit_code_of([late_report(None, Level.COMPLETE)], status=1, has_problems=False) == 1
    assert exit_code_of([late_report(None, Level.COMPLETE)], status=0, has_problems=True) == 1


def test_what_is_missing_is_counted_by_why_and_by_level() -> None:
    report = late_report(None, Level.MOBILE, Level.REPORTED)
    of = {level: sum(row.level is level for row in report.cells) for level in Level}
    cells = sum(of.values())
    late = of[Level.MOBILE] + of[Level.REPORTED]
    which = f"({of[Level.MOBILE]} mobile, {of[Level.REPORTED]} reported)"
    assert unfinished(report) == [f"{late} of {cells} cells left out: the budget of 30m was over {which}"]
    assert report.certification.achieved is Level.CORE
    both = unfinished(late_report(None, Level.MOBILE, core="LOST"))
    assert [each.partition(" of ")[0] for each in both] == [str(of[Level.CORE]), str(of[Level.MOBILE])]
    assert both[0] == f"{of[Level.CORE]} of {cells} planned cells never came back"


def test_the_terminal_says_it_in_any_width() -> None:
    text = summary_text(as_json(late_report(None, Level.MOBILE, Level.REPORTED)), 60)
    told = text[text.index("INCOMPLETE: ") : text.index("Level complete: ")]
    assert max(map(len, told.splitlines())) <= 60
    assert "cells left out: the budget of 30m was over (" in " ".join(told.split())


def test_nothing_is_certified_of_a_run_that_left_something_out(office: Office) -> None:
    for level in ("core", "mobile"):
        office.report.write_text(json.dumps(as_json(late_report(None, Level.REPORTED))))
        code, said, _ = office.run("certify", office.report, "--level", level)
        assert code == 1
        assert "cells left out: the budget of 30m was over" in said
        assert not office.certificate.exists()


@pytest.mark.parts
def test_a_run_tells_everywhere_what_it_had_no_time_for(project: Project) -> None:
    project.write("over.py", OVER)
    run = project.run("--backend=reference", "--conformance-budget=30m", "-p", "over", PYTHONPATH=site_and(project))
    assert run.exit_code == 10, run.output
    report = run.report("reference")
    late = [row for row in report["cells"] if row["verdict"] == "LOST"]
    tried = [row["level"] for row in report["cells"] if row["seconds"]]
    assert {row["message"] for row in late} == {LEFT_OUT}
    assert tried == ["core"] * len(tried)
    assert 1 <= len(tried) <= 3
    assert report["run"] | {"budget": "30m", "complete": False} == report["run"]
    assert report["certification"]["achieved"] is None
    counted = f"{len(late)} of {len(report['cells'])} cells left out: the budget of 30m was over"
    assert "generated 240s, budget 30m" in run.output
    assert f"{len(late)} left out" in run.output
    for face in (
        run.output,
        *((run.report_folder("reference") / f"report.{kind}").read_text() for kind in ("md", "html")),
    ):
        assert counted in " ".join(face.split())
    undecided = [row for row in report["cells"] if row["verdict"] in ("UNSUPPORTED", "NOT_EXERCISED")]
    assert undecided, "what needs no time says why as ever"


def test_workers_keep_the_time_of_the_run(project: Project) -> None:
    run = project.run("--backend=reference", "--conformance-budget=0.01s", "-n", "2", "-k", "lowering")
    assert run.exit_code == 10, run.output
    report = run.report("reference")
    assert {row["message"] for row in report["cells"] if row["verdict"] == "LOST"} == {LEFT_OUT}
    assert not [row for row in report["cells"] if row["seconds"]]
    assert "no level is judged" in run.output


def test_a_time_that_is_none_is_said_at_once(project: Project) -> None:
    run = project.run("--backend=reference", "--conformance-budget=soon")
    assert run.exit_code == 4
    assert "--conformance-budget takes a time such as 30s, 5m or 2h" in run.output


def site_and(project: Project) -> str:
    """Where modules of the project are found, its own plugins of pytest among them."""
    return f"{project.site}:{project.folder}"
