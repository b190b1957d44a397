"""Bugs planted in new backends: the first screen, on a terminal or of the page, shows the operator and the fault."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from support.browsing import Visit, launched
from support.planted_bugs import BUGS, Bug, planted
from support.project import Run

pytestmark = pytest.mark.slow
LINES, COLUMNS = 40, 80
#: How lines begin that pytest writes by itself, as long as they come.
_OF_PYTEST = ("rootdir: ", "plugins: ")
SCREENS = ({"width": 1280, "height": 900}, {"width": 390, "height": 844})
#: What of the open page can be read without scrolling.
_VISIBLE = """
() => {
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(node);
    const lines = [...range.getClientRects()].filter((each) => each.height > 0);
    if (lines.length && lines.every((each) => each.bottom <= innerHeight)) texts.push(node.textContent);
  }
  return texts.join(" ");
}
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    with launched() as browser:
        yield browser


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.kind)
def test_the_first_screen_shows_what_is_wrong(bug: Bug, browser: Browser, tmp_path: Path) -> None:
    run = planted(bug, tmp_path / "project").run("--backend=mine", "-k", bug.select, *bug.options, seconds=900)
    assert run.exit_code == 1, run.output
    assert unseen(bug, terminal(run)) == [], run.output
    for screen in SCREENS:
        visit = Visit(browser, run.report_folder("mine") / "report.html", viewport=screen)
        text = visit.page.evaluate(_VISIBLE)
        visit.page.context.close()
        assert unseen(bug, text) == [], text


def terminal(run: Run) -> str:
    """The first screen of a run, as one line."""
    lines = run.output.splitlines()[:LINES]
    ours = [line for line in lines if not line.startswith(_OF_PYTEST) and "reproduce.py" not in line]
    assert [line for line in ours if len(line) > COLUMNS and len(line.split()) > 1] == []  # one word is not broken
    return "\n".join(lines)


def unseen(bug: Bug, text: str) -> list[str]:
    """What of a bug a screen does not show, wherever its lines are broken."""
    line = " ".join(text.split())
    return [each for each in bug.shown if not re.search(each, line)]
