"""What a cell comes to: its outcome, what its clause noted, and its row in the report."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

from conformance._util.privacy import without_paths
from conformance.api.errors import ConformanceFailure, SubjectError
from conformance.api.verdicts import Outcome
from conformance.compare.comparison import Margin
from conformance.devices import Trace
from conformance.run.plan import Cell


@dataclasses.dataclass
class Record:
    """What a clause notes beside its verdict: remarks for the report, and rows of its tables."""

    notes: list[str] = dataclasses.field(default_factory=list)
    #: What the clause saw and does not grade, since nobody has promised otherwise; it stands among the notes as well.
    reported: list[str] = dataclasses.field(default_factory=list)
    expected: dict[str, str] = dataclasses.field(default_factory=dict)
    observed: dict[str, str] = dataclasses.field(default_factory=dict)
    #: Rows of the operator table.
    operators: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    #: What a generated cell tried and found: see :class:`conformance.report.row_model.Generated`.
    generated: dict[str, Any] | None = None
    #: The same findings with their trials (:class:`conformance.generate.tally.Finding`), of which reproducers are
    #: written; they get into no row. Any: scripts have a copy of this class, and no findings.
    findings: tuple[Any, ...] = ()

    def note(self, text: str) -> None:
        """Add a remark that users of the report should see, whatever the verdict."""
        self.notes.append(text)

    @contextlib.contextmanager
    def reporting(self) -> Iterator[None]:
        """Within the block a failure, or an exception of what is under test, is a remark, and the rest of the block is
        left out: what is looked at there should be known, and nothing that is documented forbids it. A crash and a
        timeout are what they are everywhere."""
        try:
            yield
        except (ConformanceFailure, SubjectError) as failure:
            self.reported.append(str(failure))
            self.note(f"Reported, not graded: {failure}")


@dataclasses.dataclass(frozen=True)
class FailureRecord:
    """What a failing cell leaves to tell its failure again: what its clause raised, and what its devices did."""

    failure: BaseException
    trace: Trace


@dataclasses.dataclass(frozen=True)
class Result:
    """A cell that came back. ``failure_record`` is there when the backend is in breach."""

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
            row["fingerprint"] = self.outcome.fingerprint(self.cell.clause.id, self.cell.case)
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


def _attempt_row(outcome: Outcome) -> dict[str, str]:
    return {
        "verdict": outcome.verdict.value,
        "phase": outcome.phase,
        "message": without_paths(outcome.message),
    }
