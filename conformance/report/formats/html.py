"""A report as one HTML file, which needs no network and can be read without its script."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from conformance.report.cause_details import cause_details
from conformance.report.cell_details import failure_sections, known_failures, tightest
from conformance.report.clause_grid import grid_of
from conformance.report.model import Report
from conformance.report.operator_grid import OUTCOMES, operator_grid_of
from conformance.report.templating import render
from conformance.report.view import view_of

_DIGITS_SHOWN = 12


@dataclasses.dataclass(frozen=True)
class Fact:
    """What was tested: a name, a text, and the text in full where it is shortened."""

    name: str
    text: str
    full: str = ""


def html(report: dict[str, Any], folder: Path | None = None) -> str:
    """The page of a report that ``read_report`` has validated. Its strings are shown as text, never as markup.

    The scripts that lie in the report's ``folder`` are shown in it; without one there are none.
    """
    view = view_of(report)
    return render(
        "report.html.j2",
        view=view,
        report=view.report,
        facts=_facts(view.report),
        causes=cause_details(view.causes, folder),
        grid=grid_of(view.report),
        failures=failure_sections(view),
        known=known_failures(view.report),
        tightest=tightest(view.report),
        operators=operator_grid_of(view.report.operators) if view.report.operators else None,
        outcomes=OUTCOMES,
    )


def _facts(report: Report) -> list[Fact]:
    run, harness, backend = report.run, report.harness, report.backend
    environment, contract = report.environment, harness.contract
    known = ("torch", "python", "implementation", "platform")
    python = f"{environment.get('python', 'unknown')} {environment.get('implementation', '')}".strip()
    distribution = f"{backend.distribution} {backend.version}".strip()
    return [
        Fact("toolchain", backend.toolchain),
        Fact("distribution", distribution or "none"),
        *(Fact(each.name, f"sha256 {each.sha256[:_DIGITS_SHOWN]}…", each.sha256) for each in backend.files),
        Fact("torch", environment.get("torch", "unknown")),
        Fact("python", python),
        Fact("platform", environment.get("platform", "unknown")),
        *(Fact(name, text) for name, text in environment.items() if name not in known),
        Fact("seed", str(run.seed)),
        *([Fact("budget of generated cells", run.generated)] if run.generated else []),
        Fact("started", run.started),
        Fact("took", f"{run.seconds:.0f} s"),
        *([Fact("merged from", f"{len(run.shards)} shards")] if run.shards else []),
        Fact("arguments", " ".join(run.argv) or "none"),
        Fact("harness", harness.version),
        Fact("contract", f"{contract.version}, sha256 {contract.sha256[:_DIGITS_SHOWN]}…", contract.sha256),
    ]
