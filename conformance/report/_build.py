"""Rows of cells become a report."""

from __future__ import annotations

import dataclasses
import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib import metadata
from typing import Any

import conformance
from conformance.catalogue import Description
from conformance.contract import CONTRACT_VERSION, Clause, Level, contract_digest
from conformance.plan import Cell, digest_of_ids
from conformance.report._certification import certification
from conformance.score import remembered_score
from conformance.verdict import Verdict

FORMAT = "torch-conformance-report/1"


@dataclasses.dataclass(frozen=True)
class RunFacts:
    """What is known of a run as a whole. ``started`` is ISO 8601 in UTC; ``argv`` has no paths in it."""

    id: str
    started: str
    seconds: float
    seed: int
    argv: tuple[str, ...]
    level: Level | None


def build_report(
    run: RunFacts,
    description: Description,
    planned: Sequence[Cell],
    deselected: int,
    rows: dict[str, dict[str, Any]],
) -> dict[str, Any]:
    """The report of one backend. ``rows`` maps cell ids to what came back; a planned cell that is not there is LOST."""
    cells = [rows.get(cell.id) or _lost(cell) for cell in planned]
    clauses = {cell.clause.id: cell.clause for cell in planned}
    return assemble(
        {
            "run": {
                "id": run.id,
                "started": run.started,
                "seconds": round(run.seconds, 3),
                "seed": run.seed,
                "argv": list(run.argv),
            },
            "harness": {
                "version": conformance.__version__,
                "contract": {"version": CONTRACT_VERSION, "sha256": contract_digest()},
                "selftest": remembered_score(),
            },
            "environment": _environment(),
            "backend": _backend(description),
        },
        [_clause(clause) for clause in clauses.values()],
        cells,
        deselected,
        run.level,
    )


def assemble(
    head: dict[str, Any],
    clauses: Sequence[dict[str, Any]],
    cells: Sequence[dict[str, Any]],
    deselected: int,
    wanted: Level | None,
) -> dict[str, Any]:
    """A report from rows alone.

    ``head`` has ``run`` (but for ``complete``), ``harness``, ``environment`` and ``backend`` as a report has them.
    Everything else of the report is worked out from the rows in ``cells``, from how many cells of the contract are
    not among them, and from the level that was asked for.
    """
    complete = not any(row["verdict"] == Verdict.LOST.value for row in cells)
    return {
        "format": FORMAT,
        "run": head["run"] | {"complete": complete},
        "harness": head["harness"],
        "environment": head["environment"],
        "backend": head["backend"],
        "plan": {
            "cells": len(cells),
            "deselected": deselected,
            "sha256": digest_of_ids(row["id"] for row in cells),
        },
        "clauses": list(clauses),
        "cells": list(cells),
        "availability": _behaviour_tables(cells),
        "summary": _summary(cells),
        "certification": certification(cells, wanted, deselected),
    }


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


def _backend(description: Description) -> dict[str, Any]:
    return {
        "name": description.name,
        "toolchain": description.toolchain,
        "distribution": description.source.distribution,
        "version": description.source.version,
        "options": description.options,
        "files": list(description.files),
        "features": {"missing": dict(sorted(description.missing_features.items()))},
        "tolerances": {name: list(pair) for name, pair in description.tolerances.items()},
        "states": {name: state is not None for name, state in description.states.items()},
    }


def _clause(clause: Clause) -> dict[str, str]:
    return {
        "id": clause.id,
        "suite": clause.suite,
        "level": clause.level.value,
        "statement": clause.statement,
        "source": clause.source,
    }


def _behaviour_tables(cells: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    host, target = [], []
    for row in cells:
        if "behaviour" in row:
            entry = {
                "cell": row["id"],
                "host": row["host"],
                "runtime": row["runtime"],
                "verdict": row["verdict"],
                **row["behaviour"],
            }
            if row["target"] is None:
                host.append(entry)
            else:
                target.append(entry | {"target": row["target"]})
    return {"host": host, "target": target}


def _summary(cells: Sequence[dict[str, Any]]) -> dict[str, Any]:
    def count(rows: Iterable[dict[str, Any]]) -> dict[str, int]:
        found = Counter(row["verdict"] for row in rows)
        return {verdict.value: found[verdict.value] for verdict in Verdict if found[verdict.value]}

    suites = dict.fromkeys(row["suite"] for row in cells)
    clauses = dict.fromkeys(row["clause"] for row in cells)
    return {
        "verdicts": count(cells),
        "suites": {suite: count(row for row in cells if row["suite"] == suite) for suite in suites},
        "clauses": {clause: count(row for row in cells if row["clause"] == clause) for clause in clauses},
    }
