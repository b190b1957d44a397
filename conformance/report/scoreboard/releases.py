"""What a release of a backend, or of torch, broke and mended: two reports of one backend by different versions."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from packaging.version import InvalidVersion, Version

from conformance.report.compare.changes import CellChange, Change, changes
from conformance.report.compare.text import ending_text
from conformance.report.scoreboard.boards import Entry, Share

#: What is told of each changed cell.
TOLD = (Change.REGRESSED, Change.FIXED, Change.DIFFERENT_FAILURE)
_WORDS = {Change.REGRESSED: "broken", Change.FIXED: "mended", Change.DIFFERENT_FAILURE: "fails otherwise"}


@dataclasses.dataclass(frozen=True)
class ChangedCell:
    """A cell that did not stay what it was: in a word, and how it ended before and after."""

    cell: str
    word: str
    tone: str
    before: str
    after: str


@dataclasses.dataclass(frozen=True)
class Release:
    """Two reports of one backend with the same options, the elder first."""

    before: Entry
    after: Entry
    what: str
    caveat: str
    counts: Mapping[str, int]
    suites: tuple[tuple[str, Share | None, Share | None], ...]
    cells: tuple[ChangedCell, ...]


def releases_of(entries: Iterable[Entry]) -> tuple[Release, ...]:
    """Every two reports that follow each other by the versions that they name."""
    found = []
    by_backend = sorted((each for each in entries if each.report), key=_identity)
    for _, group in itertools.groupby(by_backend, _identity):
        ordered = sorted(group, key=_age)
        found += [_release(*pair) for pair in itertools.pairwise(ordered) if _versions(pair[0]) != _versions(pair[1])]
    return tuple(found)


def _identity(entry: Entry) -> tuple[str, ...]:
    """One backend with one set of options."""
    assert entry.report is not None
    backend = entry.report.backend
    return backend.toolchain, backend.name, backend.entry_point or "", json.dumps(backend.options or {}, sort_keys=True)


def _versions(entry: Entry) -> dict[str, str]:
    return {**entry.packages, "torch": entry.torch}


def _age(entry: Entry) -> tuple[list[tuple[str, Version]], str]:
    return [(name, _parsed(version)) for name, version in sorted(_versions(entry).items())], entry.started


def _parsed(version: str) -> Version:
    try:
        return Version(version)
    except InvalidVersion:
        return Version("0")


def _release(before: Entry, after: Entry) -> Release:
    assert before.report is not None
    assert after.report is not None
    old, new = ({row.id: row for row in each.report.cells} for each in (before, after) if each.report)
    found = changes(old, new)
    counts = Counter(each.change for each in found)
    suites = dict.fromkeys((*before.suites, *after.suites))
    return Release(
        before,
        after,
        ", ".join(_moved(_versions(before), _versions(after))),
        "" if before.contract == after.contract else _other_contract(before, after),
        {_WORDS.get(change, change.value): counts[change] for change in Change if counts[change] or change in TOLD},
        tuple(
            (suite.removeprefix(f"{before.toolchain}_"), before.suites.get(suite), after.suites.get(suite))
            for suite in suites
        ),
        tuple(_changed(each) for each in found if each.change in TOLD),
    )


def _moved(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """Each package whose version is another one."""
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name, "none"), after.get(name, "none")
        if old != new:
            yield f"{name} {old} → {new}"


def _other_contract(before: Entry, after: Entry) -> str:
    return f"Judged by version {before.contract} of the contract before, and by version {after.contract} after."


def _changed(each: CellChange) -> ChangedCell:
    tone = {Change.REGRESSED: "bad", Change.FIXED: "good"}.get(each.change, "harness")
    return ChangedCell(each.cell, _WORDS[each.change], tone, ending_text(each.before), ending_text(each.after))
