"""Operators by dtype, for each backend and across them: from operator tables, and from generated cells that draw them.

Of generated cells those speak whose trials have one operator each: there the operator and the dtype of a trial, and of
the smallest trial of a finding, say which square is meant.
"""

from __future__ import annotations

import dataclasses
import enum
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from conformance.api.verdicts import Verdict
from conformance.operators import DTYPES
from conformance.operators.table import Outcome
from conformance.report.model import Report
from conformance.report.operator_grid import LOOKS
from conformance.report.row_model import Finding, Generated
from conformance.report.scoreboard.boards import Entry, Share

#: What is wrong with a backend; a refusal is not.
GRAVE = (Outcome.CRASHED, Outcome.TIMEOUT, Outcome.WRONG, Outcome.FAILED)
#: Of a finding: no value came of it at all.
_RAISED = ("error", "refusal")
#: Of a trial whose arguments have one dtype each; the other values of the axis name none.
_NO_DTYPE = ("mixed", "Python number", "list of numbers", "None")
#: The dtype of a finding that names none: it is the plainest, and no part of a cause.
_PLAINEST = DTYPES[0]
#: So many operators across backends are shown by name.
MOST_SHOWN = 400


class Unclear(enum.Enum):
    """What an operator came to in a dtype where several failing trials of it were counted as one finding."""

    UNCLEAR = "not told apart"


#: What an operator came to, by dtype.
Squares = Mapping[str, Outcome | Unclear]
Table = dict[str, dict[str, Outcome | Unclear]]


@dataclasses.dataclass(frozen=True)
class HeatRow:
    """Operators that came to the same in every dtype, with a mark and its colour for each dtype; None: not tried."""

    operators: tuple[str, ...]
    marks: tuple[tuple[str, str, str] | None, ...]


@dataclasses.dataclass(frozen=True)
class Heat:
    """The operators of one backend: those that are not right everywhere, and how many others there are."""

    entry: Entry
    dtypes: tuple[str, ...]
    rows: tuple[HeatRow, ...]
    right: int
    tried: int

    @property
    def wrong(self) -> int:
        """How many operators are not right wherever they were tried."""
        return self.tried - self.right


@dataclasses.dataclass(frozen=True)
class Across:
    """Backends side by side: dtypes, then the operators that any of them has wrong, by how many backends have."""

    entries: tuple[Entry, ...]
    dtypes: tuple[tuple[str, tuple[Share | None, ...]], ...]
    operators: tuple[tuple[str, tuple[Share | None, ...]], ...]
    left_out: int


@dataclasses.dataclass(frozen=True)
class Operators:
    """All of it."""

    across: Across
    heats: tuple[Heat, ...]


def operators_of(entries: Iterable[Entry]) -> Operators | None:
    """The operators of all backends; None where no report says anything of any."""
    found = [(each, squares) for each in entries if each.report and (squares := squares_of(each.report))]
    if not found:
        return None
    return Operators(_across(found), tuple(_heat(entry, squares) for entry, squares in found))


def squares_of(report: Report) -> Table:
    """Operator → dtype → what it came to; the gravest where it was tried in several ways."""
    found: Table = {}
    for row in report.operators.rows if report.operators else ():
        _note(found, row.operator, row.dtype, row.outcome)
    for cell in report.cells:
        if cell.generated and _one_operator_each(cell.generated):
            for operator, dtype, outcome in _drawn(cell.generated):
                _note(found, operator, dtype, outcome)
    return found


def _note(
    found: dict[str, dict[str, Outcome | Unclear]], operator: str, dtype: str, outcome: Outcome | Unclear
) -> None:
    squares = found.setdefault(operator, {})
    squares[dtype] = min(squares.get(dtype, outcome), outcome, key=_gravity)


def _gravity(outcome: Outcome | Unclear) -> int:
    """The gravest first; that two dtypes were not told apart says more than that one is right."""
    order: list[Outcome | Unclear] = [*GRAVE, Unclear.UNCLEAR, Outcome.REFUSED, Outcome.RIGHT, Outcome.NOT_APPLICABLE]
    return order.index(outcome)


def _one_operator_each(generated: Generated) -> bool:
    named = sum(
        count for value, count in zip(generated.values, generated.counts, strict=True) if value.startswith("operator=")
    )
    return 0 < named == generated.tried


