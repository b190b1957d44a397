"""The largest pages in a browser: what axe finds, what fits a phone, and what the keyboard reaches.

axe-core comes with axe-playwright-python, which is among what the tests need: `pip install -e '.[test]'`.
"""

from __future__ import annotations

import functools
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page
from support.browsing import Visit, launched
from support.example_reports import full_report
from support.places import REPOSITORY

from conformance.report import read_report
from conformance.report.formats.html import html
from conformance.report.scoreboard import scoreboard_html, scoreboard_of

pytestmark = pytest.mark.slow
REPORTS = REPOSITORY / "reports"
#: One with everything, the largest that are published, and scoreboards: of what is published, and one with everything.
PAGES = ("everything", "test_backend", "inductor", "scoreboard", "whole scoreboard")
#: Every square can be come to: by Tab to the first of each grid, from there by arrow keys; and each says why.
_ARROWS = """
() => {
const unreached = [], silent = [];
const why = document.getElementById("why");
for (const table of document.querySelectorAll("table.explained")) {
  const marks = [...table.querySelectorAll("tbody :is(a, button)[title]")];
  const seen = new Set();
  const waiting = marks.filter((each) => each.tabIndex === 0);
  while (waiting.length) {
    const mark = waiting.pop();
    if (seen.has(mark)) continue;
    seen.add(mark);
    for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) {
      mark.focus();
      if (why.hidden || why.textContent !== mark.title) silent.push(mark.textContent);
      mark.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      waiting.push(document.activeElement);
    }
  }
  unreached.push(...marks.filter((each) => !seen.has(each)).map((each) => each.title));
}
return { unreached, silent };
}
"""
Opening = Callable[..., Visit]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    with launched() as browser:
        yield browser


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opening]:
    """Opens the page of a report; in a context in which scripts of others run, so that axe can."""
    visits: list[Visit] = []

    def go(name: str, width: int = 1280, scheme: str = "light", change: tuple[str, str] = ("", "")) -> Visit:
        path = tmp_path / "page.html"
        path.write_text(_page(name).replace(*change), encoding="utf-8")
        viewport = {"width": width, "height": 900}
        visits.append(Visit(browser, path, viewport=viewport, color_scheme=scheme, bypass_csp=True))
        return visits[-1]

    yield go
    for each in visits:
        each.page.context.close()


@functools.cache
def _page(name: str) -> str:
    """The page of that name, as HTML."""
    if name == "scoreboard":
        return scoreboard_html(scoreboard_of(REPORTS, REPORTS))
    if name == "whole scoreboard":
        return _whole_scoreboard()
    return html(full_report() if name == "everything" else read_report(REPORTS / name / "report.json"))


def _whole_scoreboard() -> str:
    """One of two releases of a backend with an operator table, of one report that is cut off, and of findings."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for version, verdict in (("3.9", "PASS"), ("3.10", "FAIL")):
            report = full_report()
            report["environment"] = {"torch": "2.13", "compiler": version}
            next(each for each in report["cells"] if each["verdict"] == "PASS")["verdict"] = verdict
            (folder / version).mkdir()
            (folder / version / "report.json").write_text(json.dumps(report), encoding="utf-8")
        (folder / "cut off").mkdir()
        (folder / "cut off" / "report.json").write_text("{", encoding="utf-8")
        for part in ("findings", "upstream"):
            shutil.copytree(REPORTS / part, folder / part)
        shutil.copyfile(REPORTS / "findings.md", folder / "findings.md")
        scoreboard = scoreboard_of(folder, folder)
        assert scoreboard.releases[0].cells
        assert scoreboard.operators
        return scoreboard_html(scoreboard)


def violations(page: Page) -> dict[str, str]:
    """What axe finds, by the name of its rule, with everything open."""
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    found = Axe().run(page)
    return {each["id"]: found.generate_report(each["id"]) for each in found.response["violations"]}


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        (name, width, scheme)
        for name in PAGES
        for width, scheme in ((1280, "light"), (390, "dark"), (1280, "dark"), (390, "light"))
        if name != "test_backend" or (width, scheme) in ((1280, "light"), (390, "dark"))  # a minute each
    ],
)
def test_axe_finds_nothing(opened: Opening, name: str, width: int, scheme: str) -> None:
    assert violations(opened(name, width, scheme).page) == {}


def test_axe_would_find_something(opened: Opening) -> None:
    page = opened("everything", change=('<html lang="en">', "<html>")).page
    assert list(violations(page)) == ["html-has-lang"]


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_needs_no_scrolling_sideways(opened: Opening, name: str) -> None:
    page = opened(name, 390).page
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize("name", PAGES)
def test_the_keyboard_reaches_every_square_which_then_says_why(opened: Opening, name: str) -> None:
    assert opened(name).page.evaluate(_ARROWS) == {"unreached": [], "silent": []}


def test_an_address_says_what_is_chosen(opened: Opening) -> None:
    page = opened("everything").page
    page.locator("#filter input[type=search]").fill("crash")
    page.get_by_label("PASS", exact=True).uncheck()
    assert page.evaluate("location.search") == "?filter=crash&filter-not=PASS"
    page.reload()
    assert page.locator("#filter input[type=search]").input_value() == "crash"
    assert not page.get_by_label("PASS", exact=True).is_checked()
    assert page.locator("#causes > article > details:visible").count() == 1


def test_a_command_is_copied(opened: Opening) -> None:
    visit = opened("everything")
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.page.get_by_role("button", name="Copy the command").first.click()
    visit.page.get_by_role("button", name="Copied").wait_for()
    copied = visit.page.evaluate("navigator.clipboard.readText()")
    assert copied.strip().startswith("pytest --backend=mine")
