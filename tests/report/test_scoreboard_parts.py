"""What the scoreboard says beside its table: operators by dtype, defects by kind, releases, what is not offered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.example_reports import OPERATORS, cell, report_of
from support.generated_rows import FINDING, generated
from support.places import REPOSITORY

from conformance.api.verdicts import Verdict
from conformance.cli import main
from conformance.report.scoreboard import Scoreboard, scoreboard_of
from conformance.report.scoreboard.defects import UNSORTED

#: Six trials of an operator each: abs in float32 and int64, sum in float16 thrice and in float32 once.
_VALUES = ["dtype=float16", "dtype=float32", "dtype=int64", "operator=abs", "operator=sum"]
_DRAWN = {"tried": 6, "values": _VALUES, "counts": [3, 2, 1, 2, 4], "pairs": [[], [0], [0, 0], [0, 1, 1], [3, 1, 0, 0]]}


def drawn(*findings: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """A report of one cell that drew operators."""
    row = {"generated": generated(**_DRAWN | {"findings": [FINDING | each for each in findings]} | changed)}
    return report_of([cell("pointwise", Verdict.PASS) | row])


def board(folder: Path, **reports: dict[str, Any]) -> Scoreboard:
    """The scoreboard of these reports, by the names of their folders."""
    for name, report in reports.items():
        (folder / name).mkdir()
        (folder / name / "report.json").write_text(json.dumps(report), encoding="utf-8")
    return scoreboard_of(folder, folder)


def marks(scoreboard: Scoreboard) -> dict[str, str]:
    """Operators of the only backend that are not right everywhere → their marks, a space where nothing was tried."""
    assert scoreboard.operators
    (heat,) = scoreboard.operators.heats
    return {" ".join(row.operators): "".join(look[0] if look else " " for look in row.marks) for row in heat.rows}


def test_a_report_without_operators_has_no_heat_map(tmp_path: Path) -> None:
    assert board(tmp_path, mine=report_of([cell("case", Verdict.PASS)])).operators is None


def test_an_operator_table_is_a_heat_map(tmp_path: Path) -> None:
    scoreboard = board(tmp_path, mine=report_of([cell("case", Verdict.PASS)]) | {"operators": OPERATORS})
    assert scoreboard.operators
    assert scoreboard.operators.heats[0].dtypes == ("float32", "int64")
    assert marks(scoreboard) == {"add": "✓W", "sort": "R "}
    assert [(name, [str(each) for each in shares]) for name, shares in scoreboard.operators.across.dtypes] == [
        ("float32", ["1/2"]),
        ("int64", ["0/1 (1 failing)"]),
    ]
    assert [name for name, _ in scoreboard.operators.across.operators] == ["add"]  # a refusal is not wrong


@pytest.mark.parametrize(
    ("finding", "expected"),
    [
        ({"operators": ["abs"], "axes": ["dtype=int64"], "count": 1}, {"abs": " ✓W"}),
        ({"operators": ["abs"], "axes": [], "count": 1, "verdict": "CRASH"}, {"abs": " C✓"}),
        ({"operators": ["abs"], "axes": [], "count": 1, "observable": "error"}, {"abs": " F✓"}),
        ({"operators": ["sum"], "axes": ["dtype=float16"], "count": 3}, {"sum": "W? "}),
    ],
    ids=["its dtype", "the plainest", "raised", "several as one"],
)
def test_what_cells_drew_is_right_but_for_what_a_finding_names(
    tmp_path: Path, finding: dict[str, Any], expected: dict[str, str]
) -> None:
    scoreboard = board(tmp_path, mine=drawn(finding))
    assert scoreboard.operators
    assert set(scoreboard.operators.heats[0].dtypes) == {"float16", "float32", "int64"}
    order = [scoreboard.operators.heats[0].dtypes.index(each) for each in ("float16", "float32", "int64")]
    assert {name: "".join(text[place] for place in order) for name, text in marks(scoreboard).items()} == expected


def test_programs_of_several_operators_say_nothing_of_one(tmp_path: Path) -> None:
    assert board(tmp_path, mine=drawn(tried=5)).operators is None


def test_backends_stand_side_by_side_with_what_any_has_wrong(tmp_path: Path) -> None:
    wrong = drawn({"operators": ["abs"], "axes": ["dtype=int64"], "count": 1})
    wrong["backend"]["name"] = "other"
    board(tmp_path, mine=drawn(), other=wrong)
    main(["scoreboard", str(tmp_path)])
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert 'title="mine, abs: 2 of 2 right, 0 wrong"' in page
    assert 'class="bad-3"><button type="button" title="other, abs: 1 of 2 right, 1 wrong"' in page
    assert "other: 1 of 2 operators are right in every dtype that was tried" in page
    assert 'title="mine, sum' not in page
    assert "| int64   | 1/1    | 0/1 (1 failing) |" in (tmp_path / "index.md").read_text(encoding="utf-8")


def with_findings(folder: Path, kinds: str = '"Lost" = ["mine_loses"]\n') -> None:
    """Two scripts, one of which is of a kind, described and to be filed."""
    for name in ("findings", "upstream"):
        (folder / name).mkdir()
    (folder / "findings" / "mine_loses.py").write_text('"""mine: it\nloses <b>.\n\nExpected: all."""\n')
    (folder / "findings" / "mine_ends.py").write_text('"""mine: it ends."""\n')
    (folder / "findings" / "kinds.toml").write_text(kinds)
    (folder / "findings.md").write_text("## Mine, of us\n\n| it loses | [it](findings/mine_loses.py) |\n")
    (folder / "upstream" / "mine_loses.md").write_text("# it loses\n")


def test_defects_stand_by_kind_with_their_scripts(tmp_path: Path) -> None:
    with_findings(tmp_path)
    defects = board(tmp_path, mine=report_of([cell("case", Verdict.FAIL)])).defects
    assert defects
    assert defects.owners == ("Mine", "not described")
    found = {kind.title: [(each.title, each.whose, each.text) for each in kind.defects] for kind in defects.kinds}
    assert found == {
        "Lost": [("mine: it loses <b>.", "Mine", "upstream/mine_loses.md")],
        UNSORTED: [("mine: it ends.", "not described", "")],
    }
    main(["scoreboard", str(tmp_path)])
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert '<a href="findings/mine_loses.py">' in page
    assert "loses &lt;b&gt;." in page


def test_a_list_of_kinds_that_names_no_script_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_findings(tmp_path, '"Lost" = ["nowhere"]\n')
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "report.json").write_text(json.dumps(report_of([cell("case", Verdict.PASS)])))
    assert main(["scoreboard", str(tmp_path)]) == 2
    assert "names nowhere; expected names of scripts beside it" in capsys.readouterr().err


def test_scripts_are_copied_beside_pages_that_are_read_elsewhere(tmp_path: Path) -> None:
    with_findings(tmp_path)
    board(tmp_path, mine=report_of([cell("case", Verdict.PASS)]))
    built = tmp_path.parent / "elsewhere" / "index.html"
    built.parent.mkdir()
    assert main(["scoreboard", str(tmp_path), "--pages", "-o", str(built)]) == 0
    assert '<a href="findings/mine_loses.py">' in built.read_text(encoding="utf-8")
    assert (built.parent / "upstream" / "mine_loses.md").is_file()
    assert (built.parent / "findings" / "mine_ends.py").is_file()


def release(version: str, *verdicts: Verdict, **backend: Any) -> dict[str, Any]:
    """A report of a backend by that version of its vendor's compiler."""
    report = report_of([cell(f"case_{place}", verdict) for place, verdict in enumerate(verdicts)])
    report["environment"] = {"torch": "2.13", "compiler": version}
    report["backend"] = report["backend"] | {"name": "mine"} | backend
    return report


