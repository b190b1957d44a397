"""The reports of a folder side by side: a row for each backend, as a page and as Markdown."""

from __future__ import annotations

import dataclasses
import os
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.contract import Level
from conformance.report import _rows
from conformance.report._json import ReportError
from conformance.report._page import render
from conformance.report._store import read_report
from conformance.report.faces import FACES
from conformance.report.markdown import markdown_table
from conformance.verdict import Verdict

REPORT = "report.json"
_PAGE = FACES["html"].file


@dataclasses.dataclass(frozen=True)
class Share:
    """So many of so many cells passed, and so many fail."""

    passed: int
    failing: int
    cells: int

    def __str__(self) -> str:
        return f"{self.passed}/{self.cells}" + (f" ({self.failing} failing)" if self.failing else "")


@dataclasses.dataclass(frozen=True)
class Entry:
    """One folder: what its report says, or in ``problem`` why it cannot be read.

    ``address`` is that of its page, relative to the folder of the scoreboard; empty where there is none.
    """

    folder: str
    address: str
    problem: str = ""
    backend: str = ""
    rank: int = -1
    level: str = ""
    remarks: str = ""
    all: Share = Share(0, 0, 0)
    verdicts: str = ""
    suites: Mapping[str, Share] = dataclasses.field(default_factory=dict)
    torch: str = ""
    seed: str = ""
    started: str = ""
    selftest: str = ""


@dataclasses.dataclass(frozen=True)
class Scoreboard:
    """All entries, the best first, and the suites that any of them has."""

    entries: tuple[Entry, ...]
    suites: tuple[str, ...]


def scoreboard_of(folder: Path, beside: Path) -> Scoreboard:
    """The scoreboard of every ``folder/*/report.json``, with links from ``beside``, where it is to be written.

    A report that cannot be read is an entry with its error. Raises ReportError where there is no report at all.
    """
    try:
        paths = sorted(folder.glob(f"*/{REPORT}"))
    except OSError as error:
        raise ReportError(f"{folder} cannot be read: {error.strerror}") from error
    if not paths:
        raise ReportError(f"expected reports at {folder}/*/{REPORT}, found none")
    entries = sorted((_entry(path, beside) for path in paths), key=_place)
    return Scoreboard(tuple(entries), tuple(dict.fromkeys(suite for each in entries for suite in each.suites)))


def _place(entry: Entry) -> tuple[int, int, str]:
    """The highest level first, then the smallest number of failing cells; what cannot be read is last."""
    return -entry.rank, entry.all.failing, entry.folder


def _entry(path: Path, beside: Path) -> Entry:
    folder = path.parent.name
    page = path.parent / _PAGE
    address = urllib.parse.quote(os.path.relpath(page, beside)) if page.is_file() else ""
    try:
        report = read_report(path)
    except ReportError as error:
        return Entry(folder, address, problem=str(error))
    certification, deselected = report["certification"], report["plan"]["deselected"]
    reached = certification["achieved"]
    remarks = [_rows.incomplete_line(report), f"{deselected} cells were not selected." if deselected else ""]
    score = report["harness"].get("selftest")
    counted = report["summary"]["verdicts"]
    return Entry(
        folder,
        address,
        backend=report["backend"]["name"],
        rank=[None, *(level.value for level in Level)].index(reached),
        level=reached or "none",
        remarks=" ".join(filter(None, remarks)),
        all=_share(counted),
        verdicts=", ".join(f"{counted[each.value]} {each.value}" for each in Verdict if counted.get(each.value)),
        suites={suite: _share(counts) for suite, counts in report["summary"]["suites"].items()},
        torch=report["environment"].get("torch", "unknown"),
        seed=str(report["run"]["seed"]),
        started=report["run"]["started"][:10],
        selftest=f"{score['caught']} of {score['saboteurs']}" if score else "not run",
    )


def _share(counts: Mapping[str, int]) -> Share:
    failing = sum(count for name, count in counts.items() if Verdict(name).fails)
    return Share(counts.get(Verdict.PASS.value, 0), failing, sum(counts.values()))


def scoreboard_html(scoreboard: Scoreboard) -> str:
    """The page."""
    return render("scoreboard.html.j2", scoreboard=scoreboard)


def scoreboard_markdown(scoreboard: Scoreboard) -> str:
    """The Markdown, with the same columns."""
    headers = ["backend", "level", "passed", "verdicts", *scoreboard.suites, "torch", "seed", "date", "self-test"]
    body = [_line(each, scoreboard.suites) for each in scoreboard.entries]
    return "\n\n".join(["# Conformance of PyTorch backends", markdown_table(headers, body)]) + "\n"


def _line(entry: Entry, suites: Sequence[str]) -> list[Any]:
    if entry.problem:
        return [entry.folder, "unreadable", "", entry.problem, *("" for _ in suites), "", "", "", ""]
    shares = (str(entry.suites[suite]) if suite in entry.suites else "-" for suite in suites)
    told = (entry.torch, entry.seed, entry.started, entry.selftest)
    return [entry.backend, f"{entry.level} {entry.remarks}".strip(), str(entry.all), entry.verdicts, *shares, *told]
