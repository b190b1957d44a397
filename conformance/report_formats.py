"""The report formats that ship with the harness, as an extension gives them.

Devices import it, as all that is plugged in, and so it imports nothing of the room that writes reports.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from conformance.extensions import Format, resolve
from conformance.hookspecs import hookimpl


def _format(name: str, file: str, reference: str) -> Format:
    """A format whose module is imported when a report is written in it."""

    def render(report: dict[str, Any]) -> str:
        text: str = resolve(f"conformance.report.formats.{reference}")(report)
        return text

    return Format(name, file, render)


def _page(report: dict[str, Any], folder: Path) -> str:
    text: str = resolve("conformance.report.formats.html:html")(report, folder)
    return text


@hookimpl
def conformance_report_formats() -> list[Format]:
    """Each is written at the end of a run."""
    return [
        dataclasses.replace(_format("html", "report.html", "html:html"), render_in=_page),
        _format("markdown", "report.md", "markdown:markdown"),
        _format("ctrf", "ctrf-report.json", "ctrf:ctrf"),
        _format("badge-svg", "badge.svg", "badge:badge_svg"),
        _format("badge-json", "badge.json", "badge:badge_json"),
    ]
