"""The operator table for people: a summary for the terminal and for Markdown, and every row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from conformance.operators import DTYPES
from conformance.operators.table import Outcome

Row = Mapping[str, Any]

#: Rows that a summary tells one by one, those outcomes only.
TOLD = (Outcome.CRASHED, Outcome.TIMEOUT, Outcome.WRONG, Outcome.FAILED)
_WORDS = {Outcome.NOT_APPLICABLE: "n/a"}
_STATISTICS = ("max_abs", "max_rel", "ulp", "sqnr_db", "delegated")


def headline(table: Row) -> str:
    """What was tried, in a line."""
    operators = len({row["operator"] for row in table["rows"]})
    return (
        f"Operators: {operators}, in {len(table['rows'])} pairs of operator and dtype, on {table['samples']} samples; "
        "reported, not graded"
    )


def counts(table: Row) -> tuple[list[str], list[list[str]]]:
    """How many operators came to each outcome in each dtype: the headers, and a row for each dtype and for all."""
    found = Counter((row["dtype"], row["outcome"]) for row in table["rows"])
    seen = [outcome for outcome in reversed(Outcome) if table["summary"].get(outcome.value)]
    body = [
        [dtype, *(str(found[dtype, outcome.value] or "") for outcome in seen), str(total)]
        for dtype in dict.fromkeys((*DTYPES, *(row["dtype"] for row in table["rows"])))
        if (total := sum(found[dtype, outcome.value] for outcome in Outcome))
    ]
    last = ["all", *(str(table["summary"][outcome.value]) for outcome in seen), str(len(table["rows"]))]
    return ["dtype", *(_WORDS.get(outcome, outcome.value) for outcome in seen), "operators"], [*body, last]


def groups(rows: Iterable[Row], outcomes: Container[Outcome] = TOLD) -> list[tuple[str, str, list[str], Row]]:
    """What a summary tells: the outcome, the operator, its dtypes with that outcome, and the first of their rows.

    The gravest first.
    """
    found: dict[tuple[Outcome, str], list[Row]] = {}
    for row in rows:
        outcome = Outcome(row["outcome"])
        if outcome in outcomes:
            found.setdefault((outcome, row["operator"]), []).append(row)
    order = list(Outcome)
    return [
        (outcome.value, operator, [row["dtype"] for row in group], group[0])
        for (outcome, operator), group in sorted(found.items(), key=lambda item: (order.index(item[0][0]), item[0][1]))
    ]


def errors_text(row: Row) -> str:
    """The error statistics of a row in a few words, or nothing where there are none."""
    values = [(name, row[name]) for name in _STATISTICS if row.get(name) is not None]
    return ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in values)


def lines(rows: Iterable[Row]) -> tuple[list[str], list[list[str]]]:
    """Every row as texts but for its message, with the headers."""
    headers = ["operator", "dtype", "outcome", "samples", *(name.replace("_", " ") for name in _STATISTICS)]
    body = [
        [
            row["operator"],
            row["dtype"],
            row["outcome"],
            str(row["samples"]),
            *("" if row.get(name) is None else f"{row[name]:.3g}" for name in _STATISTICS),
        ]
        for row in rows
    ]
    return headers, body


def changes(before: Row | None, after: Row | None) -> list[str]:
    """What became of the table between two reports, in a sentence each; nothing where neither has one."""
    if before is None or after is None:
        return [] if before is after else ["only one of the reports has an operator table"]
    old, new = ({(row["operator"], row["dtype"]): row["outcome"] for row in table["rows"]} for table in (before, after))
    both = old.keys() & new.keys()
    turned = Counter((old[key], new[key]) for key in both if old[key] != new[key])
    sentences = [f"{sum(turned.values())} of {len(both)} rows of the operator table have another outcome"]
    sentences += [f"{count} went from {one} to {two}" for (one, two), count in sorted(turned.items())]
    sentences += [f"{len(old.keys() - both)} are gone"] if old.keys() - both else []
    sentences += [f"{len(new.keys() - both)} are new"] if new.keys() - both else []
    return sentences


def joined(tables: Sequence[Row]) -> tuple[list[Row], tuple[str, str, str, str] | None]:
    """The rows of several tables, each once; and the first contradiction, if there is one: operator, dtype and the two
    outcomes."""
    rows: dict[tuple[str, str], Row] = {}
    for table in tables:
        for row in table["rows"]:
            known = rows.setdefault((row["operator"], row["dtype"]), row)
            if known["outcome"] != row["outcome"]:
                return [], (row["operator"], row["dtype"], known["outcome"], row["outcome"])
    return list(rows.values()), None
