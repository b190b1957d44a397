"""What the generated cells of a report tried and found, worked out from their rows."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import UNSET, UnsetType

from conformance.api.verdicts import Verdict
from conformance.generate.budget import Budget
from conformance.report.model import GeneratedClause, GeneratedFinding, GeneratedSummary, Report, Run
from conformance.report.row_model import AxisTable, CellRow, Finding, Generated

#: The squares of the pairs have the number of digits of a count; so many digits and more look the same.
_MOST_DIGITS = 4


@dataclasses.dataclass(frozen=True)
class Found:
    """A cause: the finding of the first cell that has it, how often all cells had it, and which these are."""

    finding: Finding
    count: int
    cells: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class AxisValue:
    """How often a value met the backend, and that as a share of the most frequent value of its axis, in percent."""

    name: str
    count: int
    share: int


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis with its values, in their order."""

    name: str
    values: tuple[AxisValue, ...]

    @property
    def met(self) -> tuple[str, ...]:
        """The values that met the backend."""
        return tuple(each.name for each in self.values if each.count)

    @property
    def never(self) -> tuple[str, ...]:
        """The values that never did."""
        return tuple(each.name for each in self.values if not each.count)


@dataclasses.dataclass(frozen=True)
class PairRow:
    """A value, and how many digits the count has with which it met the backend together with each value before it."""

    name: str
    digits: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class GeneratedView:
    """What generated cells came to, as every format shows it. A line is empty where there is nothing to say."""

    headline: str
    aside: str
    clauses: tuple[GeneratedClause, ...]
    axes: tuple[Axis, ...]
    #: Other axes, such as that of operators, whose values no list names: those that were met, and how often.
    others: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    pairs: tuple[PairRow, ...]
    pairs_met: int
    pairs_of_all: int
    found: tuple[Found, ...]

    @property
    def values_line(self) -> str:
        """How many values of the axes met the backend."""
        met, every = (sum(len(getattr(axis, name)) for axis in self.axes) for name in ("met", "values"))
        others = "".join(f", and {len(found)} of {axis}" for axis, found in self.others)
        return f"{met} of {every} values of {len(self.axes)} axes met the backend{others}"

    @property
    def pairs_line(self) -> str:
        """How many pairs of values met the backend."""
        return f"{self.pairs_met} of {self.pairs_of_all} pairs of two values met it together"


def budget_of(run: Run) -> Budget | None:
    """What the generated cells of a run might try; None where its report does not say, or says what nobody reads."""
    try:
        return Budget.parse(run.generated) if run.generated else None
    except ValueError:
        return None


def summary_of(cells: Sequence[CellRow], axes: Mapping[str, Sequence[str]]) -> GeneratedSummary | UnsetType:
    """What the cells tried together; ``axes`` have every value that the harness draws. UNSET where none tried any."""
    rows = [(cell, cell.generated) for cell in cells if cell.generated]
    if not rows:
        return UNSET
    tables = [row for _, row in rows]
    drawn = dict.fromkeys(f"{axis}={value}" for axis, each in axes.items() for value in each)
    met = _sum(dict(zip(row.values, row.counts, strict=True)) for row in tables)
    unlisted = [value for value in met if value not in drawn]
    values, counts, pairs = _added_up(tables, [*drawn, *(value for value in unlisted if _axis_of(value) in axes)])
    others: dict[str, dict[str, int]] = {}
    for value in unlisted:
        if _axis_of(value) not in axes:
            others.setdefault(_axis_of(value), {})[value.partition("=")[2]] = met[value]
    clauses: dict[str, list[Generated]] = {}
    for cell, row in rows:
        clauses.setdefault(cell.clause, []).append(row)
    return GeneratedSummary(
        axes={axis: list(each) for axis, each in axes.items()},
        others=others,
        clauses=[_clause(name, found) for name, found in clauses.items()],
        values=values,
        counts=counts,
        pairs=pairs,
        findings=[
            GeneratedFinding(
                cause=each.finding.cause,
                observable=each.finding.observable,
                verdict=each.finding.verdict,
                count=each.count,
                cells=list(each.cells),
            )
            for each in found_in(cells)
        ],
    )


def found_in(cells: Iterable[CellRow]) -> list[Found]:
    """What the cells found, each cause with one verdict once, in the order in which they have it."""
    causes: dict[tuple[str, Verdict], list[tuple[str, Finding]]] = {}
    for cell in cells:
        for finding in cell.generated.findings if cell.generated else ():
            causes.setdefault((finding.cause, finding.verdict), []).append((cell.id, finding))
    return [
        Found(every[0][1], sum(finding.count for _, finding in every), tuple(dict.fromkeys(name for name, _ in every)))
        for every in causes.values()
    ]


