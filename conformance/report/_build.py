"""Rows of cells become a report."""

from __future__ import annotations

import dataclasses
import platform
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any

import conformance
from conformance.api.verdicts import Verdict
from conformance.contract import CONTRACT_VERSION, Clause, Level, contract_digest
from conformance.contract.score import remembered_score
from conformance.discovery.describing import Description
from conformance.operators.table import table_of
from conformance.report._certification import certification
from conformance.report.model import FORMAT
from conformance.run.plan import Cell, digest_of_ids


@dataclasses.dataclass(frozen=True)
class RunFacts:
    """What is known of a run as a whole. ``started`` is ISO 8601 in UTC; ``argv`` has no paths in it."""

    id: str
    started: str
    seconds: float
    seed: int
    argv: tuple[str, ...]
    level: Level | None
    #: Where artifacts were loaded and run: ``spec`` is what --conformance-target said.
    target: dict[str, str]


def build_report(
    run: RunFacts,
    description: Description,
    planned: Sequence[Cell],
    deselected: int,
    rows: dict[str, dict[str, Any]],
) -> dict[str, Any]:
    """The report of one backend. ``rows`` maps cell ids to what came back; a planned cell that is not there is LOST."""
    found = [rows.get(cell.id) or _lost(cell) for cell in planned]
    operators = [each for row in found for each in row.get("operators", ())]
    cells = [{name: value for name, value in row.items() if name != "operators"} for row in found]
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
                "contract": {"version": CONTRACT_VERSION, "sha256": contract_digest(description.toolchain)},
                "selftest": remembered_score(),
            },
            "environment": _environment(),
            "target": run.target,
            "backend": _backend(description),
        },
        [_clause(clause) for clause in clauses.values()],
        cells,
        deselected,
        run.level,
        operators,
    )


def assemble(
    head: dict[str, Any],
    clauses: Sequence[dict[str, Any]],
    cells: Sequence[dict[str, Any]],
    deselected: int,
    wanted: Level | None,
    operators: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """A report from rows alone.

    ``head`` has ``run`` (but for ``complete``), ``harness``, ``environment``, ``backend``, and ``target`` if it is
    known, as a report has them.
    Everything else of the report is worked out from the rows in ``cells``, from how many cells of the contract are
    not among them, from the level that was asked for, and from the rows of the operator table, if there is one.
    """
    complete = not any(row["verdict"] == Verdict.LOST.value for row in cells)
    return {
        "format": FORMAT,
        "run": head["run"] | {"complete": complete},
        "harness": head["harness"],
        "environment": head["environment"],
        **({"target": head["target"]} if "target" in head else {}),
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
        **({"operators": table_of(operators)} if operators else {}),
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
        "entry_point": description.source.found_as,
        "distribution": description.source.distribution,
        "version": description.source.version,
        "distribution_hash": description.distribution_hash,
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
    def count(column: str) -> dict[str, dict[str, int]]:
        found: dict[str, Counter[str]] = {}
        for row in cells:
            found.setdefault(row[column], Counter())[row["verdict"]] += 1
        return {name: in_order(verdicts) for name, verdicts in found.items()}

    def in_order(found: Counter[str]) -> dict[str, int]:
        return {verdict.value: found[verdict.value] for verdict in Verdict if found[verdict.value]}

    return {
        "verdicts": in_order(Counter(row["verdict"] for row in cells)),
        "suites": count("suite"),
        "clauses": count("clause"),
    }
