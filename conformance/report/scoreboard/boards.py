"""A row for each report, and a table of them for each toolchain."""

from __future__ import annotations

import dataclasses
import itertools
import os
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path

from conformance.api.verdicts import Verdict
from conformance.contract import Level
from conformance.report._json import ReportError
from conformance.report._store import read_report
from conformance.report.causes import causes_of
from conformance.report.formats import formats
from conformance.report.model import Report
from conformance.report.parts import read_part
from conformance.report.row_model import CellRow
from conformance.report.view import incomplete_line, share_shown

REPORT = "report.json"
#: What every report has in its environment; what else is there are packages of the backend's.
_EVERYBODYS = frozenset({"python", "implementation", "torch", "pytest", "platform"})
#: Of its cells a backend fails so many, in per cent, and its square is of this colour: the first that is not exceeded.
_TONES = ((0, "good"), (10, "bad-1"), (33, "bad-2"), (100, "bad-3"))
_PAGE = formats()["html"].file


@dataclasses.dataclass(frozen=True)
class Share:
    """So many of so many passed, and so many fail: cells, or dtypes of an operator."""

    passed: int
    failing: int
    cells: int

    @property
    def tone(self) -> str:
        """The class that colours it: how many of those that passed or failed did fail."""
        judged = self.passed + self.failing
        if not judged:
            return "aside"
        return next(tone for most, tone in _TONES if 100 * self.failing <= most * judged)

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
    report: Report | None = None
    toolchain: str = ""
    backend: str = ""
    rank: int = -1
    level: str = ""
    remarks: str = ""
    all: Share = Share(0, 0, 0)
    verdicts: str = ""
    causes: int = 0
    packages: Mapping[str, str] = dataclasses.field(default_factory=dict)
    suites: Mapping[str, Share] = dataclasses.field(default_factory=dict)
    torch: str = ""
    contract: str = ""
    seed: str = ""
    started: str = ""
    minutes: float = 0
    selftest: str = ""

    @property
    def title(self) -> str:
        """The backend, with the folder where that says more: two sets of options are two reports of one backend."""
        return self.folder if self.backend in ("", self.folder) else f"{self.backend} ({self.folder})"

    @property
    def versions(self) -> str:
        """What the backend stands on."""
        return ", ".join(f"{name} {version}" for name, version in self.packages.items())


@dataclasses.dataclass(frozen=True)
class Board:
    """The backends of one toolchain, the best first, and the suites that any of them has; or what cannot be read."""

    toolchain: str
    readable: bool
    entries: tuple[Entry, ...]

    @property
    def suites(self) -> tuple[str, ...]:
        """The suites, in the order of the reports."""
        return tuple(dict.fromkeys(suite for each in self.entries for suite in each.suites))

    def subject(self, suite: str) -> str:
        """A suite's name as the head of a narrow column: the table says which toolchain's it is."""
        return suite.removeprefix(f"{self.toolchain}_").replace("_", " ")


def boards_of(folder: Path, beside: Path) -> tuple[Board, ...]:
    """A board for each toolchain, since no two have a suite in common; what cannot be read comes last.

    Raises ReportError where there is no report at all.
    """
    try:
        paths = sorted(folder.glob(f"*/{REPORT}"))
    except OSError as error:
        raise ReportError(f"{folder} cannot be read: {error.strerror}") from error
    if not paths:
        raise ReportError(f"expected reports at {folder}/*/{REPORT}, found none")
    entries = sorted((_entry(path, beside) for path in paths), key=_place)
    groups = itertools.groupby(entries, lambda each: (each.toolchain, not each.problem))
    return tuple(Board(toolchain, readable, tuple(found)) for (toolchain, readable), found in groups)


def linked(places: Sequence[Path], beside: Path) -> str:
    """The address, from a page in ``beside``, of the first of these files that is there; empty where none is."""
    shown = next((place for place in places if place.is_file()), None)
    return urllib.parse.quote(os.path.relpath(shown, beside)) if shown else ""


def _place(entry: Entry) -> tuple[bool, str, int, int, str]:
    """By toolchain; in each the highest level first, then the smallest number of failing cells."""
    return bool(entry.problem), entry.toolchain, -entry.rank, entry.all.failing, entry.folder


def _entry(path: Path, beside: Path) -> Entry:
    folder = path.parent.name
    address = linked((beside / folder / _PAGE, path.parent / _PAGE, path), beside)
    try:
        report = read_part(Report, read_report(path))
    except ReportError as error:
        return Entry(folder, address, problem=str(error))
    achieved, deselected = report.certification.achieved, report.plan.deselected
    remarks = [incomplete_line(report), f"{deselected} cells were not selected." if deselected else ""]
    score = report.harness.selftest
    counted = report.summary.verdicts
    return Entry(
        folder,
        address,
        report=report,
        toolchain=report.backend.toolchain,
        backend=report.backend.name,
        rank=[None, *Level].index(achieved),
        level=" ".join(filter(None, (achieved.value, share_shown(report.certification)))) if achieved else "none",
        remarks=" ".join(filter(None, remarks)),
        all=_share(report.cells),
        verdicts=", ".join(f"{counted[each]} {each.value}" for each in Verdict if counted.get(each)),
        causes=len(causes_of(report)),
        packages=_packages(report),
        suites={suite: _share([row for row in report.cells if row.suite == suite]) for suite in report.summary.suites},
        torch=report.environment.get("torch", "unknown"),
        contract=report.harness.contract.version,
        seed=str(report.run.seed),
        started=report.run.started[:10],
        minutes=report.run.seconds / 60,
        selftest=f"{score.caught} of {score.saboteurs}" if score else "not run",
    )


def _packages(report: Report) -> dict[str, str]:
    """What the backend stands on; its own distribution where the report names no others."""
    found = {name: version for name, version in report.environment.items() if name not in _EVERYBODYS}
    known = {report.backend.distribution: report.backend.version} if report.backend.distribution else {}
    return found or known


def _share(rows: Sequence[CellRow]) -> Share:
    passed = sum(row.verdict is Verdict.PASS for row in rows)
    return Share(passed, sum(row.fails for row in rows), len(rows))
