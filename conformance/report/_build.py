"""Rows of cells become a report."""

from __future__ import annotations

import dataclasses
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

import conformance
from conformance.api.verdicts import Verdict
from conformance.contract import CONTRACT_VERSION, Clause, Level, contract_digest
from conformance.contract.score import remembered_score, shipped_mutants
from conformance.discovery.describing import Description
from conformance.generate.axes import AXES
from conformance.generate.budget import Budget
from conformance.operators.table import table_of
from conformance.report._certification import certification
from conformance.report._json import ReportError
from conformance.report._packages import packages_of
from conformance.report.generated import budget_of, summary_of
from conformance.report.model import (
    FORMAT,
    Backend,
    BehaviourTables,
    Contract,
    Features,
    File,
    Harness,
    MutantScore,
    Plan,
    Report,
    Resumed,
    Run,
    SelfTest,
    Summary,
    Target,
)
from conformance.report.parts import as_json, read_part, replaced
from conformance.report.row_model import (
    NO_TRIANGLE,
    CellRow,
    ClauseRow,
    HostBehaviour,
    OperatorTable,
    TargetBehaviour,
)
from conformance.run.plan import Cell, digest_of_ids


@dataclasses.dataclass(frozen=True)
class RunFacts:
    """What is known of a run as a whole. ``started`` is ISO 8601 in UTC; ``argv`` has no paths in it."""

    id: str
    started: str
    seconds: float
    seed: int
    #: What generated cells might try.
    generated: Budget
    argv: tuple[str, ...]
    level: Level | None
    #: Where artifacts were loaded and run: ``spec`` is what --conformance-target said.
    target: dict[str, str]
    #: The time after which no cell was begun, such as 30m; empty without one.
    budget: str = ""
    #: What it has of an interrupted run that it went on with.
    resumed: Resumed | None = None


@dataclasses.dataclass(frozen=True)
class _Head:
    """What a report says of a run that its rows do not."""

    run: Run
    harness: Harness
    environment: dict[str, str]
    target: Target | UnsetType
    backend: Backend
    #: Axis → what the harness draws along it.
    axes: Mapping[str, Sequence[str]]


def build_report(
    run: RunFacts,
    description: Description,
    planned: Sequence[Cell],
    deselected: int,
    rows: Mapping[str, dict[str, Any]],
) -> dict[str, Any]:
    """The report of one backend. ``rows`` maps cell ids to what came back; a planned cell that is not there is LOST.

    Raises ReportError for a row that is none.
    """
    found = [rows.get(cell.id) or _lost(cell) for cell in planned]
    operators = [each for row in found for each in row.get("operators", ())]
    cells = [{name: value for name, value in row.items() if name != "operators"} for row in found]
    clauses = {cell.clause.id: cell.clause for cell in planned}
    contract = Contract(version=CONTRACT_VERSION, sha256=contract_digest(description.toolchain))
    score, mutants = remembered_score(description.toolchain), shipped_mutants()
    head = _Head(
        Run(
            id=run.id,
            started=run.started,
            seconds=round(run.seconds, 3),
            seed=run.seed,
            generated=str(run.generated),
            budget=run.budget or UNSET,
            argv=list(run.argv),
            resumed=run.resumed or UNSET,
            complete=True,
        ),
        Harness(
            version=conformance.__version__,
            contract=contract,
            selftest=None if score is None else SelfTest(**score),
            mutants=UNSET if mutants is None else MutantScore(**mutants),
        ),
        packages_of(description.source.distribution) | _environment(),
        read_part(Target, run.target),
        backend_of(description),
        AXES,
    )
    stated = [_clause(clause) for clause in clauses.values()]
    return as_json(_assembled(head, stated, _cell_rows(cells), deselected, run.level, operators))


