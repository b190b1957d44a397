"""The pages in a browser: what they show, what they must not do, and that they can be used by everybody."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from justhtml import JustHTML
from playwright.sync_api import Browser
from support.browsing import Visit, launched
from support.example_reports import HOSTILE, cell, full_report, poisoned
from support.generated_rows import generated
from support.small_reports import cell as small_cell
from support.small_reports import report_of as small_report

from conformance.api.verdicts import Verdict
from conformance.cli import main
from conformance.generate.axes import AXES
from conformance.report import read_report
from conformance.report.formats.badge import badge_svg
from conformance.report.formats.html import html

PHONE = {"width": 390, "height": 844}
PAGES = ("report", "comparison", "scoreboard")

#: The contrast of every text with what is behind it, as the Web Content Accessibility Guidelines 2 reckon it: the least
#: first. Backgrounds of the pages are opaque or not there.
CONTRASTS = """
() => {
  const channel = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const found = numbers(getComputedStyle(each).backgroundColor);
      if (found[3] !== 0) return found;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    const [one, two] = [numbers(getComputedStyle(element).color), behind(element)].map(luminance);
    const contrast = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    found.push([contrast, walker.currentNode.data.trim().slice(0, 60)]);
  }
  return found.sort((one, two) => one[0] - two[0]);
}
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    with launched() as browser:
        yield browser


