"""What a report says of its generated cells: worked out from their rows, joined, compared, shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.generated_rows import FINDING, generated
from support.small_reports import cell, report_of

from conformance.api.clause import SpeaksOf
from conformance.cli import main
from conformance.contract import shipped_clauses
from conformance.generate.axes import AXES
from conformance.report import ReportError, assemble, read_report
from conformance.report.formats.html import html
from conformance.report.formats.markdown import markdown
from conformance.report.formats.terminal import summary_text
from conformance.report.parts import read_part
from conformance.report.row_model import CellRow
from conformance.report.view import is_about_an_operator
from conformance.run.plan import TURNED_OFF

#: What the harness draws along.
DRAWN = {
    "dtype": ["float32", "float64", "int64"],
    "size": ["empty", "one", "odd", "prime", "large"],
    "layout": ["contiguous", "transposed", "stepped"],
}
OTHER = {
    "values": ["layout=transposed", "dtype=float32", "shape=round", "layout=slanted"],
    "counts": [2, 5, 1, 3],
    "pairs": [[], [2], [0, 1], [0, 3, 1]],
}


def failing(case: str, *findings: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The row of a generated cell that found something."""
    return cell(case, "FAIL", "run", "it differs", generated=generated(findings=[*findings]), **more)


@pytest.fixture
def report() -> dict[str, Any]:
    """One of two generated cells that found something, and of one that is none."""
    again = FINDING | {"count": 1, "message": "2 of 4 elements differ"}
    other = FINDING | {"cause": "sort / value=NaN / crash", "verdict": "CRASH", "count": 1}
    second = failing("calls", again, other)
    second["generated"] |= OTHER | {"discarded": {"unstable": 2}, "refused": {}}
    made = report_of(failing("views", FINDING), second, cell("add"), run__generated="30s")
    return assemble(made | {"generated": {"axes": DRAWN}}, made["clauses"], made["cells"], 0, None)


def count_of(report: dict[str, Any], *values: str) -> int:
    """How often a value, or a pair of two, met the backend."""
    places = sorted((report["generated"]["values"].index(each) for each in values), reverse=True)
    found = report["generated"]["pairs"][places[0]][places[1]] if len(places) > 1 else None
    return int(report["generated"]["counts"][places[0]] if found is None else found)


def test_rows_are_added_up(report: dict[str, Any]) -> None:
    summary = report["generated"]
    assert summary["clauses"] == [
        {
            "clause": "toy.works",
            "cells": 2,
            "tried": 20,
            "discarded": {"invalid": 3, "unstable": 3},
            "refused": {"aten::foo": 2},
            "seconds": 2.5,
            "findings": 2,
        }
    ]
    assert count_of(report, "dtype=float32") == 15
    assert count_of(report, "layout=transposed") == 3
    assert count_of(report, "dtype=float32", "layout=transposed") == 3, "whichever of the two is the first in a row"
    assert count_of(report, "dtype=int64", "layout=transposed") == 0
    assert summary["others"] == {"shape": {"round": 1}}, "what is drawn along no known axis is counted, without pairs"
    assert "shape=round" not in summary["values"]
    assert count_of(report, "layout=slanted", "dtype=float32") == 3, "another value of a known one is a value"
    assert count_of(report, "size=empty") == 0, "and what was never met"
    assert [(each["cause"], each["count"], len(each["cells"])) for each in summary["findings"]] == [
        (FINDING["cause"], 4, 2),
        ("sort / value=NaN / crash", 1, 1),
    ]


def test_a_report_without_generated_cells_says_nothing_of_them() -> None:
    report = report_of(cell("add"))
    assert "generated" not in report
    assert "enerated" not in markdown(report) + summary_text(report, 80)
    assert 'id="generated"' not in html(report)


def test_the_axes_of_the_run_stay_those_of_the_report(report: dict[str, Any]) -> None:
    """A harness that draws along other axes comes to the same summary from the same cells."""
    today = report_of(cell("views", generated=generated()))
    assert today["generated"]["axes"] == {name: list(values) for name, values in AXES.items()}
    older = report | {"generated": report["generated"] | {"axes": {"dtype": ["float32", "float8"]}}}
    again = assemble(older, report["clauses"], report["cells"], 0, None)
    assert again["generated"]["values"][:2] == ["dtype=float32", "dtype=float8"]
    assert "size=empty" not in again["generated"]["values"]
    assert assemble(again, report["clauses"], report["cells"], 0, None) == again


