"""The operators of a report, by dtype. Whoever measured them, any part may be missing or of another type."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import Any

from conformance.operators.table import Outcome
from conformance.report._details import number, plain
from conformance.report._rows import Row

_LOOKS = {
    Outcome.CRASHED: ("C", "bad"),
    Outcome.TIMEOUT: ("T", "bad"),
    Outcome.WRONG: ("W", "bad"),
    Outcome.FAILED: ("F", "bad"),
    Outcome.REFUSED: ("R", "aside"),
    Outcome.RIGHT: ("✓", "good"),
    Outcome.NOT_APPLICABLE: ("NA", "aside"),
}
#: Outcome → its mark in the table, and the class that colours it; the gravest first.
OUTCOMES = {outcome.value: _LOOKS[outcome] for outcome in Outcome}
_UNKNOWN = ("?", "harness")
#: So many rows are told at length; report.json has all.
MOST_TOLD = 300
_FACTS = ("samples", "counts", "max_abs", "max_rel", "ulp", "sqnr_db", "delegated")


@dataclasses.dataclass(frozen=True)
class Measured:
    """One operator with one dtype. ``facts`` are the numbers that there are, as text."""

    operator: str
    dtype: str
    outcome: str
    facts: str
    message: str

    @property
    def mark(self) -> str:
        """What stands in its square."""
        return OUTCOMES.get(self.outcome, _UNKNOWN)[0]

    @property
    def tone(self) -> str:
        """What colours its square."""
        return OUTCOMES.get(self.outcome, _UNKNOWN)[1]

    @property
    def hover(self) -> str:
        """What a square says when pointed at."""
        return "\n".join(filter(None, (f"{self.operator} {self.dtype}: {self.outcome}", self.facts, self.message)))


@dataclasses.dataclass(frozen=True)
class Operators:
    """All of them. ``rows`` maps an operator to a square, or None, for each dtype."""

    dtypes: tuple[str, ...]
    rows: Mapping[str, tuple[Measured | None, ...]]
    counts: Mapping[str, int]
    told: tuple[Measured, ...]
    left_out: int
    summary: tuple[tuple[str, str], ...]

    @property
    def measured(self) -> int:
        """How many squares there are."""
        return sum(self.counts.values())


def operators_of(report: Row) -> Operators | None:
    """The operators that a report tells of, or None."""
    section = report.get("operators")
    rows = section.get("rows") if isinstance(section, dict) else None
    if not isinstance(section, dict) or not isinstance(rows, list):
        return None
    squares: dict[str, dict[str, Measured]] = {}
    for row in rows:
        if isinstance(row, dict) and row.get("operator"):
            each = _measured(row)
            other = squares.setdefault(each.operator, {}).get(each.dtype)
            squares[each.operator][each.dtype] = each if other is None else min(other, each, key=_severity)
    if not squares:
        return None
    dtypes = tuple(dict.fromkeys(dtype for by_dtype in squares.values() for dtype in by_dtype))
    every = [each for by_dtype in squares.values() for each in by_dtype.values()]
    counts = Counter(each.outcome for each in every)
    faulty = sorted((each for each in every if each.tone in ("bad", "harness")), key=_severity)
    summary = section.get("summary")
    return Operators(
        dtypes,
        {name: tuple(by_dtype.get(dtype) for dtype in dtypes) for name, by_dtype in squares.items()},
        dict(sorted(counts.items(), key=lambda each: _place(each[0]))),
        tuple(faulty[:MOST_TOLD]),
        max(0, len(faulty) - MOST_TOLD),
        tuple((str(name), plain(value)) for name, value in summary.items()) if isinstance(summary, dict) else (),
    )


def _severity(each: Measured) -> int:
    return _place(each.outcome)


def _place(outcome: str) -> int:
    return list(OUTCOMES).index(outcome) if outcome in OUTCOMES else -1


def _measured(row: Mapping[str, Any]) -> Measured:
    facts = []
    for name in _FACTS:
        value = row.get(name)
        if value is None:
            continue
        found = number(value)
        facts.append(f"{name} {plain(value) if found is None else f'{found:.4g}'}")
    return Measured(
        plain(row["operator"]),
        plain(row.get("dtype") or "no dtype"),
        plain(row.get("outcome") or "unknown").replace(",", " "),
        ", ".join(facts),
        plain(row.get("message") or ""),
    )