def _drawn(generated: Generated) -> Iterable[tuple[str, str, Outcome | Unclear]]:
    """Operator, dtype and outcome of what a generated cell drew and judged."""
    several = {each.operators[0] for each in generated.findings if each.count > 1 and each.operators}
    for (one, other), count in _pairs(generated):
        operator, dtype = one.removeprefix("operator="), other.removeprefix("dtype=")
        if count and dtype not in _NO_DTYPE:
            yield operator, dtype, Unclear.UNCLEAR if operator in several else Outcome.RIGHT
    for finding in generated.findings:
        dtypes = [each.removeprefix("dtype=") for each in finding.axes if each.startswith("dtype=")]
        named = [each for each in dtypes if each not in _NO_DTYPE] or [_PLAINEST]
        yield from ((operator, dtype, _outcome(finding)) for operator in finding.operators for dtype in named)


def _pairs(generated: Generated) -> Iterable[tuple[tuple[str, str], int]]:
    """(operator=..., dtype=...) → how many trials had both."""
    for place, value in enumerate(generated.values):
        if value.startswith("operator="):
            for other, count in zip(generated.values, generated.pairs[place], strict=False):
                if other.startswith("dtype="):
                    yield (value, other), count


def _outcome(finding: Finding) -> Outcome:
    ended = {Verdict.CRASH: Outcome.CRASHED, Verdict.TIMEOUT: Outcome.TIMEOUT}
    return ended.get(finding.verdict, Outcome.FAILED if finding.observable in _RAISED else Outcome.WRONG)


def _look(outcome: Outcome | Unclear) -> tuple[str, str, str]:
    """A mark, the class that colours it, and what it says."""
    mark, tone = ("?", "bad-1") if isinstance(outcome, Unclear) else LOOKS[outcome]
    return mark, tone, outcome.value


def _heat(entry: Entry, squares: Mapping[str, Squares]) -> Heat:
    dtypes = _dtypes([squares])
    patterns: dict[tuple[Outcome | Unclear | None, ...], list[str]] = {}
    right = 0
    for operator, by_dtype in sorted(squares.items()):
        if set(by_dtype.values()) <= {Outcome.RIGHT, Outcome.NOT_APPLICABLE}:
            right += 1
        else:
            patterns.setdefault(tuple(by_dtype.get(dtype) for dtype in dtypes), []).append(operator)
    rows = sorted(patterns.items(), key=lambda item: (*_worst(item[0]), -len(item[1]), item[1]))
    return Heat(
        entry,
        dtypes,
        tuple(HeatRow(tuple(names), tuple(each and _look(each) for each in pattern)) for pattern, names in rows),
        right,
        len(squares),
    )


def _worst(pattern: Sequence[Outcome | Unclear | None]) -> tuple[int, int]:
    """What sorts the gravest first: the gravest outcome, then in how many dtypes there is one."""
    outcomes = [each for each in pattern if each is not None]
    return min(map(_gravity, outcomes)), -sum(each in GRAVE for each in outcomes)


def _dtypes(tables: Sequence[Mapping[str, Squares]]) -> tuple[str, ...]:
    """The dtypes that any operator was tried in: those of operator tables first, in their order."""
    found = {dtype for table in tables for by_dtype in table.values() for dtype in by_dtype}
    return (*(each for each in DTYPES if each in found), *sorted(found - set(DTYPES)))


def _across(found: Sequence[tuple[Entry, Mapping[str, Squares]]]) -> Across:
    tables = [squares for _, squares in found]
    names = sorted({name for table in tables for name in table})
    rows = [(name, tuple(_share(table.get(name, {}).values()) for table in tables)) for name in names]
    wrong = [row for row in rows if any(share and share.failing for share in row[1])]
    wrong.sort(key=lambda row: (-sum(bool(share and share.failing) for share in row[1]), row[0]))
    by_dtype = (
        (dtype, tuple(_share(row[dtype] for row in table.values() if dtype in row) for table in tables))
        for dtype in _dtypes(tables)
    )
    return Across(
        tuple(entry for entry, _ in found),
        tuple(by_dtype),
        tuple(wrong[:MOST_SHOWN]),
        max(0, len(wrong) - MOST_SHOWN),
    )


def _share(outcomes: Iterable[Outcome | Unclear]) -> Share | None:
    """How many of them are right and wrong; what PyTorch cannot do, and what nobody can tell, is not among them."""
    counts = Counter(each for each in outcomes if not isinstance(each, Unclear))
    tried = sum(counts.values()) - counts[Outcome.NOT_APPLICABLE]
    return Share(counts[Outcome.RIGHT], sum(counts[each] for each in GRAVE), tried) if tried else None