def test_a_release_says_what_it_broke_and_mended(tmp_path: Path) -> None:
    scoreboard = board(
        tmp_path,
        new=release("3.10", Verdict.PASS, Verdict.FAIL, Verdict.PASS),
        old=release("3.9", Verdict.FAIL, Verdict.PASS, Verdict.PASS),
    )
    (found,) = scoreboard.releases
    assert (found.before.folder, found.after.folder) == ("old", "new")  # 3.9 is elder than 3.10
    assert found.what == "compiler 3.9 → 3.10"
    assert dict(found.counts) == {"broken": 1, "fails otherwise": 0, "mended": 1}
    assert [(each.cell.split("[")[1][:6], each.word) for each in found.cells] == [
        ("case_1", "broken"),
        ("case_0", "mended"),
    ]
    main(["scoreboard", str(tmp_path)])
    assert "<b>1</b> <span>broken</span>" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "1 broken, 0 fails otherwise, 1 mended" in (tmp_path / "index.md").read_text(encoding="utf-8")


def test_other_options_and_the_same_versions_are_no_release(tmp_path: Path) -> None:
    reports = {
        "one": release("3.9", Verdict.PASS),
        "again": release("3.9", Verdict.FAIL),
        "options": release("3.8", Verdict.PASS, options={"fast": True}),
    }
    assert board(tmp_path, **reports).releases == ()


def test_what_is_not_offered_stands_with_its_reason(tmp_path: Path) -> None:
    lacking = report_of([cell("case", Verdict.PASS)])
    lacking["backend"] = lacking["backend"] | {"name": "lacking", "features": {"missing": {"training": "not yet"}}}
    whole = report_of([cell("case", Verdict.PASS)])
    whole["backend"] = whole["backend"] | {"name": "whole", "features": {"missing": {}}}
    (table,) = board(tmp_path, lacking=lacking, whole=whole).capabilities
    assert table.rows == (("training", ("not yet", None)),)
    main(["scoreboard", str(tmp_path)])
    assert 'title="lacking, training: not yet"' in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_every_script_of_the_repository_is_of_a_kind_and_described() -> None:
    defects = scoreboard_of(REPOSITORY / "reports", REPOSITORY / "reports").defects
    assert defects
    unsorted = [each.name for kind in defects.kinds if kind.title == UNSORTED for each in kind.defects]
    assert unsorted == [], "name them in reports/findings/kinds.toml"
    assert "not described" not in defects.owners