def write_pages(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]] = lambda report: report) -> None:
    """A report, a comparison of it with another, and a scoreboard of both, in ``folder``."""
    before, after = full_report(), full_report()
    after["cells"][0] |= {"verdict": "FAIL", "phase": "run", "message": "it broke"}
    after["cells"][1] |= {"verdict": "PASS", "phase": "", "message": ""}
    behaviours = [{"lower": "ok", "run": each} for each in ("ok", "refused")]
    for report, observed in zip((before, after), behaviours, strict=True):
        report["cells"][2]["behaviour"] = {"expected": behaviours[0], "observed": observed}
    for name, report in (("before", before), ("after", after)):
        path = folder / name / "report.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(change(report)), encoding="utf-8")
        assert main(["show", str(path), "--format", "html", "-o", str(path.with_suffix(".html"))]) == 0
    (folder / "broken").mkdir()
    (folder / "broken" / "report.json").write_text("{", encoding="utf-8")
    (folder / "before" / "report.html").replace(folder / "report.html")
    pair = (str(folder / "before" / "report.json"), str(folder / "after" / "report.json"))
    assert main(["compare", *pair, "--format", "html", "-o", str(folder / "comparison.html")]) == 1
    assert main(["scoreboard", str(folder), "-o", str(folder / "scoreboard.html")]) == 1


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one page of each kind."""
    folder = tmp_path_factory.mktemp("pages")
    write_pages(folder)
    return folder


@pytest.fixture
def visit(browser: Browser, pages: Path) -> Iterator[Callable[..., Visit]]:
    """Opens a page; what it opened is closed at the end."""
    visits: list[Visit] = []

    def go(name: str, folder: Path = pages, **context: Any) -> Visit:
        visits.append(Visit(browser, folder / f"{name}.html", **context))
        return visits[-1]

    yield go
    for each in visits:
        each.page.context.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_valid_html(pages: Path, name: str) -> None:
    text = (pages / f"{name}.html").read_text(encoding="utf-8")
    JustHTML(text, strict=True, sanitize=False)
    with pytest.raises(Exception, match=r"(?i)unexpected|end"):
        JustHTML(text.replace("</main>", "</section>"), strict=True, sanitize=False)
    ids = re.findall(r'\bid="([^"]*)"', text)
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_quiet_and_needs_no_network(visit: Callable[..., Visit], pages: Path, name: str) -> None:
    seen = visit(name)
    assert seen.complaints == []
    assert seen.requests == [(pages / f"{name}.html").as_uri()]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(visit: Callable[..., Visit], name: str, scheme: str) -> None:
    page = visit(name, color_scheme=scheme).page
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 30
    assert contrasts[0][0] >= 4.5, contrasts[:5]
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_phone(visit: Callable[..., Visit], name: str) -> None:
    page = visit(name, viewport=PHONE, device_scale_factor=2, has_touch=True).page
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


@pytest.mark.parametrize("name", PAGES)
def test_print_has_no_controls(visit: Callable[..., Visit], name: str) -> None:
    seen = visit(name, color_scheme="dark")
    assert seen.shown("form") >= 1
    seen.page.emulate_media(media="print")
    for selector in ("form", "nav", "input", ".skip"):
        assert seen.shown(selector) == 0, selector
    assert seen.shown("table") >= 1
    assert seen.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert seen.page.evaluate(CONTRASTS)[0][0] >= 4.5


def test_pairs_of_values_fit_a_printed_page_and_are_told_without_colour(browser: Browser, tmp_path: Path) -> None:
    """A4 has 718 pixels between margins of a centimetre; the values are all that are drawn today."""
    (tmp_path / "report.html").write_text(html(small_report(small_cell("views", generated=generated()))))
    seen = Visit(browser, tmp_path / "report.html", viewport={"width": 718, "height": 1000})
    seen.page.emulate_media(media="print")
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 718
    assert seen.page.locator(".heat").bounding_box()["width"] <= 718  # type: ignore[index]
    values = sum(map(len, AXES.values()))
    assert seen.page.locator(".heat tbody td").count() == values * (values - 1) // 2
    told = {each: set(seen.page.locator(f".heat .heat-{each}").all_inner_texts()) for each in (0, 1)}
    assert told == {0: {"0"}, 1: {"1"}}
    seen.page.context.close()


def test_the_report_is_filtered_by_keyboard(visit: Callable[..., Visit]) -> None:
    seen = visit("report")
    every = seen.shown("#failures details")
    assert every == 7
    search = seen.page.get_by_role("searchbox", name="Search causes")
    for _ in range(200):
        seen.page.keyboard.press("Tab")
        if search.evaluate("each => each === document.activeElement"):
            break
    seen.page.keyboard.type("case_crash")
    assert seen.shown("#failures details") == 1
    assert "1 of 7 failures, 0 of 1 findings shown" in seen.page.locator("#filter .matches").inner_text()
    seen.page.keyboard.press("Control+A")
    seen.page.keyboard.press("Delete")
    assert seen.shown("#failures details") == every
    seen.page.get_by_label("CRASH", exact=True).focus()
    seen.page.keyboard.press("Space")
    assert seen.shown("#failures details") == every - 1
    search.fill("nothing has this")
    assert seen.shown("#failures article") == seen.shown("#grid table") == 0
    assert seen.complaints == []


def test_operators_have_a_filter_of_their_own(visit: Callable[..., Visit]) -> None:
    seen = visit("report")
    failures = seen.shown("#failures details")
    seen.page.get_by_role("searchbox", name="Search operators").fill("sort")
    assert seen.shown("#operator-grid tbody tr") == 1
    assert seen.shown("#failures details") == failures


def test_a_square_leads_to_its_failure_even_if_that_is_filtered_out(visit: Callable[..., Visit]) -> None:
    seen = visit("report")
    target = seen.page.locator("#failures details", has_text="case_crash")
    seen.page.get_by_label("CRASH", exact=True).uncheck()
    assert not target.is_visible()
    seen.page.evaluate("location.hash = document.querySelector('#grid a[href]').hash")
    seen.page.evaluate("id => { location.hash = id }", target.get_attribute("id"))
    seen.page.wait_for_function("id => document.getElementById(id).open", arg=target.get_attribute("id"))
    assert target.is_visible()
    assert seen.page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_the_comparison_tells_regressions_first_and_can_be_filtered(visit: Callable[..., Visit]) -> None:
    seen = visit("comparison")
    headings = seen.page.locator("#changes h3").all_inner_texts()
    assert [" ".join(each.split()) for each in headings][:2] == ["regressed 1", "fixed 1"]
    assert "1 regressed" in seen.page.locator(".level").inner_text()
    seen.page.get_by_label("regressed", exact=True).uncheck()
    assert seen.shown("#changes [data-kind=changes]") == 1
    assert seen.page.locator("#behaviour .differs:visible").count() == 1


def test_the_scoreboard_is_sorted_by_the_columns_that_are_chosen(visit: Callable[..., Visit]) -> None:
    seen = visit("scoreboard")
    names = seen.page.locator(".scores tbody th a")
    assert names.all_inner_texts() == ["mine (after)", "mine (before)"]
    assert "is not JSON" in seen.page.locator("#scores table").last.inner_text()
    button = seen.page.locator("#scores").get_by_role("button", name="backend")
    button.focus()
    seen.page.keyboard.press("Enter")
    assert names.first.inner_text() == "mine (after)"
    seen.page.keyboard.press("Enter")
    assert names.first.inner_text() == "mine (before)"
    assert seen.page.locator("th[aria-sort=descending]").inner_text().startswith("backend")


@pytest.mark.parametrize("name", PAGES)
def test_a_hostile_report_does_nothing(
    browser: Browser, tmp_path: Path, visit: Callable[..., Visit], name: str
) -> None:
    everything = "".join(text for text in HOSTILE if text.isprintable())
    write_pages(tmp_path, lambda report: poisoned(report, everything))
    seen = visit(name, tmp_path, viewport=PHONE)
    page = seen.page
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    page.locator("input[type=search]").first.fill("<script>")
    page.mouse.move(200, 400)
    assert seen.complaints == []
    assert seen.requests == [(tmp_path / f"{name}.html").as_uri()]
    assert page.locator("script").count() == 1
    assert page.locator("img, iframe, object, embed, [onerror], [onmouseover], base, link").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_a_script_that_gets_into_a_page_is_not_run(visit: Callable[..., Visit], pages: Path, tmp_path: Path) -> None:
    text = (pages / "report.html").read_text(encoding="utf-8")
    (tmp_path / "report.html").write_text(text.replace("<main", "<script>alert(1)</script><main", 1), encoding="utf-8")
    seen = visit("report", tmp_path)
    assert len(seen.complaints) == 1
    assert "Content Security Policy" in seen.complaints[0]


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.FAIL])
def test_no_text_of_a_badge_is_cut(browser: Browser, verdict: Verdict) -> None:
    report = full_report()
    report["cells"] = [cell(f"case_{number}", verdict) for number in range(12345)]
    report["certification"]["achieved"] = "complete"
    page = browser.new_page()
    page.set_content(badge_svg(report))
    boxes = page.evaluate(
        "['g > rect', 'text'].map((each) => [...document.querySelectorAll(each)].map((one) => one.getBBox()))"
        ".map((list) => list.map(({x, width}) => [x, x + width]))"
    )
    for (left, right), (start, end) in zip(*boxes, strict=True):
        assert left < start < end < right
    page.close()


def test_a_page_is_written_from_what_was_read(pages: Path) -> None:
    report = read_report(pages / "before" / "report.json")
    assert report["backend"]["name"] in (pages / "report.html").read_text(encoding="utf-8")


def test_a_large_suite_is_laid_out_when_it_is_looked_at(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "many.html"
    page.write_text(html(small_report(*(small_cell(f"case{number}") for number in range(4_100)))), encoding="utf-8")
    visit = Visit(browser, page)
    laid_out = "document.querySelector('.part').checkVisibility({contentVisibilityAuto: true}) &&"
    laid_out += "document.querySelector('.part table').checkVisibility({contentVisibilityAuto: true})"
    visit.page.evaluate("document.querySelector('header').style.height = '9000px'")
    visit.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert not visit.page.evaluate(laid_out)
    visit.page.locator(".grid td button").last.focus()
    visit.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert visit.page.evaluate(laid_out)
    assert visit.complaints == []


def test_an_ordinary_page_is_laid_out_as_a_whole() -> None:
    assert '<div data-group class="part">' in html(full_report())
