"""The faces of a report: what each format is called, what shows a report in it, and the file that a run writes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from conformance.report.badge import badge_json, badge_svg
from conformance.report.ctrf import ctrf
from conformance.report.html import html
from conformance.report.markdown import markdown


@dataclasses.dataclass(frozen=True)
class Face:
    """A format: the name of its file beside report.json, and the text of a report that ``read_report`` validated."""

    file: str
    render: Callable[[dict[str, Any]], str]


#: By the name that ``conformance show --format`` takes. Each is written at the end of a run.
FACES: Mapping[str, Face] = {
    "html": Face("report.html", html),
    "markdown": Face("report.md", markdown),
    "ctrf": Face("ctrf-report.json", ctrf),
    "badge-svg": Face("badge.svg", badge_svg),
    "badge-json": Face("badge.json", badge_json),
}
