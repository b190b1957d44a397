"""A comparison of reports as one HTML file, which needs no network and can be read without its script."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from conformance.report.compare.changes import (
    Behaviour,
    CellChange,
    Change,
    behaviours,
    changes,
    circumstances,
    shortfalls,
)
from conformance.report.compare.text import Named, tally, what_differs
from conformance.report.templating import render

#: The class that colours a change; its name is always written beside.
_TONES = {
    Change.REGRESSED: "bad",
    Change.DIFFERENT_FAILURE: "harness",
    Change.FIXED: "good",
    Change.OTHER: "known",
    Change.NEW: "aside",
    Change.GONE: "aside",
}


@dataclasses.dataclass(frozen=True)
class Pair:
    """What became of the first report in one of the others. ``groups`` has the gravest kind of change first."""

    first: Named
    other: Named
    what_differs: str
    differences: tuple[tuple[str, str, str], ...]
    tally: str
    groups: tuple[tuple[Change, tuple[CellChange, ...]], ...]

    @property
    def regressions(self) -> int:
        """How many cells regressed."""
        return sum(len(found) for change, found in self.groups if change is Change.REGRESSED)


@dataclasses.dataclass(frozen=True)
class BehaviourTable:
    """The behaviour of one clause and case, side by side. ``rows`` come with whether the reports differ there."""

    clause: str
    case: str
    rows: tuple[tuple[Behaviour, bool], ...]


def comparison_html(reports: Sequence[Named], *, every: bool = False) -> tuple[str, bool]:
    """The page that compares the first report with each other one, and whether any cell regressed.

    ``every``: also the rows of the behaviour tables that do not differ.
    """
    first, *others = reports
    pairs = [_pair(first, other) for other in others]
    found = [change for change in Change if any(each is change for pair in pairs for each, _ in pair.groups)]
    page = render(
        "compare.html.j2",
        reports=reports,
        file_name=_file_name,
        name=names(reports),
        reservations=[(each.letter, text) for each in reports for text in shortfalls(each.report)],
        pairs=pairs,
        kinds=[change.value for change in found],
        tones=_TONES,
        behaviour=_tables(behaviours([each.rows for each in reports], every=every)),
    )
    return page, any(pair.regressions for pair in pairs)


def names(reports: Sequence[Named]) -> dict[str, str]:
    """Letter → what a report is called: by what tells all of them apart, its letter in front of it."""
    said = [
        [each.report.backend.name for each in reports],
        [f"{each.report.backend.name} {each.report.backend.version}".strip() for each in reports],
        [f"{each.report.backend.name}, torch {each.report.environment.get('torch', 'unknown')}" for each in reports],
        [Path(each.file).parent.name or Path(each.file).name for each in reports],
        [f"{each.report.backend.name}, {each.report.run.started}" for each in reports],
    ]
    chosen = next((each for each in said if len(set(each)) == len(reports) and all(each)), said[0])
    return {each.letter: f"{each.letter}: {name}" for each, name in zip(reports, chosen, strict=True)}


def _pair(first: Named, other: Named) -> Pair:
    found = changes(first.rows, other.rows)
    groups = ((change, tuple(each for each in found if each.change is change)) for change in Change)
    return Pair(
        first,
        other,
        what_differs(first, other),
        circumstances(first.report, other.report),
        tally(first, other, found),
        tuple((change, cells) for change, cells in groups if cells),
    )


def _tables(rows: Sequence[Behaviour]) -> list[BehaviourTable]:
    keys = dict.fromkeys((row.clause, row.case) for row in rows)
    return [
        BehaviourTable(*key, tuple((row, len(set(row.seen)) > 1) for row in rows if (row.clause, row.case) == key))
        for key in keys
    ]


def _file_name(named: Named) -> str:
    """Where a report came from, as far as it can be published: the file and its folder."""
    return "/".join(Path(named.file).parts[-2:])
