"""The largest pages in a browser: what axe finds, what fits a phone, and what the keyboard reaches.

axe needs the file ``axe.min.js`` of the npm package axe-core, which the environment variable AXE_CORE names:
``npm install axe-core && export AXE_CORE=$PWD/node_modules/axe-core/axe.min.js``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from support.browsing import Visit, launched
from support.example_reports import full_report
from support.places import REPOSITORY

from conformance.report import read_report
from conformance.report.formats.html import html

pytestmark = pytest.mark.slow
#: One with everything, and the largest that are published.
REPORTS = ("everything", "test_backend", "inductor")
_AXE = """
async () => (await axe.run(document, {resultTypes: ["violations"]})).violations.map(
  (each) => [each.id, each.nodes.map((node) => node.html.slice(0, 200))])
"""
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
        report = full_report() if name == "everything" else read_report(REPOSITORY / "reports" / name / "report.json")
        path = tmp_path / "report.html"
        path.write_text(html(report).replace(*change), encoding="utf-8")
        viewport = {"width": width, "height": 900}
        visits.append(Visit(browser, path, viewport=viewport, color_scheme=scheme, bypass_csp=True))
        return visits[-1]

    yield go
    for each in visits:
        each.page.context.close()


@pytest.fixture
def axe() -> str:
    """The script of axe-core."""
    path = os.environ.get("AXE_CORE")
    if not path:
        pytest.skip("axe-core is not there: `npm install axe-core`, and name its axe.min.js in AXE_CORE")
    return Path(path).read_text(encoding="utf-8")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
@pytest.mark.parametrize("name", REPORTS)
def test_axe_finds_nothing(opened: Opening, axe: str, name: str, width: int, scheme: str) -> None:
    page = opened(name, width, scheme).page
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    page.add_script_tag(content=axe)
    assert page.evaluate(_AXE) == []


def test_axe_would_find_something(opened: Opening, axe: str) -> None:
    page = opened("everything", change=('<html lang="en">', "<html>")).page
    page.add_script_tag(content=axe)
    assert [name for name, _ in page.evaluate(_AXE)] == ["html-has-lang"]


@pytest.mark.parametrize("name", REPORTS)
def test_a_phone_needs_no_scrolling_sideways(opened: Opening, name: str) -> None:
    page = opened(name, 390).page
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize("name", REPORTS)
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
