"""The comparison as a page: the same changes as on the terminal, told without a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from justhtml import JustHTML
from support.example_reports import HOSTILE, full_report, poisoned

from conformance.cli import main


def put(folder: Path, name: str, report: dict[str, Any]) -> str:
    """A report in a file of a folder of that name."""
    path = folder / name / "report.json"
    path.parent.mkdir()
    path.write_text(json.dumps(report), encoding="utf-8")
    return str(path)


def broken() -> dict[str, Any]:
    """The report with a cell that passed before."""
    report = full_report()
    report["cells"][0] |= {"verdict": "CRASH", "phase": "load", "message": "signal 11"}
    report["run"]["seed"] = 8
    return report


def text_of(page: str) -> str:
    """What a page says, in one line."""
    return " ".join(JustHTML(page, sanitize=False).to_text().split())


def test_the_page_and_the_exit_code_say_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = put(tmp_path, "good", full_report()), put(tmp_path, "bad", broken())
    assert main(["compare", good, good, "--format", "html"]) == 0
    assert "A to B: 0 regressed, 14 unchanged" in text_of(capsys.readouterr().out)
    assert main(["compare", good, bad, "--format", "html"]) == 1
    said = text_of(capsys.readouterr().out)
    assert "A to B: 1 regressed, 13 unchanged" in said
    assert "seed 7 8" in said
    assert "CRASH in load: signal 11" in said
    assert main(["compare", bad, good, "--format", "html"]) == 0
    assert "0 regressed, 1 fixed" in text_of(capsys.readouterr().out)


def test_each_report_is_held_against_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [put(tmp_path, name, report) for name, report in (("a", full_report()), ("b", broken()), ("c", broken()))]
    assert main(["compare", *paths, "--format", "html"]) == 1
    page = capsys.readouterr().out
    assert "A to B: 1 regressed" in text_of(page)
    assert "A to C: 1 regressed" in text_of(page)
    assert len(re.findall('data-kind="changes"', page)) == 2


def test_behaviour_is_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = full_report(), full_report()
    for report, run in ((before, "ok"), (after, "refused")):
        report["cells"][2]["behaviour"] = {"expected": {"run": "ok"}, "observed": {"run": run}}
        report["cells"][3]["behaviour"] = {"expected": {"run": "ok"}, "observed": {"run": "ok"}}
    paths = [put(tmp_path, "before", before), put(tmp_path, "after", after)]
    main(["compare", *paths, "--format", "html"])
    said = text_of(capsys.readouterr().out)
    assert "run ok run refused differs" in said
    assert "case_timeout" not in said.partition("Behaviour side by side")[2]
    main(["compare", *paths, "--format", "html", "--all"])
    assert "same" in text_of(capsys.readouterr().out)


def test_a_page_does_not_tell_where_the_reports_lie(tmp_path: Path) -> None:
    one, output = put(tmp_path, "one", full_report()), tmp_path / "page.html"
    assert main(["compare", one, one, "--format", "html", "-o", str(output)]) == 0
    page = output.read_text(encoding="utf-8")
    assert "one/report.json" in page
    assert str(tmp_path) not in page


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_report_is_text(tmp_path: Path, text: str) -> None:
    good, bad = put(tmp_path, "good", full_report()), put(tmp_path, "bad", poisoned(broken(), text))
    output = tmp_path / "page.html"
    assert main(["compare", good, bad, "--format", "html", "-o", str(output)]) in (0, 1)
    page = output.read_text(encoding="utf-8")
    JustHTML(page, strict=True, sanitize=False)
    assert page.count("<script>") == 1
    tags = re.findall(r"<[a-z][^>]*>", page)
    assert not [each for each in tags if re.search(r"\s(?:on\w+|src|style)=", re.sub(r'"[^"]*"', '""', each))]


def test_reports_stand_under_their_own_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = broken()
    other["backend"]["name"] = "theirs"
    paths = [put(tmp_path, "one", full_report()), put(tmp_path, "two", other)]
    assert main(["compare", *paths, "--format", "html"]) == 1
    page = capsys.readouterr().out
    assert '<th scope="col">A: mine</th><th scope="col">B: theirs</th>' in page
    assert "A: mine → B: theirs" in text_of(page)


def test_reports_of_one_backend_are_told_apart_by_what_differs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newer = broken()
    newer["environment"]["torch"] = "2.15"
    paths = [put(tmp_path, "one", full_report()), put(tmp_path, "two", newer)]
    assert main(["compare", *paths, "--format", "html"]) == 1
    assert '<th scope="col">A: mine, torch 2.13</th><th scope="col">B: mine, torch 2.15</th>' in capsys.readouterr().out
    assert main(["compare", paths[0], put(tmp_path, "three", full_report()), "--format", "html"]) == 0
    assert "A: one → B: three" in text_of(capsys.readouterr().out)
