"""The operator table for people: a summary for the terminal and for Markdown, and every row."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Container, Iterable, Sequence

from conformance.operators import DTYPES
from conformance.operators.table import Outcome
from conformance.report.row_model import OperatorRow, OperatorTable

#: A summary names the operators that came to one of these.
GRAVE = (Outcome.CRASHED, Outcome.TIMEOUT, Outcome.WRONG, Outcome.FAILED)
_WORDS = {Outcome.NOT_APPLICABLE: "n/a"}
_STATISTICS = ("max_abs", "max_rel", "ulp", "sqnr_db", "delegated")


@dataclasses.dataclass(frozen=True)
class OperatorGroup:
    """An operator that came to one outcome in several dtypes. ``message`` and ``errors`` are those of the first."""

    outcome: Outcome
    operator: str
    dtypes: tuple[str, ...]
    message: str
    errors: str


@dataclasses.dataclass(frozen=True)
class OperatorSummary:
    """What a summary shows: how many operators came to each outcome in each dtype, and the grave ones by name."""

    headline: str
    headers: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    groups: tuple[OperatorGroup, ...]


def summary_of(table: OperatorTable) -> OperatorSummary:
    """The summary of a table."""
    headers, lines = _counts(table)
    return OperatorSummary(headline(table), tuple(headers), tuple(map(tuple, lines)), tuple(groups(table.rows)))


def headline(table: OperatorTable) -> str:
    """What was tried, in a line."""
    operators = len({row.operator for row in table.rows})
    return (
        f"Operators: {operators}, in {len(table.rows)} pairs of operator and dtype, on {table.samples} samples; "
        "reported, not graded"
    )


def _counts(table: OperatorTable) -> tuple[list[str], list[list[str]]]:
    """The headers, and a row for each dtype and for all."""
    found = Counter((row.dtype, row.outcome) for row in table.rows)
    seen = [outcome for outcome in reversed(Outcome) if table.summary.get(outcome)]
    body = [
        [dtype, *(str(found[dtype, outcome] or "") for outcome in seen), str(total)]
        for dtype in dict.fromkeys((*DTYPES, *(row.dtype for row in table.rows)))
        if (total := sum(found[dtype, outcome] for outcome in Outcome))
    ]
    last = ["all", *(str(table.summary[outcome]) for outcome in seen), str(len(table.rows))]
    return ["dtype", *(_WORDS.get(outcome, outcome.value) for outcome in seen), "operators"], [*body, last]


def groups(rows: Iterable[OperatorRow], outcomes: Container[Outcome] = GRAVE) -> list[OperatorGroup]:
    """The operators that came to any of the outcomes, the gravest first."""
    found: dict[tuple[Outcome, str], list[OperatorRow]] = {}
    for row in rows:
        if row.outcome in outcomes:
            found.setdefault((row.outcome, row.operator), []).append(row)
    order = list(Outcome)
    return [
        OperatorGroup(outcome, operator, tuple(row.dtype for row in group), group[0].message, _errors_text(group[0]))
        for (outcome, operator), group in sorted(found.items(), key=lambda item: (order.index(item[0][0]), item[0][1]))
    ]


def _statistics(row: OperatorRow) -> dict[str, str]:
    """The error statistics of a row that there are."""
    values = {name: getattr(row, name) for name in _STATISTICS}
    return {name: f"{value:.3g}" for name, value in values.items() if isinstance(value, int | float)}


def _errors_text(row: OperatorRow) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in _statistics(row).items())


def lines(rows: Iterable[OperatorRow]) -> tuple[list[str], list[list[str]]]:
    """Every row as texts but for its message, with the headers."""
    headers = ["operator", "dtype", "outcome", "samples", *(name.replace("_", " ") for name in _STATISTICS)]
    body = [
        [
            row.operator,
            row.dtype,
            row.outcome.value,
            str(row.samples),
            *(_statistics(row).get(name, "") for name in _STATISTICS),
        ]
        for row in rows
    ]
    return headers, body


def changes(before: OperatorTable | None, after: OperatorTable | None) -> list[str]:
    """What became of the table between two reports, in a sentence each; nothing where neither has one."""
    if before is None or after is None:
        return [] if before is after else ["only one of the reports has an operator table"]
    old, new = ({(row.operator, row.dtype): row.outcome.value for row in table.rows} for table in (before, after))
    both = old.keys() & new.keys()
    turned = Counter((old[key], new[key]) for key in both if old[key] != new[key])
    sentences = [f"{sum(turned.values())} of {len(both)} rows of the operator table have another outcome"]
    sentences += [f"{count} went from {one} to {two}" for (one, two), count in sorted(turned.items())]
    sentences += [f"{len(old.keys() - both)} are gone"] if old.keys() - both else []
    sentences += [f"{len(new.keys() - both)} are new"] if new.keys() - both else []
    return sentences


def joined(tables: Sequence[OperatorTable]) -> tuple[list[OperatorRow], tuple[str, str, str, str] | None]:
    """The rows of several tables, each once; and the first contradiction, if there is one: operator, dtype and the two
    outcomes."""
    rows: dict[tuple[str, str], OperatorRow] = {}
    for table in tables:
        for row in table.rows:
            known = rows.setdefault((row.operator, row.dtype), row)
            if known.outcome is not row.outcome:
                return [], (row.operator, row.dtype, known.outcome.value, row.outcome.value)
    return list(rows.values()), None
