"""A report in two words: an SVG that needs nothing else, and the JSON of a shields.io endpoint."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from conformance.report.model import Report
from conformance.report.templating import render
from conformance.report.view import share_shown, view_of

LABEL = "PyTorch conformance"

#: White text on each of these has a contrast of at least 4.5.
_GREEN, _AMBER, _RED = "#17692f", "#875000", "#a81717"
#: Widths of letters at 11 px; the SVG then sets its texts to the widths that were worked out here, in whatever font.
_NARROW, _WIDE, _USUAL = 4.0, 10.5, 7.0
_PADDING = 6


@dataclasses.dataclass(frozen=True)
class Badge:
    """What a badge says. ``title`` is the whole sentence, for who cannot see it or points at it."""

    message: str
    color: str
    title: str


def badge_of(report: dict[str, Any]) -> Badge:
    """The badge of a report that ``read_report`` has validated.

    "incomplete": cells were lost or not selected, so that it says nothing of the whole; else the level that was
    reached, and how many cells fail at all.
    """
    view = view_of(report)
    facts, failing = view.report, len(view.failing)
    achieved = facts.certification.achieved
    title = f"{facts.backend.name}: {view.level} {failing} of {facts.plan.cells} cells fail."
    failures = [f"{failing} failing"] if failing else []
    if not facts.run.complete or (facts.plan.deselected and not failing):
        return Badge("incomplete", _AMBER, f"{title} {view.incomplete or _not_selected(facts)}")
    if achieved:
        level = " ".join(filter(None, (achieved.value, share_shown(facts.certification))))
        return Badge(", ".join([level, *failures]), _AMBER if failing else _GREEN, title)
    return Badge(failures[0] if failing else "no level", _RED if failing else _AMBER, title)


def _not_selected(report: Report) -> str:
    return f"{report.plan.deselected} cells of the contract were not selected."


def badge_svg(report: dict[str, Any]) -> str:
    """The badge as SVG."""
    badge = badge_of(report)
    return render(
        "badge.svg.j2",
        label=LABEL,
        badge=badge,
        label_width=_width(LABEL),
        message_width=_width(badge.message),
        padding=_PADDING,
    )


def badge_json(report: dict[str, Any]) -> str:
    """The badge as shields.io reads it from an address: https://img.shields.io/endpoint?url=..."""
    badge = badge_of(report)
    endpoint = {"schemaVersion": 1, "label": LABEL, "message": badge.message, "color": badge.color}
    return json.dumps(endpoint, indent=1) + "\n"


def _width(text: str) -> int:
    return round(sum(_NARROW if each in "fijlrt ,.I1" else _WIDE if each in "mwMW" else _USUAL for each in text))
