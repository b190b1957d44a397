"""The faces of a report that others publish: whatever a string says, it is shown, and does nothing."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from conformance.report import read_report
from conformance.report._escape import escape_markdown
from conformance.report.html import html
from conformance.report.markdown import markdown
from conformance.report.terminal import summary_text
from conformance.verdict import Verdict

DIGEST = "0123456789abcdef" * 4
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></style></textarea></pre></script><script>alert(1)</script>",
    "a|b|c",
    "one\n\n| two | three |\n# four\r\n```\n",
    "`code` ``` ~~~",
    "]]>",
    "<!-- -->",
    "{{7*7}}",
    "{% include 'report.css' %}",
    "[text](javascript:alert(1)) ![](https://example.com/x.png)",
    'javascript:alert(1) x/y#1"><b>',
    "&lt;b&gt; &#60;b&#62;",
    "\\|\\`\\",
    "\ud800 \u202e \x00 \x1b[31m",
]
#: Strings that the schema chooses from a list, or that are digests: no report that was read has others there.
CHOSEN = {"format", "sha256", "level", "achieved", "host", "target", "verdict"}
#: Objects whose names are an author's or a clause's own.
FREE_NAMES = {"environment", "missing", "tolerances", "states", "seconds", "expected", "observed", "suites", "clauses"}
VOID = {"meta", "input", "br", "hr", "img", "link", "base", "area", "col", "embed", "source", "track", "wbr"}


def cell(case: str, verdict: Verdict, clause: str = "lowering.outputs", **more: Any) -> dict[str, Any]:
    """A cell of the report below."""
    row = {
        "id": f"{clause}[{case}-full-yes/yes]",
        "clause": clause,
        "suite": clause.partition(".")[0],
        "level": "core",
        "case": case,
        "runtime": "full",
        "host": "yes/yes",
        "target": None,
        "verdict": verdict.value,
        "phase": "run" if verdict.fails else "",
        "message": f"{case} came to {verdict.value}",
        "seconds": {"lower": 0.25, "run": 0.5},
    }
    return row | more


def report_of(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """A small report with something in every field."""
    counts: dict[str, int] = {}
    for row in cells:
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    behaviour = {"expected": {"lower": "ok", "run": "ok"}, "observed": {"lower": "ok", "run": "wrong numbers"}}
    measured = {"cell": "c", "host": "yes/yes", "runtime": "full", "verdict": "FAIL", **behaviour}
    clause = {"id": "lowering.outputs", "suite": "lowering", "level": "core"}
    return {
        "format": "torch-conformance-report/1",
        "run": {
            "id": "r1",
            "started": "2026-01-01",
            "seconds": 2.0,
            "seed": 7,
            "argv": ["--backend=b"],
            "complete": True,
        },
        "harness": {
            "version": "0.1",
            "contract": {"version": "1", "sha256": DIGEST},
            "selftest": {"caught": 3, "saboteurs": 4, "succeeded": False},
        },
        "environment": {"python": "3.11", "implementation": "CPython", "torch": "2.13", "platform": "Linux", "x": "y"},
        "backend": {
            "name": "mine",
            "toolchain": "torchscript",
            "distribution": "mine-dist",
            "version": "9.1",
            "files": [{"name": "libmine.so", "sha256": DIGEST}],
            "features": {"missing": {"loops": "prim::Loop is not lowered"}},
            "tolerances": {"float16": [0.01, 0.02]},
            "states": {"unavailable": True, "lost": False},
        },
        "plan": {"cells": len(cells), "deselected": 0, "sha256": DIGEST},
        "clauses": [clause | {"statement": "Outputs are the same.", "source": "pytorch/pytorch#41145"}],
        "cells": cells,
        "availability": {"host": [measured], "target": [measured | {"target": "yes/yes"}]},
        "summary": {"verdicts": counts, "suites": {"lowering": counts}, "clauses": {"lowering.outputs": counts}},
        "certification": {"level": "core", "achieved": None, "missing": ["lowering.outputs: FAIL"], "excused": False},
    }


@pytest.fixture
def report() -> dict[str, Any]:
    """One cell of each verdict on a case of its own, and two on one case."""
    error = {
        "type": "RuntimeError",
        "text": "it broke",
        "stack": "line 1\n  line 2",
        "stdout": "said",
        "stderr": "cried",
    }
    cells = [cell(f"case_{verdict.value.lower()}", verdict, notes=["a remark"]) for verdict in Verdict]
    cells[1] |= {"error": {**error, "signal": 11, "more": {"deep": ["er"]}}, "expectation": {"reason": "known"}}
    cells.append(cell("case_fail", Verdict.PASS) | {"id": "lowering.outputs[case_fail-lite-yes/yes]"})
    return report_of(cells)


def poisoned(value: Any, text: str, name: str = "") -> Any:
    """The same report with ``text`` in every string that is free."""
    if isinstance(value, dict):
        prefix = text if name in FREE_NAMES else ""
        return {f"{prefix}{key}": poisoned(each, text, key) for key, each in value.items()}
    if isinstance(value, list):
        return [poisoned(each, text) for each in value]
    return f"{value}{text}" if isinstance(value, str) and name not in CHOSEN else value


class Page(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.scripts: list[str] = []
        self.pieces: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        else:
            self.pieces.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def our_script() -> str:
    """The one script that a page may have."""
    return resources.files("conformance.report").joinpath("templates/report.js").read_text(encoding="utf-8")


def values(page: Page, wanted: str) -> list[str]:
    """All values of an attribute."""
    return [value for name, value in page.attributes if name == wanted]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_strings_are_text_in_html(report: dict[str, Any], tmp_path: Path, text: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(poisoned(report, text)))
    written = html(read_report(path))
    written.encode()
    page, harmless = Page(written), Page(html(report))
    assert not page.open
    assert page.tags == harmless.tags
    assert page.scripts == [our_script()]
    assert {name for name, _ in page.attributes} == {name for name, _ in harmless.attributes}
    assert not [name for name, _ in page.attributes if name.startswith("on") or name == "src"]
    assert all(re.match(r"#[\w-]+$|https://github\.com/[\w./-]+$", each) for each in values(page, "href"))
    if text.isprintable():
        assert page.text.count(text) >= 100


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_strings_are_text_in_markdown(report: dict[str, Any], text: str) -> None:
    written, harmless = markdown(poisoned(report, text)), markdown(report)
    written.encode()
    assert not set("<>`") & set(written)
    assert not re.search(r"(?<!\\)[\[\]~]|://|www\.", written)
    assert [shape(line) for line in written.splitlines()] == [shape(line) for line in harmless.splitlines()]


def shape(line: str) -> tuple[str, int]:
    """How a line opens, and its columns: what Markdown makes blocks and tables of."""
    found = re.match(r"[#*\-|]*", line)
    assert found is not None
    return found[0] if not set(line) <= set("|-:") else "rule", line.count("|")


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("# head", "&#35; head"),
        ("1. one", "1&#46; one"),
        ("- one", "&#45; one"),
        ("a|b`c\\", "a&#124;b&#96;c&#92;"),
        ("*a* _b_ snake_case", "\\*a\\* \\_b\\_ snake_case"),
        ("a\n\r\n b", "a b"),
        ("@someone, see #12", "@&#8203;someone, see #&#8203;12"),
        ("https://example.com", "https:&#8203;//example.com"),
        ("\ud800\u202e\x1b[31m!", "&#92;ud800&#92;u202e!"),
        ("x" * 999, "x" * 296 + " ..."),
    ],
)
def test_markdown_is_escaped(text: str, safe: str) -> None:
    assert escape_markdown(text) == safe


def test_a_terminal_survives_every_report(report: dict[str, Any]) -> None:
    assert "NOT reached" in summary_text(report, 80)


def test_the_page_says_what_was_tested(report: dict[str, Any]) -> None:
    page = Page(html(report))
    for part in (
        *("mine", "torchscript", "mine-dist 9.1", "libmine.so", f"sha256 {DIGEST[:12]}…", "2.13", "3.11 CPython"),
        *("Linux", "2026-01-01", "3 of 4 saboteurs caught", "Level core: NOT reached", "lowering.outputs: FAIL"),
        *("of 14 cells", "run wrong numbers", "prim::Loop is not lowered", "rtol 0.01, atol 0.02", "a remark"),
    ):
        assert part in page.text, part
    assert DIGEST in values(page, "title")


def test_the_page_tells_each_failure(report: dict[str, Any]) -> None:
    page = Page(html(report))
    failing = [row for row in report["cells"] if Verdict(row["verdict"]).fails]
    targets = {each[1:] for each in values(page, "href") if each.startswith("#failure-")}
    assert targets == {each for each in values(page, "id") if each.startswith("failure-")}
    assert len(targets) == len(failing) == 7
    for part in ("Outputs are the same.", "line 1\n  line 2", "said", "cried", "signal", "lower 0.250, run 0.500"):
        assert part in page.text, part
    assert "https://github.com/pytorch/pytorch/issues/41145" in values(page, "href")


def test_a_square_shows_the_worst_verdict_and_of_how_many(report: dict[str, Any]) -> None:
    written = html(report)
    assert re.search(r'<a href="#failure-1">F</a><small>1/2</small>', written)
    hover = next(each for each in values(Page(written), "title") if "case_fail-lite" in each)
    assert hover.splitlines()[0] == "lowering.outputs[case_fail-full-yes/yes]: FAIL: case_fail came to FAIL"


def test_a_browser_runs_our_script_and_no_other(report: dict[str, Any]) -> None:
    page = Page(html(report))
    digest = base64.b64encode(hashlib.sha256(page.scripts[0].encode()).digest()).decode()
    policy = next(each for each in values(page, "content") if "script-src" in each)
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy


def test_a_page_without_failures_or_cells() -> None:
    report = report_of([])
    report["availability"] = {"host": [], "target": []}
    report["certification"] = {"level": "core", "achieved": "core", "missing": [], "excused": False}
    for face in (Page(html(report)).text, markdown(report)):
        assert "Level core: reached." in face
    assert "None: no cell of this run failed." in Page(html(report)).text


def test_markdown_has_the_tables(report: dict[str, Any]) -> None:
    written = markdown(report)
    for pattern in (
        r"## Conformance of mine",
        r"\*\*Level core: NOT reached. Highest level reached: none.\*\*",
        r"\| lowering +\| +2 \| +1 \|",
        r"### Availability on the target",
        r"### Failures \(7 of 14 cells\)",
        r"\| lowering.outputs \| FAIL +\| run +\| 1 ",
        r"### Missing for this level",
    ):
        assert re.search(pattern, written), pattern


def test_markdown_counts_the_failures_that_it_does_not_show() -> None:
    written = markdown(report_of([cell("add", Verdict.FAIL, f"lowering.n{number}") for number in range(60)]))
    assert "... and 10 more such rows" in written
    assert "lowering.n49 " in written
    assert "lowering.n50 " not in written


def test_a_report_is_not_changed_by_its_faces(report: dict[str, Any]) -> None:
    before = copy.deepcopy(report)
    html(report)
    markdown(report)
    assert report == before
