"""The result of a cell: its outcome, what its clause noted, and its row in the report."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

from conformance._util.privacy import without_paths
from conformance.api.errors import ConformanceFailure, SubjectError
from conformance.api.fingerprint import fingerprint
from conformance.api.verdicts import Outcome
from conformance.compare.comparison import Margin
from conformance.devices import Trace
from conformance.run.plan import Cell


@dataclasses.dataclass
class Record:
    """What a clause puts into the report beside its verdict: remarks, and rows of tables."""

    notes: list[str] = dataclasses.field(default_factory=list)
    #: What the clause saw and does not grade, since nothing documented forbids it; each is among the notes as well.
    reported: list[str] = dataclasses.field(default_factory=list)
    expected: dict[str, str] = dataclasses.field(default_factory=dict)
    observed: dict[str, str] = dataclasses.field(default_factory=dict)
    #: Rows of the operator table.
    operators: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    #: What a generated cell tried and found: see :class:`conformance.report.row_model.Generated`.
    generated: dict[str, Any] | None = None
    #: The same findings with their trials (:class:`conformance.generate.tally.Finding`), from which reproducers are
    #: written; no row has them. Their type is Any because scripts have a copy of this class, and not of that one.
    findings: tuple[Any, ...] = ()

    def note(self, text: str) -> None:
        """Add a remark that users of the report should see, whatever the verdict."""
        self.notes.append(text)

    @contextlib.contextmanager
    def reporting(self) -> Iterator[None]:
        """A block whose failures are reported and not graded, because nothing documented forbids them.

        A failed assertion, or an exception of what is under test, becomes a remark, and ends the block. A crash and a
        timeout fail the cell as they do everywhere.
        """
        try:
            yield
        except (ConformanceFailure, SubjectError) as failure:
            self.reported.append(str(failure))
            self.note(f"Reported, not graded: {failure}")


@dataclasses.dataclass(frozen=True)
class FailureRecord:
    """What a reproducer of a failure is made from: the exception of the clause, and what its devices were asked."""

    failure: BaseException
    trace: Trace


@dataclasses.dataclass(frozen=True)
class Result:
    """The result of a cell that was tried or decided. ``failure_record`` is there when the backend is at fault."""

    cell: Cell
    outcome: Outcome
    seconds: dict[str, float]
    record: Record
    margin: Margin
    failure_record: FailureRecord | None = None
    peak_bytes: int | None = None

    def as_row(self) -> dict[str, Any]:
        """The cell's row in the report."""
        row = self.cell.as_row() | {
            "verdict": self.outcome.verdict.value,
            "phase": self.outcome.phase,
            "message": without_paths(self.outcome.message),
            "seconds": self.seconds,
        }
        if self.outcome.verdict.fails:
            row["fingerprint"] = self._fingerprint()
        if self.outcome.error is not None:
            row["error"] = without_paths(self.outcome.error)
        if self.peak_bytes is not None:
            row["peak_bytes"] = self.peak_bytes
        if self.outcome.repeated:
            row["repeated"] = self.outcome.repeated
        if self.outcome.attempts:
            row["attempts"] = [_attempt_row(each) for each in self.outcome.attempts]
        if self.record.notes:
            row["notes"] = without_paths(self.record.notes)
        if self.record.operators:
            row["operators"] = without_paths(self.record.operators)
        if self.record.generated is not None:
            row["generated"] = without_paths(self.record.generated)
        if self.record.observed:
            row["behaviour"] = {"expected": self.record.expected, "observed": self.record.observed}
        if self.margin.comparisons:
            row["margin"] = self.margin.as_row()
        return row

    def _fingerprint(self) -> str:
        """That of the failure; of a cell that searches, of all its findings together."""
        outcome, clause = self.outcome, self.cell.clause.id
        findings = (self.record.generated or {}).get("findings", ())
        if not findings:
            return outcome.fingerprint(clause, self.cell.case)
        causes = sorted({f"{each['verdict']}: {each['cause']}" for each in findings})
        return fingerprint(clause, outcome.verdict.value, outcome.phase, "; ".join(causes))


def _attempt_row(outcome: Outcome) -> dict[str, str]:
    return {
        "verdict": outcome.verdict.value,
        "phase": outcome.phase,
        "message": without_paths(outcome.message),
    }