def assemble(
    head: Mapping[str, Any],
    clauses: Sequence[Mapping[str, Any]],
    cells: Sequence[Mapping[str, Any]],
    deselected: int,
    wanted: Level | None,
    operators: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """A report from rows alone.

    ``head`` has ``run``, ``harness``, ``environment``, ``backend``, and ``target`` if it is known, as a report has
    them; and ``generated.axes``, where generated cells drew along others than today's. Everything else of the report is
    worked out from the rows in ``cells`` (``run.complete``, for one), from how many cells of the contract are not among
    them, from the level that was asked for, and from the rows of the operator table, if there is one.

    Raises ReportError for a row that is none, and msgspec.ValidationError for such a head.
    """
    known = _Head(
        read_part(Run, {**head["run"], "complete": head["run"].get("complete", True)}),
        read_part(Harness, head["harness"]),
        head["environment"],
        read_part(Target, head["target"]) if "target" in head else UNSET,
        read_part(Backend, head["backend"]),
        head.get("generated", {}).get("axes", AXES),
    )
    stated = [read_part(ClauseRow, clause) for clause in clauses]
    return as_json(_assembled(known, stated, _cell_rows(cells), deselected, wanted, operators))


def _assembled(
    head: _Head,
    clauses: list[ClauseRow],
    cells: list[CellRow],
    deselected: int,
    wanted: Level | None,
    operators: Sequence[Mapping[str, Any]],
) -> Report:
    return Report(
        format=FORMAT,
        run=replaced(head.run, complete=all(row.verdict is not Verdict.LOST for row in cells)),
        harness=head.harness,
        environment=head.environment,
        target=head.target,
        backend=head.backend,
        plan=Plan(cells=len(cells), deselected=deselected, sha256=digest_of_ids(row.id for row in cells)),
        clauses=clauses,
        cells=cells,
        availability=_behaviour_tables(cells),
        summary=_summary(cells),
        generated=summary_of(cells, head.axes),
        certification=certification(cells, wanted, deselected, budget_of(head.run)),
        operators=read_part(OperatorTable, table_of(operators)) if operators else UNSET,
    )


def _cell_rows(rows: Iterable[Mapping[str, Any]]) -> list[CellRow]:
    found = []
    for place, row in enumerate(rows):
        try:
            found.append(read_part(CellRow, row))
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            raise ReportError(f"a row is none of a torch-conformance report: at cells/{place}: {error}") from error
        if found[-1].generated and not found[-1].generated.is_a_triangle:
            raise ReportError(f"a row is none of a torch-conformance report: at cells/{place}/generated: {NO_TRIANGLE}")
    return found


def _lost(cell: Cell) -> dict[str, Any]:
    return cell.as_row() | {
        "verdict": Verdict.LOST.value,
        "phase": "",
        "message": "planned, and never came back",
        "seconds": {},
    }


def _environment() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "torch": metadata.version("torch"),
        "pytest": metadata.version("pytest"),
        "platform": f"{platform.system()} {platform.machine()}",
    }


def backend_of(description: Description) -> Backend:
    """What a report says of a backend."""
    return Backend(
        name=description.name,
        toolchain=description.toolchain,
        entry_point=description.source.found_as,
        distribution=description.source.distribution,
        version=description.source.version,
        distribution_hash=description.distribution_hash,
        options=description.options,
        replaces_functions=description.source.replaces_functions or UNSET,
        files=[File(name=each["name"], sha256=each["sha256"]) for each in description.files],
        features=Features(missing=dict(sorted(description.missing_features.items()))),
        tolerances={name: list(pair) for name, pair in description.tolerances.items()},
        states={name: state is not None for name, state in description.states.items()},
    )


def _clause(clause: Clause) -> ClauseRow:
    return ClauseRow(
        id=clause.id, suite=clause.suite, level=clause.level, statement=clause.statement, source=clause.source
    )


def _behaviour_tables(cells: Iterable[CellRow]) -> BehaviourTables:
    host, target = [], []
    for row in cells:
        if row.behaviour:
            seen: dict[str, Any] = {
                "cell": row.id,
                "host": row.host,
                "runtime": row.runtime,
                "verdict": row.verdict,
                "expected": row.behaviour.expected,
                "observed": row.behaviour.observed,
            }
            if row.target is None:
                host.append(HostBehaviour(**seen))
            else:
                target.append(TargetBehaviour(**seen, target=row.target))
    return BehaviourTables(host=host, target=target)


def _summary(cells: Sequence[CellRow]) -> Summary:
    def count(column: str) -> dict[str, dict[Verdict, int]]:
        found: dict[str, Counter[Verdict]] = {}
        for row in cells:
            found.setdefault(getattr(row, column), Counter())[row.verdict] += 1
        return {name: in_order(verdicts) for name, verdicts in found.items()}

    def in_order(found: Counter[Verdict]) -> dict[Verdict, int]:
        return {verdict: found[verdict] for verdict in Verdict if found[verdict]}

    return Summary(
        verdicts=in_order(Counter(row.verdict for row in cells)), suites=count("suite"), clauses=count("clause")
    )
