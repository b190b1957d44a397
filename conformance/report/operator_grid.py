"""The operators of a report, by dtype, as the page shows them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping

from conformance.operators.table import Outcome
from conformance.report.cell_details import number, plain
from conformance.report.parts import as_json
from conformance.report.row_model import OperatorRow, OperatorTable

#: The mark of an outcome in the table, and the class that colours it.
LOOKS = {
    Outcome.CRASHED: ("C", "bad"),
    Outcome.TIMEOUT: ("T", "bad"),
    Outcome.WRONG: ("W", "bad"),
    Outcome.FAILED: ("F", "bad"),
    Outcome.REFUSED: ("R", "aside"),
    Outcome.RIGHT: ("✓", "good"),
    Outcome.NOT_APPLICABLE: ("NA", "aside"),
}
#: The same by the name of the outcome, the gravest first.
OUTCOMES = {outcome.value: LOOKS[outcome] for outcome in Outcome}
#: So many rows are shown at length; report.json has all.
MOST_SHOWN = 300
_FACTS = ("samples", "counts", "max_abs", "max_rel", "ulp", "sqnr_db", "delegated")


@dataclasses.dataclass(frozen=True)
class Square:
    """One operator with one dtype. ``facts`` are the numbers that there are, as text."""

    operator: str
    dtype: str
    outcome: Outcome
    facts: str
    message: str

    @property
    def mark(self) -> str:
        """What stands in its square."""
        return LOOKS[self.outcome][0]

    @property
    def tone(self) -> str:
        """What colours its square."""
        return LOOKS[self.outcome][1]

    @property
    def hover(self) -> str:
        """What a square says when pointed at."""
        return "\n".join(
            filter(None, (f"{self.operator} {self.dtype}: {self.outcome.value}", self.facts, self.message))
        )


@dataclasses.dataclass(frozen=True)
class OperatorGrid:
    """All of them. ``rows`` maps an operator to a square, or None, for each dtype."""

    dtypes: tuple[str, ...]
    rows: Mapping[str, tuple[Square | None, ...]]
    counts: Mapping[str, int]
    grave: tuple[Square, ...]
    left_out: int
    summary: tuple[tuple[str, str], ...]

    @property
    def measured(self) -> int:
        """How many squares there are."""
        return sum(self.counts.values())


def operator_grid_of(table: OperatorTable) -> OperatorGrid | None:
    """The grid of an operator table; None where it has no row that names an operator."""
    squares: dict[str, dict[str, Square]] = {}
    for row in table.rows:
        if row.operator:
            each = _square(row)
            other = squares.setdefault(each.operator, {}).get(each.dtype)
            squares[each.operator][each.dtype] = each if other is None else min(other, each, key=_severity)
    if not squares:
        return None
    dtypes = tuple(dict.fromkeys(dtype for by_dtype in squares.values() for dtype in by_dtype))
    every = [each for by_dtype in squares.values() for each in by_dtype.values()]
    counts = Counter(each.outcome for each in every)
    faulty = sorted((each for each in every if each.tone == "bad"), key=_severity)
    return OperatorGrid(
        dtypes,
        {name: tuple(by_dtype.get(dtype) for dtype in dtypes) for name, by_dtype in squares.items()},
        {outcome.value: counts[outcome] for outcome in Outcome if counts[outcome]},
        tuple(faulty[:MOST_SHOWN]),
        max(0, len(faulty) - MOST_SHOWN),
        tuple((outcome.value, str(count)) for outcome, count in table.summary.items()),
    )


def _severity(each: Square) -> int:
    return list(Outcome).index(each.outcome)


def _square(row: OperatorRow) -> Square:
    fields = as_json(row)
    facts = []
    for name in _FACTS:
        value = fields.get(name)
        if value is not None:
            found = number(value)
            facts.append(f"{name} {plain(value) if found is None else f'{found:.4g}'}")
    return Square(row.operator, row.dtype or "no dtype", row.outcome, ", ".join(facts), row.message)
