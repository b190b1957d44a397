"""Cells of generated programs and scenarios: one search each, on the devices of a backend, and its outcome."""

from __future__ import annotations

import zlib

from hypothesis import strategies as st

from conformance.api.errors import ConformanceFailure, DeviceDied, DeviceTimeout
from conformance.api.verdicts import NotExercised, Verdict
from conformance.generate import TRAINING
from conformance.generate.budget import Share
from conformance.generate.engine import Search
from conformance.generate.programs import Scope
from conformance.generate.steps import Trial
from conformance.generate.tally import Finding, Tally
from conformance.generate.trials import program_trials, scenario_trials
from conformance.run.cell_context import CellContext
from conformance.toolchains import toolchain_named


def try_programs(context: CellContext) -> None:
    """Try programs of the cell's theme. Raises as :func:`_search` does."""
    share = context.budget.for_programs(context.cells_that_share)
    _search(context, program_trials(_scope(context)), share)


def try_scenarios(context: CellContext) -> None:
    """Try scenarios of the cell's theme. Raises as :func:`_search` does."""
    share = context.budget.for_scenarios(context.cells_that_share)
    _search(context, scenario_trials(_scope(context)), share, leaks=True)


def _scope(context: CellContext) -> Scope:
    toolchain = toolchain_named(context.cell.clause.toolchain)
    assert toolchain.programs is not None, "a toolchain with generated clauses says what its models do with programs"
    theme = context.cell.theme
    missing = frozenset(context.backend.missing_features)
    return Scope(theme, toolchain.programs, missing, training=theme == TRAINING)


def _search(context: CellContext, strategy: st.SearchStrategy[Trial], share: Share, *, leaks: bool = False) -> None:
    """Run the search of a cell, and put its counts and findings into the cell's record.

    Raises ConformanceFailure, DeviceDied or DeviceTimeout for the gravest finding; NotExercised if too few were tried.
    """
    cell = context.cell
    seed = zlib.crc32(f"{context.seed} {cell.clause.id} {cell.theme}".encode())
    tally = Tally(seed)
    search = Search(
        context.laboratory,
        strategy,
        share,
        tally,
        kept=context.kept,
        told=lambda text: context.tell(f"{cell.clause.id}[{cell.theme}]: {text}"),
        leaks=leaks,
        first_only=context.first_finding_only,
    )
    try:
        search.run()
    finally:
        context.record.generated = tally.as_row() | ({"interrupted": True} if search.interrupted else {})
        context.record.findings = tuple(sorted(tally.findings, key=_gravity))
        context.interrupted = search.interrupted
    if tally.findings:
        _raise(context, tally)
    if not share.is_tried(tally.tried) and not search.interrupted:
        refused = ", ".join(tally.refused) or "nothing"
        drawn = tally.tried + tally.discarded.total() + tally.refused.total()
        raise NotExercised(
            f"of {drawn} programs that were drawn {tally.tried} could be tried, which is too few; the backend refused "
            f"{refused}"
        )


#: The gravest first.
_ORDER = (Verdict.CRASH.value, Verdict.TIMEOUT.value, Verdict.FAIL.value, Verdict.FLAKY.value)


def _gravity(finding: Finding) -> int:
    return _ORDER.index(finding.verdict)


def _raise(context: CellContext, tally: Tally) -> None:
    found = sorted(tally.findings, key=_gravity)
    gravest = found[0]
    context.ledger.phase = gravest.phase
    text = "\n\n".join(_told(each) for each in found)
    if gravest.verdict == Verdict.CRASH.value and isinstance(gravest.ended, DeviceDied):
        raise gravest.ended
    if gravest.verdict == Verdict.TIMEOUT.value and isinstance(gravest.ended, DeviceTimeout):
        raise gravest.ended
    raise ConformanceFailure(text, gravest.phase)


def _told(finding: Finding) -> str:
    often = f" (in {finding.count} programs)" if finding.count > 1 else ""
    return f"{finding.cause}{often}: {finding.message}"