def _clause(name: str, rows: Sequence[Generated]) -> GeneratedClause:
    return GeneratedClause(
        clause=name,
        cells=len(rows),
        tried=sum(row.tried for row in rows),
        discarded=_sum(row.discarded for row in rows),
        refused=_sum(row.refused for row in rows),
        seconds=round(sum(row.seconds for row in rows), 3),
        findings=len({(finding.cause, finding.verdict) for row in rows for finding in row.findings}),
    )


def _sum(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for each in counts:
        found.update(each)
    return dict(sorted(found.items()))


def _axis_of(value: str) -> str:
    return value.partition("=")[0]


def _added_up(tables: Iterable[AxisTable], values: Sequence[str]) -> tuple[list[str], list[int], list[list[int]]]:
    """One table of those, with these values alone."""
    place = {value: index for index, value in enumerate(values)}
    counts = [0] * len(values)
    pairs = [[0] * index for index in range(len(values))]
    for table in tables:
        places = [place.get(value) for value in table.values]
        for mine, count, row in zip(places, table.counts, table.pairs, strict=True):
            if mine is None:
                continue
            counts[mine] += count
            for theirs, both in zip(places, row, strict=False):
                if theirs is not None:
                    pairs[max(mine, theirs)][min(mine, theirs)] += both
    return list(values), counts, pairs


def generated_view(report: Report) -> GeneratedView | None:
    """What a report shows of its generated cells; None where none of them tried anything."""
    summary = report.generated
    if not summary:
        return None
    met = sum(1 for row in summary.pairs for count in row if count)
    return GeneratedView(
        _headline(report, summary),
        _aside(summary),
        tuple(summary.clauses),
        tuple(_axes(summary)),
        tuple((axis, tuple(found.items())) for axis, found in summary.others.items()),
        tuple(
            PairRow(value, tuple(min(len(str(count)), _MOST_DIGITS) if count else 0 for count in row))
            for value, row in zip(summary.values, summary.pairs, strict=True)
        ),
        met,
        sum(map(len, summary.pairs)),
        tuple(found_in(report.cells)),
    )


def _headline(report: Report, summary: GeneratedSummary) -> str:
    tried, cells = sum(each.tried for each in summary.clauses), sum(each.cells for each in summary.clauses)
    budget = f", budget {report.run.generated}" if report.run.generated else ""
    causes = len(summary.findings)
    found = f"{causes or 'no'} cause{'' if causes == 1 else 's'} found"
    where = f"{cells} cell{'' if cells == 1 else 's'}"
    return f"Generated: {tried} tried in {where} (seed {report.run.seed}{budget}), {found}."


def _aside(summary: GeneratedSummary) -> str:
    parts = []
    for word, of in (("discarded", "discarded, which judge nobody"), ("refused", "refused, as the backend may")):
        counts = _sum(getattr(each, word) for each in summary.clauses)
        if total := sum(counts.values()):
            most = sorted(counts.items(), key=lambda item: -item[1])[:4]
            more = ", ..." if len(counts) > len(most) else ""
            parts.append(f"{total} {of}: {', '.join(f'{name} {count}' for name, count in most)}{more}")
    return "; ".join(parts)


def _axes(summary: GeneratedSummary) -> Iterable[Axis]:
    axes: dict[str, list[tuple[str, int]]] = {}
    for value, count in zip(summary.values, summary.counts, strict=True):
        axis, _, name = value.partition("=")
        axes.setdefault(axis, []).append((name, count))
    for axis, values in axes.items():
        most = max(count for _, count in values) or 1
        yield Axis(axis, tuple(AxisValue(name, count, math.ceil(100 * count / most)) for name, count in values))


def same_cell(one: Mapping[str, Any], other: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Which of the rows of two runs stands for a generated cell that both tried; None where they contradict each other.

    With one seed both draw the same programs, so the one that tried more tried all that the other did; one that fails
    found what the other did not come to.
    """
    if "generated" not in one or "generated" not in other:
        return None
    tried = [row["generated"]["tried"] for row in (one, other)]
    if one["verdict"] != other["verdict"]:
        failing = [row for row in (one, other) if Verdict(row["verdict"]).fails]
        return failing[0] if len(failing) == 1 and tried[0] != tried[1] else None
    return max((one, other), key=lambda row: int(row["generated"]["tried"]))
