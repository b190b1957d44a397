"""One entry of a file of expectations, and what it says of a cell."""

from __future__ import annotations

import dataclasses
import datetime
import fnmatch
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from typing import Any

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from conformance.api.verdicts import Verdict

#: How a reason begins that the harness wrote, because a person must say why.
UNEXPLAINED = "TODO: say why."
#: ``owner/repository#number``, an issue of GitHub.
SHORT_ISSUE = re.compile(r"\A(?P<repository>[\w.-]+/[\w.-]+)#(?P<number>[1-9]\d*)", re.ASCII)


@dataclasses.dataclass(frozen=True, slots=True)
class InstalledBackend:
    """A backend as an entry's ``versions`` see it: the version of its distribution, empty if it has none."""

    version: str

    def version_of(self, name: str) -> str:
        """The installed version of ``backend``, ``python`` or a distribution; empty where there is none."""
        if name == "backend":
            return self.version
        if name == "python":
            return platform.python_version()
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return ""


@dataclasses.dataclass(frozen=True, slots=True)
class Expectation:
    """A failure that is known: where, which, why, and for how long. ``number`` is its place in the file, from 1.

    ``case`` is a pattern of names, or several; fields that are empty say nothing.
    """

    clause: str
    verdict: str
    reason: str
    case: str | Sequence[str] = "*"
    runtime: str = ""
    host: str = ""
    target: str = ""
    phase: str = ""
    fingerprint: str = ""
    issue: str = ""
    owner: str = ""
    since: datetime.date | None = None
    expires: datetime.date | None = None
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    number: int = 0

    def __str__(self) -> str:
        return f"entry {self.number}, {self.place} ({self.reason})"

    @property
    def place(self) -> str:
        """Of which cells it speaks: ``clause 'lowering.outputs', case 'lstm'``."""
        where = [f"clause {self.clause!r}", f"case {', '.join(map(repr, self.cases))}"]
        where += [f"{name} {value!r}" for name in ("runtime", "host", "target") if (value := getattr(self, name))]
        return ", ".join(where)

    @property
    def is_explained(self) -> bool:
        """Whether a person has said why."""
        return not self.reason.startswith(UNEXPLAINED)

    @property
    def issue_url(self) -> str:
        """The issue as an address; empty when there is none."""
        short = SHORT_ISSUE.fullmatch(self.issue)
        return f"https://github.com/{short['repository']}/issues/{short['number']}" if short else self.issue

    @property
    def cases(self) -> tuple[str, ...]:
        """The patterns of cases, one at least."""
        return (self.case,) if isinstance(self.case, str) else tuple(self.case)

    def covers(self, row: Mapping[str, Any]) -> bool:
        """Whether it speaks of a cell."""
        return (
            row["clause"] == self.clause
            and any(fnmatch.fnmatchcase(row["case"], pattern) for pattern in self.cases)
            and all(getattr(self, name) in ("", row[name]) for name in ("runtime", "host", "target"))
        )

    def why_not(self, subject: InstalledBackend) -> str:
        """What about the installed versions keeps it from holding, in a few words; empty when it holds."""
        return "; ".join(self._mismatches(subject))

    def _mismatches(self, subject: InstalledBackend) -> Iterator[str]:
        for name, wanted in self.versions.items():
            found = subject.version_of(name)
            try:
                holds = SpecifierSet(wanted).contains(Version(found), prereleases=True)
            except InvalidVersion:
                yield f"{name} has no version that can be compared with {wanted!r}"
                continue
            if not holds:
                yield f"{name} is {found}, not {wanted!r}"

    def agrees(self, row: Mapping[str, Any]) -> bool:
        """Whether a failing row failed as recorded. What is FLAKY may fail in the same way each time, too."""
        return (
            self.verdict in (row["verdict"], Verdict.FLAKY.value)
            and self.phase in ("", row["phase"])
            and self.fingerprint in ("", row["fingerprint"])
        )

    def as_row(self) -> dict[str, Any]:
        """What a report says of it: its fields that are set, with dates as ISO 8601, and the issue as an address."""
        fields = {name: value for name, value in dataclasses.asdict(self).items() if value}
        dates = {name: value.isoformat() for name, value in fields.items() if isinstance(value, datetime.date)}
        return {**fields, **dates, **({"issue_url": self.issue_url} if self.issue else {})}


def ending_text(verdict: str, phase: str, fingerprint: str = "") -> str:
    """How a cell ended, in a message: ``FAIL in run, fingerprint 0123456789ab``."""
    return verdict + (f" in {phase}" if phase else "") + (f", fingerprint {fingerprint}" if fingerprint else "")