@pytest.mark.parametrize(
    "change",
    [{"counts": [1, 2]}, {"pairs": [[], [4], [1]]}, {"values": ["dtype=int64"] * 3}],
    ids=["counts", "pairs", "twice"],
)
def test_lists_that_do_not_fit_are_refused(tmp_path: Path, report: dict[str, Any], change: dict[str, Any]) -> None:
    with pytest.raises(ReportError, match="at cells/0/generated: values, counts and pairs have other lengths"):
        report_of(cell("views", generated=generated(**change)))
    for place in (report["cells"][0]["generated"], report["generated"]):
        kept = dict(place)
        place |= change
        (tmp_path / "report.json").write_text(json.dumps(report))
        with pytest.raises(ReportError, match="have other lengths"):
            read_report(tmp_path / "report.json")
        place |= kept
    (tmp_path / "report.json").write_text(json.dumps(report))
    assert read_report(tmp_path / "report.json") == report


@pytest.mark.parametrize(
    ("row", "budget", "missing"),
    [
        (cell("views", generated=generated()), "30s", []),
        (cell("views", generated=generated()), "25", []),
        (
            cell("views", generated=generated()),
            "24",
            ["each generated cell tried 24 programs, and a level takes 25"],
        ),
        (cell("views"), "24", []),
        (cell("views", "NOT_EXERCISED", message=TURNED_OFF), "0", [TURNED_OFF]),
        (cell("views", "NOT_EXERCISED", message=TURNED_OFF, level="reported"), "0", []),
        (cell("views", "NOT_EXERCISED", message="no compiler"), "0", []),
    ],
)
def test_a_level_takes_generated_cells(row: dict[str, Any], budget: str, missing: list[str]) -> None:
    certification = report_of(cell("add"), row, run__generated=budget)["certification"]
    assert (certification["missing"], certification["achieved"]) == (missing, None if missing else "core")


