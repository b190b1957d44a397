"""The scoreboard, and what the repository publishes of it: order, denominators, links, and no trace of a machine."""

from __future__ import annotations

import getpass
import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest
from support.example_reports import HOSTILE, cell, poisoned, report_of
from support.places import REPOSITORY

from conformance._util.privacy import without_paths
from conformance.api.verdicts import Verdict
from conformance.cli import main
from conformance.report import read_report
from conformance.report.formats import formats
from conformance.report.scoreboard import Board, scoreboard_of

REPORTS = REPOSITORY / "reports"
_LARGEST = 2**20


def put(folder: Path, name: str, achieved: str | None, *verdicts: Verdict, page: bool = True, **changed: Any) -> None:
    """A report of a backend of that name."""
    report = report_of([cell(f"case_{place}", verdict) for place, verdict in enumerate(verdicts)])
    report["backend"]["name"] = name
    report["certification"]["achieved"] = achieved
    (folder / name).mkdir(parents=True)
    (folder / name / "report.json").write_text(json.dumps(report | changed), encoding="utf-8")
    if page:
        (folder / name / "report.html").write_text("", encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four reports, one of which is cut off."""
    put(tmp_path, "worse", None, Verdict.FAIL, Verdict.CRASH, Verdict.PASS)
    put(tmp_path, "better", None, Verdict.FAIL, Verdict.PASS, Verdict.UNSUPPORTED, page=False)
    put(tmp_path, "best", "core", Verdict.PASS, Verdict.PASS)
    (tmp_path / "cut off").mkdir()
    (tmp_path / "cut off" / "report.json").write_text('{"format": ', encoding="utf-8")
    return tmp_path


def rows(text: str) -> list[list[str]]:
    """The cells of the Markdown tables, without their heads."""
    tables = [block.splitlines()[2:] for block in text.split("\n\n") if block.startswith("|")]
    return [[each.strip() for each in line.strip("|").split("|")] for table in tables for line in table]


def test_the_best_is_first_and_what_cannot_be_read_is_a_row(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scoreboard", str(folder)]) == 1
    assert "cut off: report.json is not JSON" in capsys.readouterr().out
    found = rows((folder / "index.md").read_text(encoding="utf-8"))
    assert [row[0] for row in found] == ["best", "better", "worse", "cut off"]
    assert [row[1] for row in found[:3]] == ["core", "none", "none"]
    assert [row[2] for row in found[:3]] == ["2/2", "1/3 (1 failing)", "1/3 (2 failing)"]
    assert found[1][3] == "1 PASS, 1 FAIL, 1 UNSUPPORTED"
    assert "is not JSON" in found[3][1]
    assert found[0][-4:] == ["2.13", "7", "2026-01-01", "3 of 4"]


def test_each_toolchain_has_a_table_with_its_own_suites(folder: Path) -> None:
    put(folder, "apart", "mobile", Verdict.PASS)
    path = folder / "apart" / "report.json"
    report = json.loads(path.read_text(encoding="utf-8"))
    report["backend"]["toolchain"] = "another"
    (counts,) = report["summary"]["suites"].values()
    report["summary"]["suites"] = {"other": counts}
    path.write_text(json.dumps(report), encoding="utf-8")
    main(["scoreboard", str(folder)])
    text = (folder / "index.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert titles == ["Toolchain another", "Toolchain torchscript", "Reports that cannot be read"]
    heads = [line for line in text.splitlines() if line.startswith("| backend")]
    assert ["| other " in head for head in heads] == [True, False]
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert page.count('<th scope="col"><span>other</span></th>') == 1
    assert page.count("<table") == 6  # for each toolchain one and what it lacks; what cannot be read; versions


def test_a_square_is_the_redder_the_more_of_what_was_judged_fails(tmp_path: Path) -> None:
    put(tmp_path, "none", "core", *[Verdict.PASS] * 10, Verdict.UNSUPPORTED)
    put(tmp_path, "some", None, *[Verdict.PASS] * 9, Verdict.FAIL)
    put(tmp_path, "more", None, *[Verdict.PASS] * 8, *[Verdict.FAIL] * 2, *[Verdict.UNSUPPORTED] * 90)
    put(tmp_path, "most", None, Verdict.PASS, Verdict.FAIL)
    put(tmp_path, "nothing", None, Verdict.UNSUPPORTED)
    found = {each.folder: each.all.tone for each in scoreboard_of(tmp_path, tmp_path).entries}
    assert found == {"none": "good", "some": "bad-1", "more": "bad-2", "most": "bad-3", "nothing": "aside"}
    main(["scoreboard", str(tmp_path)])
    assert (tmp_path / "index.html").read_text(encoding="utf-8").count('class="bad-3"') == 2  # all, and its one suite


def test_what_an_expectation_tolerates_is_not_counted_as_failing(tmp_path: Path) -> None:
    known = {"reason": "now and then", "verdict": "FLAKY", "found": "PASS", "message": "", "tolerated": True}
    report = report_of([cell("one", Verdict.PASS), cell("two", Verdict.XPASS) | {"expectation": known}])
    (tmp_path / "some").mkdir()
    (tmp_path / "some/report.json").write_text(json.dumps(report), encoding="utf-8")
    (entry,) = scoreboard_of(tmp_path, tmp_path).entries
    assert str(entry.all) == "1/2"


def test_causes_are_counted_and_the_vendors_packages_named(tmp_path: Path) -> None:
    put(tmp_path, "mine", None, Verdict.FAIL, Verdict.FAIL, Verdict.CRASH, Verdict.PASS)
    path = tmp_path / "mine" / "report.json"
    report = json.loads(path.read_text(encoding="utf-8"))
    report["environment"] = {"torch": "2.13", "vendors-compiler": "3.9"}
    path.write_text(json.dumps(report), encoding="utf-8")
    (entry,) = scoreboard_of(tmp_path, tmp_path).entries
    assert (entry.causes, entry.versions) == (3, "vendors-compiler 3.9")
    main(["scoreboard", str(tmp_path)])
    assert ">vendors-compiler 3.9</small>" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert rows((tmp_path / "index.md").read_text(encoding="utf-8"))[0][4:6] == ["3", "vendors-compiler 3.9"]


def test_heads_leave_out_the_toolchain_that_the_table_names() -> None:
    assert Board("dynamo", True, ()).subject("dynamo_save_load") == "save load"
    assert Board("dynamo", True, ()).subject("save_load") == "save load"


def test_two_reports_of_one_backend_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for name in ("mine", "mine_with_options"):
        put(tmp_path, name, "core", Verdict.PASS)
        path = tmp_path / name / "report.json"
        path.write_text(path.read_text(encoding="utf-8").replace("mine_with_options", "mine"), encoding="utf-8")
    main(["scoreboard", str(tmp_path)])
    assert [row[0] for row in rows((tmp_path / "index.md").read_text())] == ["mine", "mine (mine_with_options)"]
    assert ">mine (mine_with_options)</a>" in (tmp_path / "index.html").read_text()


def test_pages_that_are_there_are_linked_from_wherever_the_scoreboard_lies(folder: Path) -> None:
    main(["scoreboard", str(folder)])
    assert set(re.findall(r'href="([^#"]+)"', (folder / "index.html").read_text())) == {
        *("best/report.html", "better/report.json", "worse/report.html", "cut%20off/report.json"),
    }
    (folder / "site").mkdir()
    main(["scoreboard", str(folder), "-o", str(folder / "site" / "all.html")])
    assert 'href="../best/report.html"' in (folder / "site" / "all.html").read_text()
    assert (folder / "site" / "all.md").is_file()


def test_pages_are_built_beside_the_scoreboard(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    built = folder.parent / "built" / "index.html"
    built.parent.mkdir()
    assert main(["scoreboard", str(folder), "--pages", "-o", str(built)]) == 1  # for the report that is cut off
    assert 'href="better/report.html"' in built.read_text()
    assert {path.name for path in (built.parent / "better").iterdir()} == {each.file for each in formats().values()}
    assert sorted(folder.rglob("*")) == before


def test_a_folder_without_reports_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scoreboard", str(tmp_path)]) == 2
    assert "found none" in capsys.readouterr().err
    assert not (tmp_path / "index.html").exists()


def test_a_report_of_a_part_says_so(tmp_path: Path) -> None:
    put(tmp_path, "part", None, Verdict.PASS, plan={"cells": 1, "deselected": 5, "sha256": "0" * 64})
    assert main(["scoreboard", str(tmp_path)]) == 0
    assert rows((tmp_path / "index.md").read_text())[0][1] == "none 5 cells were not selected."


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_report_keeps_to_its_row(tmp_path: Path, text: str) -> None:
    report = poisoned(report_of([cell("case", Verdict.PASS)]), text)
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "report.json").write_text(json.dumps(report), encoding="utf-8")
    assert main(["scoreboard", str(tmp_path)]) == 0
    assert len(rows((tmp_path / "index.md").read_text(encoding="utf-8"))) == 1
    assert (tmp_path / "index.html").read_text(encoding="utf-8").count("<script>") == 1


PUBLISHED = [path for path in sorted(REPORTS.rglob("*")) if path.is_file() and path.suffix not in (".py", ".pyc")]


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.relative_to(REPORTS).as_posix())
def test_what_is_published_tells_nothing_of_a_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.])/(?:root|home|tmp|usr|opt|work|var|mnt|builds)/", text)
    assert not [name for name in (socket.gethostname(), getpass.getuser()) if len(name) > 4 and name in text]
    assert path.stat().st_size < 2 * _LARGEST
    if path.name == "report.json":
        report = read_report(path)
        assert without_paths(report) == report
        assert path.stat().st_size < _LARGEST


def test_every_backend_of_the_repository_has_its_report() -> None:
    names = {"backend_with_compiler_demo", "python_control", "reference", "test_backend", "test_backend_unavailable"}
    assert {path.parent.name for path in REPORTS.glob("*/report.json")} >= names
    assert {path.name for path in (REPORTS / "reference").iterdir()} == {
        "report.json",
    }
    assert not list(REPORTS.rglob("cells.jsonl"))
