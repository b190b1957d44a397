"""A report as one HTML file, which needs no network and can be read without its script."""

from __future__ import annotations

import dataclasses
from typing import Any

from conformance.report import _rows
from conformance.report._details import known_failures, tightest
from conformance.report._grid import failures_of, grid_of
from conformance.report._operator_grid import OUTCOMES, operators_of
from conformance.report._page import render
from conformance.report._rows import Row

_DIGITS_SHOWN = 12


@dataclasses.dataclass(frozen=True)
class Fact:
    """What was tested: a name, a text, and the text in full where it is shortened."""

    name: str
    text: str
    full: str = ""


def html(report: dict[str, Any]) -> str:
    """The page of a report that ``read_report`` has validated. Its strings are shown as text, never as markup."""
    failures = failures_of(report)
    anchors = {each.row["id"]: each.anchor for group in failures for each in group.failures}
    seen, suites = _rows.suite_table(report)
    behaviour = {role: (keys, _rows.behaviour_groups(report, role)) for role, keys in _rows.BEHAVIOUR_KEYS.items()}
    return render(
        "report.html.j2",
        report=report,
        facts=_facts(report),
        verdicts=seen,
        suites=suites,
        behaviour=behaviour,
        grid=grid_of(report, anchors),
        failures=failures,
        failed=len(anchors),
        known=known_failures(report),
        tightest=tightest(report),
        operators=operators_of(report),
        outcomes=OUTCOMES,
    )


def _facts(report: Row) -> list[Fact]:
    run, harness, backend = report["run"], report["harness"], report["backend"]
    environment, contract = report["environment"], harness["contract"]
    known = ("torch", "python", "implementation", "platform")
    python = f"{environment.get('python', 'unknown')} {environment.get('implementation', '')}".strip()
    distribution = f"{backend['distribution']} {backend['version']}".strip()
    return [
        Fact("toolchain", backend["toolchain"]),
        Fact("distribution", distribution or "none"),
        *(Fact(each["name"], f"sha256 {each['sha256'][:_DIGITS_SHOWN]}…", each["sha256"]) for each in backend["files"]),
        Fact("torch", environment.get("torch", "unknown")),
        Fact("python", python),
        Fact("platform", environment.get("platform", "unknown")),
        *(Fact(name, text) for name, text in environment.items() if name not in known),
        Fact("seed", str(run["seed"])),
        Fact("started", run["started"]),
        Fact("took", f"{run['seconds']:.0f} s"),
        *([Fact("merged from", f"{len(run['shards'])} shards")] if run.get("shards") else []),
        Fact("arguments", " ".join(run["argv"]) or "none"),
        Fact("harness", harness["version"]),
        Fact("contract", f"{contract['version']}, sha256 {contract['sha256'][:_DIGITS_SHOWN]}…", contract["sha256"]),
    ]