class Desk:
    """A folder with reports, and what becomes of several."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._capsys = capsys

    def __call__(self, command: str, *reports: dict[str, Any], options: tuple[str, ...] = ()) -> tuple[int, str]:
        """The exit code of a command with reports that are written first, and what it said."""
        paths = [self._folder / f"{number}.json" for number, _ in enumerate(reports)]
        for path, report in zip(paths, reports, strict=True):
            path.write_text(json.dumps(report), encoding="utf-8")
        code = main([command, *map(str, paths), *options])
        said = self._capsys.readouterr()
        return code, said.out + said.err

    def merged(self, *reports: dict[str, Any]) -> dict[str, Any]:
        """The report that the others are parts of."""
        path = self._folder / "merged.json"
        path.unlink(missing_ok=True)
        code, said = self("merge", *reports, options=("-o", str(path)))
        assert path.exists(), f"{code}: {said}"
        return read_report(path)


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    """An empty one."""
    return Desk(tmp_path, capsys)


def test_shards_are_added_up(desk: Desk) -> None:
    one = report_of(failing("views", FINDING), deselected=1, run__generated="30s")
    two = report_of(cell("calls", generated=generated(**OTHER)), deselected=1, run__id="two", run__generated="30s")
    for shards in ((one, two), (two, one)):
        merged = desk.merged(*shards)
        assert merged["run"]["generated"] == "30s"
        assert merged["generated"]["clauses"][0]["tried"] == 20
        assert count_of(merged, "dtype=float32", "layout=transposed") == 3
        assert [each["count"] for each in merged["generated"]["findings"]] == [3]


def test_a_cell_that_two_shards_tried_is_that_which_tried_more(desk: Desk) -> None:
    """With one seed both drew the same programs: to add them up would count these twice."""
    few = report_of(cell("views", generated=generated(tried=4)))
    many = report_of(cell("views", generated=generated(tried=10)), run__id="two")
    found = report_of(cell("views", "FAIL", generated=generated(tried=6, findings=[FINDING])), run__id="three")
    for shards in ((few, many), (many, few)):
        assert desk.merged(*shards)["generated"]["clauses"][0]["tried"] == 10
    for shards in ((few, found), (found, many), (many, found)):
        assert desk.merged(*shards)["cells"][0]["verdict"] == "FAIL"
    same = report_of(cell("views", generated=generated(tried=6)), run__id="four")
    code, said = desk("merge", found, same, options=("-o", "nowhere.json"))
    assert code == 2
    assert "came to PASS, not FAIL" in said
    code, said = desk("merge", few, report_of(cell("add"), run__generated="7"), options=("-o", "nowhere.json"))
    assert code == 2
    assert "differs in the budget of generated cells: 7, not none" in said


def test_a_comparison_is_of_verdicts_and_not_of_counts(desk: Desk) -> None:
    before = report_of(failing("views", FINDING), cell("calls", generated=generated()))
    after = report_of(
        failing("views", FINDING | {"cause": "sort / dtype=int64 / shape"}) | {"message": "another one differs"},
        cell("calls", generated=generated(tried=99)),
    )
    code, said = desk("compare", before, after)
    assert code == 0, said
    assert "0 regressed, 2 unchanged" in said
    worse = report_of(failing("views", FINDING), failing("calls", FINDING))
    code, said = desk("compare", before, worse)
    assert code == 1
    assert "1 regressed" in said
    plain = [report_of(cell("add", "FAIL", "run", message)) for message in ("one", "another")]
    assert "1 different failure" in desk("compare", *plain)[1], "other cells tell another message"


def test_a_terminal_has_a_few_lines(report: dict[str, Any]) -> None:
    quiet, usual, every = (summary_text(report, 80, verbosity=level) for level in (-1, 0, 1))
    assert max(map(len, every.splitlines())) <= 80
    told = usual[usual.index("Generated") : usual.index("Failures")]
    assert len(told.splitlines()) <= 13
    assert "Generated: 20 tried in 2 cells (seed 0, budget 30s), 2 causes found." in told
    assert "6 discarded, which judge nobody: invalid 3, unstable 3; 2 refused" in told
    assert "4 of 12 values of 3 axes met the backend, and 1 of shape; 3 of 66 pairs" in told
    assert "never met: dtype float64; size empty, one, odd, 2 more; layout" in told
    assert "FAIL addmm / layout=transposed / values (4 times)" in told
    assert "\n  report.html has the program of each\n" in told
    assert "never" not in quiet
    assert "CRASH sort / value=NaN / crash (1 time)" in quiet
    assert "prime" in every
    assert "prime" not in told


def test_markdown_has_the_tables(report: dict[str, Any]) -> None:
    text = markdown(report)
    assert re.search(r"\| toy\.works +\| +2 \| +20 \| +6 \| +2 \| +2 \|", text)
    assert re.search(r"\| layout +\| 2 of 4 +\| contiguous, stepped ", text)
    assert re.search(r"\| FAIL +\| addmm / layout=transposed / values +\| 4 ", text)


def test_the_page_shows_what_was_found_and_what_was_never_met(report: dict[str, Any]) -> None:
    page = html(report)
    assert f'<pre tabindex="0">\n{FINDING["source"]}</pre>' in page
    assert "<li><code>float32[2, 3] transposed</code></li>" in page
    assert '<th scope="row">stepped</th><td class="number never">0</td><td><span class="never">never met</span>' in page
    assert '<th scope="row">float32</th><td class="number">15</td><td><span class="bar" style="width: 100%">' in page
    assert "<dt>budget of generated cells</dt><dd>30s</dd>" in page
    values = report["generated"]["values"]
    assert page.count('<td class="heat-0">0</td>') == len(values) * (len(values) - 1) // 2 - 3
    assert "<summary>shape: 1 met</summary>\n<p><code>round</code> 1</p>" in page
    assert page.count('<td class="heat-1">1</td>') == 3
    found = FINDING | {"source": "</pre><script>x</script>", "inputs": []}
    assert "<script>x" not in html(report_of(failing("views", found)))


def test_many_causes_are_counted_and_not_shown() -> None:
    found = [FINDING | {"cause": f"op{number} / {'dtype=int64 ' * 40} / shape"} for number in range(40)]
    report = report_of(failing("views", *found))
    told = summary_text(report, 80)
    assert "... and 35 causes more; report.html has the program of each" in told
    assert len(told.splitlines()) < 75
    assert "... and 10 more causes: report.json has them all." in markdown(report)
    assert all(f"<code>op{number} " in html(report) for number in range(40))


@pytest.mark.parametrize(
    "clause", [each.id for each in shipped_clauses() if each.speaks_of is SpeaksOf.OPERATORS], ids=str
)
def test_generated_cells_of_operators_are_no_rows_of_the_operator_table(clause: str) -> None:
    """They stand in the grid, and a comparison tells where they are gone."""
    row = cell("pointwise", suite="operators", generated=generated()) | {"clause": "operators.correct"}
    table = cell("add", suite="operators") | {"clause": clause, "id": f"{clause}[add]"}
    assert [is_about_an_operator(read_part(CellRow, each)) for each in (row, table)] == [False, True]
