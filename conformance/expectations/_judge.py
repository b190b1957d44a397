"""Rows held against the entries, and the entries against the run."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.api.verdicts import Verdict
from conformance.expectations._entry import Expectation, InstalledBackend, ending_text
from conformance.expectations._file import did_you_mean
from conformance.expectations._strictness import DEFAULT, Kind

_NOT_RUN = Verdict.LOST.value
#: Verdicts that say nothing about an entry: whether the cell fails as recorded is not known.
_UNKNOWN = frozenset({Verdict.FLAKY.value, Verdict.HARNESS_ERROR.value, Verdict.NOT_EXERCISED.value, _NOT_RUN})

#: So many entries are named by their numbers where there may be hundreds.
_NUMBERS_SHOWN = 10


@dataclasses.dataclass(frozen=True)
class Fault:
    """Something wrong about an entry as a whole, as a sentence."""

    kind: Kind
    text: str


@dataclasses.dataclass(frozen=True)
class BackendRun:
    """A backend's part of a run: the cells that there are, selected or not, and the rows of those that came back."""

    backend: str
    cells: Sequence[Mapping[str, Any]]
    rows: Mapping[str, Mapping[str, Any]]


class Expectations:
    """The expectations of a run. The first entry that covers a cell, and holds for the versions, speaks of it.

    ``subjects`` are the backends of the run by name, and ``strict`` what fails it.
    """

    def __init__(
        self,
        entries: Sequence[Expectation],
        subjects: Mapping[str, InstalledBackend],
        strict: frozenset[Kind] = DEFAULT,
    ) -> None:
        self.entries = tuple(entries)
        self.strict = strict
        #: Backend → number of an entry that does not hold for it → what about the versions is in the way.
        self._skipped = {
            name: {entry.number: why for entry in self.entries if (why := entry.why_not(subject))}
            for name, subject in subjects.items()
        }

    def entry_for(self, row: Mapping[str, Any], backend: str) -> Expectation | None:
        """The entry that speaks of a cell of a backend, if any does."""
        skipped = self._skipped[backend]
        return next((each for each in self.entries if each.number not in skipped and each.covers(row)), None)

    def holds_for(self, entry: Expectation, backend: str) -> bool:
        """Whether the installed versions are those that the entry speaks of."""
        return entry.number not in self._skipped[backend]

    def judge(self, row: dict[str, Any], backend: str) -> dict[str, Any]:
        """The row, with its verdict held against the entry that covers it; the same object when none does."""
        entry = self.entry_for(row, backend)
        verdict = Verdict(row["verdict"])
        if entry is None or not (verdict.is_breach or verdict in (Verdict.PASS, Verdict.FLAKY)):
            return row
        is_flaky = entry.verdict == Verdict.FLAKY.value
        if verdict is Verdict.FLAKY and not is_flaky:
            return row  # it repeats nothing, so not what was recorded either
        wanted = ending_text(entry.verdict, entry.phase, entry.fingerprint)
        tolerated = False
        if verdict is Verdict.PASS and is_flaky:
            judged, message = Verdict.XPASS, f"passed this time; known to be flaky: {entry.reason}"
            tolerated = True
        elif verdict is Verdict.PASS:
            judged, message = Verdict.XPASS, f"expected {wanted} ({entry.reason}), but it passed: remove the entry"
            tolerated = Kind.PASSED not in self.strict
        elif entry.agrees(row):
            judged, message = Verdict.XFAIL, f"known: {entry.reason}. {row['message']}"
        else:
            found = ending_text(row["verdict"], row["phase"], row["fingerprint"] if entry.fingerprint else "")
            judged, message = (
                Verdict.XFAIL_MISMATCH,
                f"expected {wanted} ({entry.reason}), found {found}: {row['message']}",
            )
            tolerated = Kind.CHANGED not in self.strict
        expectation = entry.as_row() | {"found": row["verdict"], "message": row["message"], "tolerated": tolerated}
        return row | {"verdict": judged.value, "message": message, "expectation": expectation}

    def faults(self, plans: Sequence[BackendRun], today: datetime.date) -> list[Fault]:
        """What is wrong about entries as a whole, in their order, after a run."""
        faults = [fault for entry in self.entries for fault in self._faults_of(entry, plans, today)]
        unexplained = [str(entry.number) for entry in self.entries if not entry.is_explained]
        if unexplained:
            shown = ", ".join(unexplained[:_NUMBERS_SHOWN]) + (", ..." if len(unexplained) > _NUMBERS_SHOWN else "")
            text = f"a person must say why of {len(unexplained)} expectations (their reasons begin with TODO): {shown}"
            faults.append(Fault(Kind.UNEXPLAINED, text))
        return faults

    def skipped(self) -> list[str]:
        """A sentence for each entry that does not hold for the installed versions."""
        return [
            f"expectation skipped for {backend}: {entry}: {self._skipped[backend][entry.number]}"
            for backend in self._skipped
            for entry in self.entries
            if not self.holds_for(entry, backend)
        ]

    def _faults_of(self, entry: Expectation, plans: Sequence[BackendRun], today: datetime.date) -> Iterator[Fault]:
        plans = [plan for plan in plans if self.holds_for(entry, plan.backend)]
        if not plans:
            return
        if entry.expires is not None and entry.expires < today:
            yield Fault(Kind.EXPIRED, f"an expectation expired on {entry.expires}: {entry}: mend it or renew it")
        why = [self._why_unmatched(entry, plan) for plan in plans]
        if all(why):
            yield Fault(Kind.UNMATCHED, f"an expectation matches no cell of this run: {entry}: {why[0]}")

    def _why_unmatched(self, entry: Expectation, plan: BackendRun) -> str:
        """Why no row was held against an entry; empty when one was, or when that may be for want of running it."""
        cells = [cell for cell in plan.cells if entry.covers(cell)]
        if not cells:
            return _what_there_is_instead(entry, plan.cells)
        own = [cell for cell in cells if self.entry_for(cell, plan.backend) is entry]
        if not own:
            return "earlier entries speak of all its cells: put the narrower entry first"
        verdicts = [plan.rows[cell["id"]]["verdict"] if cell["id"] in plan.rows else _NOT_RUN for cell in own]
        held = [cell for cell in own if "expectation" in plan.rows.get(cell["id"], ())]
        if held or _UNKNOWN.intersection(verdicts):
            return ""
        return f"its cells came to {', '.join(dict.fromkeys(verdicts))}"


def _what_there_is_instead(entry: Expectation, cells: Sequence[Mapping[str, Any]]) -> str:
    clauses = {cell["clause"] for cell in cells}
    if entry.clause not in clauses:
        return f"there is no such clause{did_you_mean(entry.clause, clauses)}"
    cases = {cell["case"] for cell in cells if cell["clause"] == entry.clause}
    anywhere = dataclasses.replace(entry, runtime="", host="", target="")
    if not any(anywhere.covers(cell) for cell in cells):
        return f"the clause has no such case{did_you_mean(entry.cases[0], cases)}"
    return "the clause has the case, but not in that runtime and those states"
