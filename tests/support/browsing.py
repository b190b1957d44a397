"""A browser, and a page in it with everything that it asked for or complained about."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Page, sync_playwright


def browser_path() -> str | None:
    """The Chromium of this machine."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for name in names if (path := shutil.which(name))), None)


@contextmanager
def launched() -> Iterator[Browser]:
    """A headless Chromium. Where there is none the test is skipped, but not in CI."""
    path = browser_path()
    if path is None:
        reason = "no Chromium here: `apt-get install chromium`, or put chromium or google-chrome on PATH"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{reason}; CI must not skip these tests")
        pytest.skip(reason)
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*sandbox, "--disable-dev-shm-usage"])
        yield browser
        browser.close()


class Visit:
    """A page in a browser, and everything that it asked for or complained about."""

    def __init__(self, browser: Browser, path: Path, **context: Any) -> None:
        self.page: Page = browser.new_context(**context).new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._dismiss)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def _dismiss(self, dialog: Dialog) -> None:
        self.complaints.append(dialog.message)
        dialog.dismiss()

    def shown(self, selector: str) -> int:
        """How many such elements are visible."""
        return self.page.locator(f"{selector}:visible").count()
