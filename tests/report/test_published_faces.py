"""The faces that other programs read: CTRF and badges; and the command that shows any face of any report."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from support.example_reports import HOSTILE, cell, full_report, poisoned, report_of
from support.project import Run
from support.small_reports import cell as small_cell
from support.small_reports import report_of as small_report

from conformance.api.verdicts import Verdict
from conformance.cli import main
from conformance.report.formats import formats
from conformance.report.formats.badge import badge_json, badge_of, badge_svg
from conformance.report.formats.ctrf import ctrf

SVG = "{http://www.w3.org/2000/svg}"
TEXT, WHOLE, TRUTH, FREE = (
    {"type": "string"},
    {"type": "integer", "minimum": 0},
    {"type": "boolean"},
    {"type": "object"},
)
FILLED = {"type": "string", "minLength": 1}
STATUS = {"enum": ["passed", "failed", "skipped", "pending", "other"]}


def closed(required: str, **properties: Any) -> dict[str, Any]:
    """An object with these properties and no others."""
    return {"type": "object", "required": required.split(), "properties": properties, "additionalProperties": False}


def lists(items: Any) -> dict[str, Any]:
    """A list of these."""
    return {"type": "array", "items": items}


#: What https://github.com/ctrf-io/ctrf asks of a document (specification 0.0.0 and its JSON Schema, read in July 2026),
#: of the parts that we write: no property beyond those known, integers for milliseconds, texts that are not empty.
CTRF = closed(
    "reportFormat specVersion results",
    reportFormat={"const": "CTRF"},
    specVersion={"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
    reportId={"type": "string", "pattern": r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"},
    runId=FILLED,
    timestamp={"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?[+-]\d\d:\d\d$"},
    generatedBy=TEXT,
    results=closed(
        "tool summary tests",
        tool=closed("name", name=FILLED, version=TEXT),
        summary=closed(
            "tests passed failed skipped pending other start stop",
            **dict.fromkeys((*STATUS["enum"], "tests", "flaky", "suites", "start", "stop", "duration"), WHOLE),
            extra=FREE,
        ),
        tests=lists(
            closed(
                "name status duration",
                testId=FILLED,
                name=FILLED,
                status=STATUS,
                rawStatus=TEXT,
                duration=WHOLE,
                suite={"type": "array", "minItems": 1, "items": TEXT},
                message=TEXT,
                trace=TEXT,
                snippet=TEXT,
                labels={"type": "object", "additionalProperties": TEXT},
                flaky=TRUTH,
                stdout=lists(TEXT),
                stderr=lists(TEXT),
                retries=WHOLE,
                retryAttempts=lists(
                    closed("attempt status", attempt={"type": "integer", "minimum": 1}, status=STATUS, message=TEXT)
                ),
                extra=FREE,
            )
        ),
        environment=closed(
            "", reportName=TEXT, appName=TEXT, appVersion=TEXT, osPlatform=TEXT, healthy=TRUTH, extra=FREE
        ),
    ),
)


def ctrf_of(report: dict[str, Any]) -> dict[str, Any]:
    """The document, valid."""
    found: dict[str, Any] = json.loads(ctrf(report))
    jsonschema.validate(found, CTRF)
    return found


def test_ctrf_has_a_test_for_each_cell() -> None:
    report = full_report()
    found = ctrf_of(report)
    tests, summary = found["results"]["tests"], found["results"]["summary"]
    assert [each["testId"] for each in tests] == [row["id"] for row in report["cells"]]
    assert [each["rawStatus"] for each in tests] == [row["verdict"] for row in report["cells"]]
    assert summary["tests"] == len(tests) == sum(summary[status] for status in STATUS["enum"])
    assert [summary[status] for status in STATUS["enum"]] == [2, 7, 3, 1, 1]
    assert tests[1]["labels"] == {
        "clause": "lowering.outputs",
        "level": "core",
        "case": "case_fail",
        "runtime": "full",
        "host": "yes/yes",
        "verdict": "FAIL",
        "phase": "run",
    }
    assert tests[1]["duration"] == 750
    assert tests[1]["trace"] == "it broke\nline 1\n  line 2"
    assert (tests[1]["stdout"], tests[1]["stderr"]) == (["said"], ["cried"])
    assert tests[2]["snippet"] == "python reproducers/case_crash-full-yes_yes/reproduce.py"
    assert summary["stop"] - summary["start"] == summary["duration"] == 2000
    assert found["timestamp"] == "2026-01-01T00:00:00+00:00"


def test_every_verdict_that_fails_a_run_is_failed_in_ctrf() -> None:
    tests = ctrf_of(full_report())["results"]["tests"]
    failed = {each["rawStatus"] for each in tests if each["status"] == "failed"}
    assert failed == {verdict.value for verdict in Verdict if verdict.fails}


def test_what_an_expectation_tolerates_fails_in_no_format() -> None:
    known = {"reason": "now and then", "verdict": "FLAKY", "found": "PASS", "message": "", "tolerated": True}
    report = small_report(small_cell("add"), small_cell("sub", "XPASS", "", "passed this time", expectation=known))
    assert [each["status"] for each in ctrf_of(report)["results"]["tests"]] == ["passed", "other"]
    assert ctrf_of(report)["results"]["summary"]["failed"] == 0


def test_a_flaky_cell_is_marked_with_its_attempts() -> None:
    found = ctrf_of(full_report())["results"]
    flaky = [each for each in found["tests"] if each["flaky"]]
    assert [each["rawStatus"] for each in flaky] == ["FLAKY"]
    assert found["summary"]["flaky"] == 1
    assert flaky[0]["retries"] == 1
    assert flaky[0]["retryAttempts"] == [
        {"attempt": 1, "status": "failed", "message": "it differed by 3"},
        {"attempt": 2, "status": "passed"},
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_ctrf_and_badges_take_every_text(text: str) -> None:
    report = poisoned(full_report(), text)
    ctrf_of(report)
    ctrf(report).encode()
    root = ElementTree.fromstring(badge_svg(report))
    assert {each.tag.removeprefix(SVG) for each in root.iter()} == {"svg", "title", "clipPath", "rect", "g", "text"}
    assert json.loads(badge_json(report))["message"] == "7 failing"


@pytest.mark.parametrize("extra", [None, 7, "text", [7], {"x": 1}, float("nan")])
def test_ctrf_takes_what_no_schema_checks(extra: Any) -> None:
    report = full_report()
    report["run"]["started"] = "yesterday"
    for row in report["cells"]:
        row |= {"later": extra, "margin": {"used": extra}, "expectation": {"owner": extra}}
        row["error"] = {"text": extra, "stdout": extra}
    assert "timestamp" not in ctrf_of(report)
    json.loads(ctrf(report), parse_constant=pytest.fail)


def badged(*verdicts: Verdict, achieved: str | None, complete: bool = True, deselected: int = 0) -> tuple[str, str]:
    """What the badge of such a report says, and its colour."""
    report = report_of([cell(f"case_{place}", verdict) for place, verdict in enumerate(verdicts)])
    report["certification"]["achieved"] = achieved
    report["run"]["complete"] = complete
    report["plan"]["deselected"] = deselected
    badge = badge_of(report)
    return badge.message, {"#17692f": "green", "#875000": "amber", "#a81717": "red"}[badge.color]


def test_what_a_badge_says() -> None:
    assert badged(Verdict.PASS, achieved="mobile") == ("mobile", "green")
    assert badged(Verdict.PASS, Verdict.FAIL, achieved="core") == ("core, 1 failing", "amber")
    assert badged(Verdict.CRASH, Verdict.FAIL, achieved=None) == ("2 failing", "red")
    assert badged(Verdict.LOST, Verdict.FAIL, achieved=None, complete=False) == ("incomplete", "amber")
    assert badged(Verdict.PASS, achieved=None, deselected=3) == ("incomplete", "amber")
    assert badged(Verdict.FAIL, achieved=None, deselected=3) == ("1 failing", "red")
    assert badged(Verdict.NOT_EXERCISED, achieved=None) == ("no level", "amber")


def test_a_badge_is_told_to_who_cannot_see_it() -> None:
    root = ElementTree.fromstring(badge_svg(full_report()))
    title = root.find(f"{SVG}title")
    assert title is not None
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == title.get("id")
    assert title.text == "mine: Level core: NOT reached. Highest level reached: none. 7 of 14 cells fail."
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|url\((?!#)|@import", badge_svg(full_report()))


def test_the_endpoint_is_as_shields_reads_it() -> None:
    assert json.loads(badge_json(full_report())) == {
        "schemaVersion": 1,
        "label": "PyTorch conformance",
        "message": "7 failing",
        "color": "#a81717",
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A report in a file."""
    path = tmp_path / "report.json"
    path.write_text(json.dumps(full_report()), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", formats())
def test_show_renders_any_face(path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main(["show", str(path), "--format", name]) == 0
    said = capsys.readouterr().out
    assert said == formats()[name].render(json.loads(path.read_text()))
    output = path.with_name("face")
    assert main(["show", str(path), "--format", name, "-o", str(output)]) == 0
    assert output.read_text(encoding="utf-8") == said
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("text", HOSTILE)
def test_show_moves_no_cursor(path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    path.write_text(json.dumps(poisoned(full_report(), text)), encoding="utf-8")
    assert main(["show", str(path)]) == 0
    said = capsys.readouterr().out
    said.encode()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", said)


def test_show_refuses_a_place_that_is_not_there(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(path), "-o", str(path / "no" / "face")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_show_knows_every_face(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["show", str(path), "--format", "nothing"])
    offered = capsys.readouterr().err
    assert all(name in offered for name in (*formats(), "terminal"))


@pytest.mark.parts
def test_a_run_writes_every_face(shared_run: Any) -> None:
    run: Run = shared_run("--backend=reference", "-k", "lowering.unregistered or unregistered")
    folder = run.report_folder("reference")
    assert {each.name for each in folder.iterdir()} == {
        *("report.json", "cells.jsonl"),
        *(each.file for each in formats().values()),
    }
    jsonschema.validate(json.loads((folder / "ctrf-report.json").read_text()), CTRF)
    assert json.loads((folder / "badge.json").read_text())["message"] == "incomplete"
