"""How one cell comes to its result: it is tried, tried again where it fails, and compared with its control."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from conformance.api.clause import Control, SpeaksOf
from conformance.api.errors import DeviceBroken
from conformance.api.verdicts import Outcome, Verdict, flaky, one_line
from conformance.compare.comparison import Margin, comparing
from conformance.devices import Trace
from conformance.run.cell_context import CellContext
from conformance.run.plan import Cell
from conformance.run.result import FailureRecord, Record, Result
from conformance.run.run_context import RunContext
from conformance.toolchains import Source, toolchain_named

#: Cells of these clauses mean nothing without a backend: they compare it with PyTorch by themselves.
_WITHOUT_CONTROL = (SpeaksOf.GENERATED, SpeaksOf.OPERATORS)
#: A clause's arguments for a context, by their names.
Arguments = Callable[[CellContext], dict[str, Any]]


def run_cell(
    run: RunContext,
    context: CellContext,
    function: Callable[..., None],
    arguments: Arguments,
    *,
    reruns: int = 0,
) -> Result:
    """Run a clause's function in a context; if it fails, run it again, and then in the same cell without a backend.

    ``arguments`` gives the function's arguments for a context. A failure is tried again ``reruns`` times at most, on
    fresh devices. If it does not fail in the same way each time the cell is FLAKY, and no control is asked: what
    plain PyTorch does once says nothing about what the backend does now and then.
    """
    cell = context.cell
    if cell.decided is not None:
        return Result(cell, Outcome(cell.decided, message=cell.why), {}, Record(), Margin())
    with comparing(context.backend.tolerances) as margin:
        outcome = _attempted(run, context, function, arguments)
    # the context lives as long as its pytest item, and a trace may be large
    trace, context.trace = context.trace, Trace()
    if outcome.verdict.is_breach:
        outcome = _upheld(run, outcome, context, function, arguments, reruns)
    failure_record = None
    if outcome.verdict.is_breach and context.failure is not None:
        failure_record = FailureRecord(context.failure, trace)
    context.failure = None
    ledger = context.ledger
    return Result(cell, outcome, ledger.seconds, context.record, margin, failure_record, ledger.peak_bytes)


def _upheld(
    run: RunContext,
    outcome: Outcome,
    context: CellContext,
    function: Callable[..., None],
    arguments: Arguments,
    reruns: int,
) -> Outcome:
    """What a failure comes to, once it was repeated and its controls were asked."""
    clause = context.cell.clause
    if clause.speaks_of is SpeaksOf.GENERATED:  # it has repeated its findings and asked PyTorch by itself
        findings = context.record.findings
        if findings and all(each.verdict == Verdict.FLAKY.value for each in findings):
            outcome = dataclasses.replace(outcome, verdict=Verdict.FLAKY)
        return outcome
    outcome = _confirmed(run, outcome, context, function, arguments, reruns)
    if outcome.verdict.is_breach and clause.control is not Control.NONE and clause.speaks_of not in _WITHOUT_CONTROL:
        outcome = _excused(run, context.cell, outcome, function, arguments)
    if outcome.verdict is Verdict.TIMEOUT:  # and not the machine's, which the control would have shown
        run.timed_out(context.cell.backend)
    return outcome


def _attempted(run: RunContext, context: CellContext, function: Callable[..., None], arguments: Arguments) -> Outcome:
    """The outcome of one attempt at a cell.

    The harness's own code may fail in a device because of what the backend has done to the process: no memory, no
    descriptors, functions replaced. So it is the backend's failure if the same cell without it does not end so.
    """
    outcome = context.attempt(function, arguments(context))
    cell = context.cell
    if not isinstance(context.failure, DeviceBroken) or cell.clause.speaks_of in _WITHOUT_CONTROL:
        return outcome
    if _without_backend(run, cell, function, arguments, None).verdict is Verdict.HARNESS_ERROR:
        return outcome
    message = f"the harness cannot do its work in a process with the backend, and can without it: {outcome.message}"
    return dataclasses.replace(outcome, verdict=Verdict.FAIL, message=one_line(message))


def _confirmed(
    run: RunContext,
    first: Outcome,
    context: CellContext,
    function: Callable[..., None],
    arguments: Arguments,
    reruns: int,
) -> Outcome:
    """The outcome of a failing cell after ``reruns`` reruns: the failure with how often it repeated, or FLAKY, with all
    attempts, as soon as one comes to something else.

    If the harness fails in a rerun, that is the outcome: nothing is known then about the backend.
    """
    names = context.cell.clause.id, context.cell.case
    for _ in range(reruns):
        another = context.again()
        with comparing(context.backend.tolerances):
            outcome = _attempted(run, another, function, arguments)
        if outcome.verdict is Verdict.HARNESS_ERROR:
            return outcome
        same = outcome.verdict is first.verdict and outcome.fingerprint(*names) == first.fingerprint(*names)
        if not same:
            return flaky((*[first] * (1 + first.repeated), outcome))
        first = dataclasses.replace(first, repeated=first.repeated + 1)
    return first


def _excused(
    run: RunContext, cell: Cell, outcome: Outcome, function: Callable[..., None], arguments: Arguments
) -> Outcome:
    """The outcome of a failing cell after its controls: NOT_APPLICABLE where PyTorch without the backend fails as well.

    Only the same failure excuses: with the same fingerprint, as often as the backend showed it. A control that fails
    or dies otherwise, cannot start, or fails only now and then, excuses nothing. Where a control times out as the
    backend did, the machine is too slow: HARNESS_ERROR.
    """
    names = cell.clause.id, cell.case
    controls: list[tuple[str, Source | None]] = [("PyTorch without a backend", None)]
    if cell.clause.control is Control.STAND_INS:
        controls += [(each.title, each.source) for each in toolchain_named(cell.clause.toolchain).stand_ins]
    for who, stand_in in controls:
        control = _without_backend(run, cell, function, arguments, stand_in)
        if outcome.verdict is Verdict.TIMEOUT is control.verdict:
            text = f"the machine is too slow: {who} took too long as well. {control.message}"
            return Outcome(Verdict.HARNESS_ERROR, control.phase, text, outcome.error)
        if control.verdict.is_breach and control.fingerprint(*names) == outcome.fingerprint(*names):
            again = [
                _without_backend(run, cell, function, arguments, stand_in, number)
                for number in range(1, outcome.repeated + 1)
            ]
            if all(each.fingerprint(*names) == outcome.fingerprint(*names) for each in again):
                reason = f"{who} fails here too: {control.message} (with it: {outcome.message})"
                return Outcome(Verdict.NOT_APPLICABLE, control.phase, reason, outcome.error)
    return outcome


def _without_backend(
    run: RunContext,
    cell: Cell,
    function: Callable[..., None],
    arguments: Arguments,
    stand_in: Source | None,
    number: int = 0,
) -> Outcome:
    key = (cell.clause.toolchain, cell.id, stand_in.name if stand_in else "", number)
    if key not in run.controls:
        context = CellContext(run, cell, None, stand_in)
        with comparing({}):
            run.controls[key] = context.attempt(function, arguments(context))
    return run.controls[key]
