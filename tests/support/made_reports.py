"""Reports as a run writes them, without the run: the plan is real, and what became of each cell is made up."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.api.availability import Availability
from conformance.contract import Level, shipped_clauses
from conformance.discovery.describing import Description
from conformance.generate.budget import Budget
from conformance.report import RunFacts, build_report
from conformance.run.plan import Cell, cells_of
from conformance.toolchains import Source
from support.generated_rows import generated


def described(**changed: Any) -> Description:
    """A backend that lacks one feature, and can be brought into every state."""
    facts: dict[str, Any] = {
        "source": Source("toy", value="toys:Toy", distribution="toys", version="1.0"),
        "prepared": {},
        "name": "toy",
        "toolchain": "torchscript",
        "missing_features": {"fork": "no threads"},
        "tolerances": {},
        "states": {state.value: {} for state in Availability},
        "lost": {},
        "files": ({"name": "libtoy.so", "sha256": "a" * 64},),
        "distribution_hash": "b" * 64,
    }
    return Description(**facts | changed)


def planned(description: Description, operators: Sequence[str] = (), *, generated: bool = True) -> list[Cell]:
    """Every cell of the contract, and those of the operators."""
    return [
        cell for clause in shipped_clauses() for cell in cells_of(clause, description, operators, generated=generated)
    ]


def made_report(
    description: Description | None = None,
    verdicts: Mapping[str, str] | None = None,
    level: Level | None = None,
    operators: Sequence[str] = (),
    budget: str = "30s",
) -> dict[str, Any]:
    """The report of a whole run in which every cell passed that was not decided before, but for those in ``verdicts``.

    A cell whose verdict is LOST did not come back.
    """
    description = description or described()
    verdicts = verdicts or {}
    might = Budget.parse(budget)
    cells = planned(description, operators, generated=not might.is_nothing)
    rows = {cell.id: _row(cell, verdicts.get(cell.id)) for cell in cells if verdicts.get(cell.id) != "LOST"}
    run = RunFacts("b0b0", "2026-01-01T00:00:00+00:00", 61.5, 7, might, ("--backend=toy",), level, {"spec": "local"})
    report: dict[str, Any] = json.loads(json.dumps(build_report(run, description, cells, 0, rows)))
    return report


def _row(cell: Cell, verdict: str | None) -> dict[str, Any]:
    own = verdict or (cell.decided.value if cell.decided else "PASS")
    row = cell.as_row() | {"verdict": own, "phase": "", "message": cell.why, "seconds": {"lower": 0.004, "run": 0.001}}
    if cell.clause.suite == "availability" and cell.decided is None:
        row["behaviour"] = {"expected": {"run": "ok"}, "observed": {"run": "ok"}}
    if cell.theme and cell.decided is None:
        row["generated"] = generated()
    if own in ("FAIL", "CRASH"):
        row |= {"phase": "run", "message": "it went wrong", "error": {"type": "RuntimeError", "text": "it went wrong"}}
    return row


def put(path: Path, content: dict[str, Any]) -> Path:
    """Write a report as a run does."""
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
