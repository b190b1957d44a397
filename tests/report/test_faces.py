"""The faces of a report that others publish: whatever a string says, it is shown, and does nothing."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import re
import urllib.parse
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from support.example_reports import DIGEST, HOSTILE, cell, full_report, poisoned, report_of

from conformance._util.escaping import escape_markdown
from conformance.api.verdicts import Verdict
from conformance.operators.table import Outcome, Tried, row_of, table_of
from conformance.report import read_report
from conformance.report.cell_details import script_of
from conformance.report.formats.html import html
from conformance.report.formats.markdown import markdown
from conformance.report.formats.terminal import summary_text
from conformance.report.operator_grid import operator_grid_of
from conformance.report.parts import read_part, replaced
from conformance.report.reproducer_folder import MARK
from conformance.report.row_model import CellRow, OperatorTable, Reproducer
from conformance.report.view import view_of

VOID = {"meta", "input", "br", "hr", "img", "link", "base", "area", "col", "embed", "source", "track", "wbr"}


@pytest.fixture
def report() -> dict[str, Any]:
    """One with everything."""
    return full_report()


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
    assert all(re.match(r"#[\w./\[\]=,+:%~-]+$|https://github\.com/[\w./-]+$", each) for each in values(page, "href"))
    if text.isprintable():
        assert page.text.count(text) >= 120


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
        *(
            "of 14 cells",
            "✗ wrong numbers",
            "expected ok",
            "prim::Loop is not lowered",
            "rtol 0.01, atol 0.02",
            "a remark",
        ),
    ):
        assert part in page.text, part
    assert DIGEST in page.text


def test_the_page_tells_each_failure(report: dict[str, Any]) -> None:
    page = Page(html(report))
    failing = [row for row in report["cells"] if Verdict(row["verdict"]).fails]
    targets = {urllib.parse.unquote(each[1:]) for each in values(page, "href") if each.startswith("#cell-")}
    assert targets == {each for each in values(page, "id") if each.startswith("cell-")}
    assert targets == {f"cell-{row['id']}" for row in failing}
    assert len(failing) == 7


def test_causes_come_first_and_are_found_by_their_ids(report: dict[str, Any]) -> None:
    page = Page(html(report))
    causes = [cause.id for cause in view_of(report).causes]
    parts = [each for each in values(page, "id") if each.startswith("cause-") and each.count("-") == 1]
    assert parts == [f"cause-{each}" for each in causes]
    sections = [each for each in values(page, "id") if each in ("causes", "grid", "failures", "behaviour", "run")]
    assert sections == ["causes", "grid", "failures", "behaviour", "run"]
    assert {each for each in values(page, "href") if each.startswith("#cause-")} == {f"#{each}" for each in parts}
    assert "pytest --backend=mine" in page.text


def test_places_are_the_same_in_every_run(report: dict[str, Any]) -> None:
    another = copy.deepcopy(report)
    another["run"] |= {"id": "another", "seed": 8, "started": "2027-01-01"}
    another["cells"].reverse()
    kinds = ("cause-", "cell-", "clause-")
    one, other = (
        {each for each in values(Page(html(each)), "id") if each.startswith(kinds)} for each in (report, another)
    )
    assert one == other
    assert {each.split("-")[0] + "-" for each in one} == set(kinds)


def test_a_script_is_shown_where_it_lies_beside_the_report(report: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "reproducers/case_crash-full-yes_yes/reproduce.py"
    path.parent.mkdir(parents=True)
    path.write_text(f"{MARK}\nprint('<b>the failure</b>')\n")
    page = Page(html(report, tmp_path))
    assert "print('<b>the failure</b>')" in page.text
    assert "print(" not in Page(html(report)).text
    path.write_text("print('written by somebody else')\n")
    assert "somebody else" not in Page(html(report, tmp_path)).text
    for part in ("Outputs are the same.", "line 1\n  line 2", "said", "cried", "signal", "lower 0.250, run 0.500"):
        assert part in page.text, part
    assert "https://github.com/pytorch/pytorch/issues/41145" in values(page, "href")


def test_a_square_shows_the_worst_verdict_and_of_how_many(report: dict[str, Any]) -> None:
    written = html(report)
    assert '<a href="#cell-lowering.outputs[case_fail-full-yes/yes]"' in written
    assert "F<small>1/2</small></a>" in written
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


def test_the_page_tells_attempts_reproducers_and_known_failures(report: dict[str, Any]) -> None:
    page = Page(html(report))
    for part in ("it differed by 3", "python reproducers/case_crash-full-yes_yes/reproduce.py", "known", "2027-01-01"):
        assert part in page.text, part
    assert not [each for each in values(page, "href") if "reproduce.py" in each]  # it may not be published
    assert "https://github.com/mine/mine/issues/7" in values(page, "href")


@pytest.mark.parametrize(
    "script",
    [
        "/etc/passwd",
        "../up.py",
        "a/../../up.py",
        "./here.py",
        "a//b.py",
        "javascript:alert(1)",
        "//example.com/x.py",
        "-c/x.py",
        "a\\b.py",
        "a.py\n",
        "",
        "a/" * 200 + "b.py",
    ],
)
def test_a_script_that_is_not_below_the_report_is_no_link(script: str) -> None:
    row = read_part(CellRow, cell("add", Verdict.FAIL))
    assert script_of(replaced(row, reproducer=Reproducer(script=script))) is None


def test_a_script_that_the_schema_accepts_is_looked_at_all_the_same(report: dict[str, Any]) -> None:
    report["cells"][2]["reproducer"] = {"script": "reproducers/../reproduce.py"}
    page = Page(html(report))
    assert all(each.startswith(("#", "https://github.com/")) for each in values(page, "href"))
    assert "Reproducer" not in page.text


@pytest.mark.parametrize("extra", [None, 7, "text", [], [7], {"x": 1}, [{"verdict": 7}], [{}], float("inf")])
def test_what_no_schema_checks_may_be_anything(report: dict[str, Any], extra: Any) -> None:
    for row in report["cells"]:
        row |= {"operators": extra, "later": extra, "error": {"text": extra, "stdout": extra, "signal": extra}}
        row["margin"] = {"used": extra, "absolute": extra, "dtype": extra}
        row["expectation"] = {"reason": "known", "owner": extra, "since": extra, "later": extra}
    for shown in (html(report), markdown(report), summary_text(report, 80, verbosity=1)):
        assert "Level core" in shown


def test_the_operators_stand_by_dtype(report: dict[str, Any]) -> None:
    page = Page(html(report))
    assert "3 pairs of operator and dtype: 1 wrong, 1 refused, 1 right" in " ".join(page.text.split())
    assert any("add int64: wrong\n" in each for each in values(page, "title"))


def measured(*outcomes: Outcome) -> dict[str, Any]:
    """A table with one operator in one dtype, measured as often as there are outcomes."""
    rows = [row_of("add", "int8", [Tried(outcome)]) for outcome in outcomes]
    return table_of(rows)


def test_an_operator_measured_twice_shows_the_worse(report: dict[str, Any]) -> None:
    page = Page(html(report | {"operators": measured(Outcome.CRASHED, Outcome.RIGHT)}))
    assert "1 pairs of operator and dtype: 1 crashed." in " ".join(page.text.split())


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_of_an_operator_has_a_mark_and_a_tone_of_its_own(outcome: Outcome) -> None:
    found = operator_grid_of(read_part(OperatorTable, measured(outcome, Outcome.RIGHT)))
    assert found is not None
    (square,) = found.rows["add"]
    assert square is not None
    assert square.outcome is min(outcome, Outcome.RIGHT, key=list(Outcome).index)
    assert square.mark
    assert square.tone


def test_the_tightest_margins_are_those_of_cells_that_passed(report: dict[str, Any]) -> None:
    report["cells"][1]["margin"] = {"used": 7.0}
    page = Page(html(report))
    assert "25.00 %" in page.text
    assert "700.00 %" not in page.text


def test_an_empty_behaviour_table_says_why() -> None:
    reason = "the backend is PyTorch's own"
    report = report_of([cell("chain", Verdict.NOT_APPLICABLE, "runtime.host", message=reason)])
    report["availability"]["host"] = []
    page = html(report)
    assert page.count("Not measured: the backend is PyTorch&#39;s own.") == 1
    report["availability"]["target"] = []
    assert "Not measured: no clause of this run has measured it." in html(report)
