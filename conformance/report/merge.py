"""Several reports, each of a part of one run, become the report of the whole."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.api.verdicts import Verdict
from conformance.contract import Level
from conformance.report._build import assemble
from conformance.report._json import ReportError
from conformance.report._store import rows_by_id
from conformance.report.compare.changes import circumstances
from conformance.report.generated import same_cell
from conformance.report.model import Report
from conformance.report.operators import joined
from conformance.report.parts import as_json, read_part
from conformance.report.row_model import OperatorTable

#: What may differ between the machines of one run.
_MACHINES_OWN = ("platform", "python")
#: What a cell is, apart from how it ended.
_COORDINATES = ("clause", "suite", "level", "case", "runtime", "host", "target")
_LADDER = list(Level)


def merge(shards: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """The report of the run that the shards, each with the name to call it by, are parts of.

    Cells of the contract that no shard has count as deselected; the whole contract is the largest that a shard knows.
    The level is the highest that a shard was held to. Raises ReportError, with the first thing that does not fit, for
    shards of different runs.
    """
    name, first = shards[0]
    for other_name, other in shards[1:]:
        for what, one, two in circumstances(read_part(Report, first), read_part(Report, other)):
            if what not in _MACHINES_OWN:
                raise ReportError(
                    f"{other_name} does not belong with {name}: it differs in the {what}: {two}, not {one}"
                )
    clauses = _clauses(shards)
    cells = _cells(shards)
    place = {clause: index for index, clause in enumerate(clauses)}
    ordered = sorted(cells.values(), key=lambda row: (row["suite"], place.get(row["clause"], len(place))))
    reports = [report for _, report in shards]
    whole = max(int(report["plan"]["cells"] + report["plan"]["deselected"]) for report in reports)
    levels = [Level(report["certification"]["level"]) for report in reports]
    selftest = _common([report["harness"].get("selftest") for report in reports])
    return assemble(
        {
            "run": _run(reports),
            "harness": first["harness"] | {"selftest": selftest},
            "environment": _environment(reports),
            **({"target": first["target"]} if "target" in first else {}),
            "backend": first["backend"],
            "generated": next((report["generated"] for report in reports if "generated" in report), {}),
        },
        list(clauses.values()),
        ordered,
        max(0, whole - len(cells)),
        max(levels, key=_LADDER.index),
        _operators(reports),
    )


def _clauses(shards: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    clauses: dict[str, dict[str, Any]] = {}
    for name, report in shards:
        for clause in report["clauses"]:
            if clauses.setdefault(clause["id"], clause) != clause:
                raise ReportError(f"{name} does not belong with the others: it states {clause['id']} otherwise")
    return dict(sorted(clauses.items(), key=lambda item: item[1]["suite"]))


def _cells(shards: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    cells: dict[str, dict[str, Any]] = {}
    came_from: dict[str, str] = {}
    for name, report in shards:
        for cell, row in rows_by_id(report, name).items():
            known = cells.setdefault(cell, row)
            came_from.setdefault(cell, name)
            if any(known[key] != row[key] for key in _COORDINATES):
                raise ReportError(f"{name} contradicts {came_from[cell]}: {cell} is another cell there")
            stands = same_cell(known, row)
            if stands is not None:
                cells[cell], came_from[cell] = (dict(stands), came_from[cell] if stands is known else name)
                continue
            if row["verdict"] == known["verdict"] or row["verdict"] == Verdict.LOST.value:
                continue
            if known["verdict"] != Verdict.LOST.value:
                raise ReportError(
                    f"{name} contradicts {came_from[cell]}: {cell} came to {row['verdict']}, not {known['verdict']}"
                )
            cells[cell], came_from[cell] = row, name
    return cells


def _operators(reports: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    tables = [read_part(OperatorTable, report["operators"]) for report in reports if "operators" in report]
    rows, contradiction = joined(tables)
    if contradiction is not None:
        operator, dtype, one, two = contradiction
        raise ReportError(f"the shards contradict each other: the operator {operator} in {dtype} is {one} and {two}")
    return [as_json(row) for row in rows]


def _run(reports: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The run as a whole. Its own ``argv`` is empty unless all shards had the same; ``shards`` has that of each."""
    parts = [shard for report in reports for shard in report["run"].get("shards") or [_shard(report["run"])]]
    shards = list({json.dumps(part, sort_keys=True): part for part in parts}.values())
    name = json.dumps(sorted(shard["id"] for shard in shards))
    return {
        "id": str(uuid.uuid5(uuid.NAMESPACE_OID, name)),
        "started": min(shard["started"] for shard in shards),
        "seconds": round(sum(shard["seconds"] for shard in shards), 3),
        "seed": reports[0]["run"]["seed"],
        **({"generated": reports[0]["run"]["generated"]} if "generated" in reports[0]["run"] else {}),
        **({"budget": budget} if (budget := _common([report["run"].get("budget") for report in reports])) else {}),
        "argv": _common([shard["argv"] for shard in shards]) or [],
        "shards": shards,
    }


def _shard(run: Mapping[str, Any]) -> dict[str, Any]:
    return {key: run[key] for key in ("id", "started", "seconds", "argv", "resumed") if key in run}


def _environment(reports: Sequence[dict[str, Any]]) -> dict[str, str]:
    seen: dict[str, dict[str, None]] = {}
    for report in reports:
        for key, value in report["environment"].items():
            seen.setdefault(key, {}).update(dict.fromkeys(value.split(", ")))
    return {key: ", ".join(values) for key, values in seen.items()}


def _common(values: Sequence[Any]) -> Any:
    """What all of them are, else None."""
    return values[0] if all(value == values[0] for value in values) else None
