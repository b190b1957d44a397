"""A cell that fails is tried again, and is FLAKY unless it fails in the same way."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from support.descriptions import ANY_BACKEND
from support.project import Run

from conformance.api.errors import (
    ConformanceFailure,
    DeviceBroken,
    DeviceDied,
    DeviceTimeout,
    HarnessError,
    SubjectError,
)
from conformance.api.verdicts import NotApplicable, NotExercised, Outcome, Verdict
from conformance.compare.comparison import Margin
from conformance.contract import Control, SpeaksOf, shipped_clauses
from conformance.devices import Limits, ZygotePool
from conformance.run.cell_context import CellContext
from conformance.run.plan import cells_of
from conformance.run.result import Record, Result
from conformance.run.run_context import RunContext
from conformance.run.running import run_cell

WRONG = ConformanceFailure("expected 1, found 2")
TOO_SLOW = DeviceTimeout("run", 60.0)
ANY_DYNAMO_BACKEND = dataclasses.replace(ANY_BACKEND, toolchain="dynamo")
#: A cell without a case, so that no process makes the samples of one.
CELL = dataclasses.replace(
    cells_of(next(each for each in shipped_clauses() if each.id == "lowering.outputs"), ANY_BACKEND)[0], case=""
)
#: A cell whose failure is charged without asking a control.
UNCONTROLLED = dataclasses.replace(CELL, clause=dataclasses.replace(CELL.clause, control=Control.NONE))


class Script:
    """A clause that ends each time as it was told, and the contexts on which it did. It needs no process."""

    def __init__(self, *endings: Exception | None) -> None:
        self.endings = list(endings)
        self.contexts: list[CellContext] = []

    def run(self, reruns: int) -> Result:
        """The result of the cell."""
        run_context = RunContext(ZygotePool(Limits()), 0, {"none": ANY_BACKEND})
        context = CellContext(run_context, UNCONTROLLED, ANY_BACKEND)
        return run_cell(run_context, context, self._clause, lambda context: {"context": context}, reruns=reruns)

    def _clause(self, context: CellContext) -> None:
        self.contexts.append(context)
        ending = self.endings.pop(0)
        if ending is not None:
            raise ending


def controlled(script: Script, reruns: int = 0) -> Result:
    """The result of a cell that is held against a control."""
    run_context = RunContext(ZygotePool(Limits()), 0, {"none": ANY_BACKEND})
    context = CellContext(run_context, CELL, ANY_BACKEND)
    return run_cell(run_context, context, script._clause, lambda context: {"context": context}, reruns=reruns)


@pytest.mark.parametrize(
    ("control", "verdict"),
    [
        (ConformanceFailure("expected 3, found 4"), Verdict.NOT_APPLICABLE),
        (ConformanceFailure("PyTorch fails otherwise"), Verdict.FAIL),
        (DeviceDied("run", -11), Verdict.FAIL),
        (DeviceTimeout("run", 60.0), Verdict.FAIL),
        (None, Verdict.FAIL),
        (NotExercised("no such target"), Verdict.FAIL),
        (NotApplicable("says nothing without a backend"), Verdict.FAIL),
        (HarnessError("the control could not be started"), Verdict.FAIL),
    ],
)
def test_only_a_control_with_the_same_failure_excuses_one(control: Exception | None, verdict: Verdict) -> None:
    assert controlled(Script(WRONG, control)).outcome.verdict is verdict


def test_a_control_must_fail_as_often() -> None:
    assert controlled(Script(WRONG, WRONG, WRONG, WRONG), reruns=1).outcome.verdict is Verdict.NOT_APPLICABLE
    assert controlled(Script(WRONG, WRONG, WRONG, None), reruns=1).outcome.verdict is Verdict.FAIL


@pytest.mark.parametrize(("control", "verdict"), [(TOO_SLOW, Verdict.HARNESS_ERROR), (None, Verdict.TIMEOUT)])
def test_a_slow_machine_is_no_excuse_and_no_charge(control: Exception | None, verdict: Verdict) -> None:
    assert controlled(Script(TOO_SLOW, control)).outcome.verdict is verdict


@pytest.mark.parametrize(
    ("alone", "verdict"),
    [
        (ConformanceFailure("expected 3, found 4"), Verdict.NOT_APPLICABLE),
        (ConformanceFailure("expected 1, found nothing"), Verdict.FAIL),
        (DeviceDied("run", -11), Verdict.FAIL),
        (SubjectError("", "IndexError", (), "list index out of range"), Verdict.FAIL),
        (None, Verdict.FAIL),
    ],
)
def test_aot_autograd_excuses_only_the_failure_that_it_has_itself(alone: Exception | None, verdict: Verdict) -> None:
    clause = next(each for each in shipped_clauses() if each.control is Control.STAND_INS)
    cell = dataclasses.replace(cells_of(clause, ANY_DYNAMO_BACKEND)[0], case="")
    script = Script(WRONG, None, alone)
    run_context = RunContext(ZygotePool(Limits()), 0, {"none": ANY_DYNAMO_BACKEND})
    context = CellContext(run_context, cell, ANY_DYNAMO_BACKEND)
    outcome = run_cell(run_context, context, script._clause, lambda context: {"context": context}).outcome
    assert outcome.verdict is verdict
    assert not script.endings
    assert ("AOT Autograd without a backend fails here too" in outcome.message) is (verdict is Verdict.NOT_APPLICABLE)


def test_a_failure_that_repeats_is_what_it_is() -> None:
    script = Script(WRONG, ConformanceFailure("expected 3, found 4"), WRONG)
    row = script.run(2).as_row()
    assert (row["verdict"], row["repeated"], row["message"]) == ("FAIL", 2, "expected 1, found 2")
    assert "attempts" not in row
    assert len(set(map(id, script.contexts))) == 3


def test_what_passes_is_not_tried_again() -> None:
    assert Script(None).run(3).outcome.verdict is Verdict.PASS


def test_without_reruns_a_failure_has_not_repeated() -> None:
    row = Script(WRONG).run(0).as_row()
    assert row["verdict"] == "FAIL"
    assert "repeated" not in row


@pytest.mark.parametrize(
    ("second", "verdict", "message"),
    [
        (None, "PASS", ""),
        (DeviceDied("run", -11), "CRASH", "the process killed by SIGSEGV during run"),
        (ConformanceFailure("another complaint"), "FAIL", "another complaint"),
    ],
)
def test_a_failure_that_does_not_repeat_is_flaky(second: Exception | None, verdict: str, message: str) -> None:
    row = Script(WRONG, WRONG, second).run(2).as_row()
    assert row["verdict"] == "FLAKY"
    assert [each["verdict"] for each in row["attempts"]] == ["FAIL", "FAIL", verdict]
    assert row["attempts"][-1]["message"] == message
    assert row["message"].startswith(f"FAIL at first, then FAIL, then {verdict}")
    assert row["fingerprint"] == Script(WRONG).run(0).as_row()["fingerprint"]
    assert Verdict.FLAKY.fails


def test_a_failure_of_the_harness_in_a_rerun_charges_nobody() -> None:
    assert Script(WRONG, HarnessError("no memory")).run(1).outcome.verdict is Verdict.HARNESS_ERROR


def test_hangs_are_confirmed_with_all_of_their_time_until_it_is_known_that_the_backend_hangs() -> None:
    run_context = RunContext(ZygotePool(Limits(seconds=60.0)), 0, {"none": ANY_BACKEND})
    seconds: list[float] = []

    def hang(context: CellContext) -> None:
        seconds.append(run_context.limits(context.cell.backend).seconds)
        raise TOO_SLOW

    for _ in range(4):
        context = CellContext(run_context, UNCONTROLLED, ANY_BACKEND)
        result = run_cell(run_context, context, hang, lambda context: {"context": context}, reruns=1)
        assert (result.outcome.verdict, result.outcome.repeated) == (Verdict.TIMEOUT, 1)
    assert seconds == [60.0] * 6 + [6.0] * 2


@pytest.fixture(scope="session")
def flaky_run(shared_run: Callable[..., Run]) -> Run:
    """A backend that fails in every other process, in one clause, with an update of expectations asked for."""
    options = ("--conformance-expectations=known.toml", "--conformance-update-expectations")
    return shared_run("--backend=wrong_every_other_process", "-k", "test_lowering and test_outputs and add", *options)


@pytest.mark.quick
def test_a_flaky_backend_is_told_from_a_broken_one(flaky_run: Run) -> None:
    report = flaky_run.report("wrong_every_other_process")
    rows = {row["id"]: row for row in report["cells"]}
    row: dict[str, Any] = rows["lowering.outputs[add-full-yes/yes]"]
    assert row["verdict"] == "FLAKY"
    assert [each["verdict"] for each in row["attempts"]] == ["FAIL", "PASS"]
    assert flaky_run.exit_code == 1
    assert "attempt 2: PASS" in flaky_run.output
    assert "attempt 2: PASS" in (flaky_run.report_folder("wrong_every_other_process") / "report.md").read_text()


def test_what_is_flaky_is_named_and_not_recorded(flaky_run: Run) -> None:
    assert "not recorded, since it is flaky: lowering.outputs[add-full-yes/yes]" in flaky_run.output
    assert "[[expect]]" not in (flaky_run.folder / "known.toml").read_text()


def test_what_breaks_the_harness_in_a_process_with_the_backend_alone_is_the_backends() -> None:
    """As a backend does that replaces functions, or leaves its process no memory."""
    result = controlled(Script(DeviceBroken("no len"), None, DeviceBroken("no len")), reruns=1)
    assert result.outcome.verdict is Verdict.FAIL
    assert result.outcome.repeated == 1
    assert result.outcome.message.endswith("with the backend, and can without it: no len")


def test_what_breaks_the_harness_without_the_backend_too_is_the_harnesss() -> None:
    result = controlled(Script(DeviceBroken("no len"), DeviceBroken("no len")), reruns=1)
    assert result.outcome.verdict is Verdict.HARNESS_ERROR


@pytest.mark.parametrize("control", [TOO_SLOW, None])
def test_a_machine_that_is_too_slow_costs_the_backend_no_time(control: Exception | None) -> None:
    """What the control shows too is no timeout of the backend, after many of which its cells would get less."""
    run_context = RunContext(ZygotePool(Limits()), 0, {CELL.backend: ANY_BACKEND})
    full = run_context.limits(CELL.backend)
    for _ in range(4):
        script = Script(TOO_SLOW, control)
        run_context.controls.clear()
        run_cell(
            run_context,
            CellContext(run_context, CELL, ANY_BACKEND),
            script._clause,
            lambda context: {"context": context},
        )
    assert (run_context.limits(CELL.backend) == full) is (control is TOO_SLOW)


def test_the_fingerprint_of_a_cell_that_searches_is_that_of_all_its_findings() -> None:
    """Two that end alike, or whose messages begin alike, are not one failure."""

    def row(*causes: str) -> dict[str, Any]:
        record = Record()
        record.generated = {"findings": [{"verdict": "CRASH", "cause": each} for each in causes]}
        outcome = Outcome(Verdict.CRASH, "run", "the process was killed by SIGSEGV during run")
        return Result(CELL, outcome, {}, record, Margin()).as_row()

    first = row("relu / crash")["fingerprint"]
    assert first == row("relu / crash")["fingerprint"]
    assert first not in (row("tanh / crash")["fingerprint"], row("relu / crash", "tanh / crash")["fingerprint"])


@pytest.mark.parametrize("speaks_of", [SpeaksOf.GENERATED, SpeaksOf.OPERATORS])
def test_what_compares_with_pytorch_by_itself_has_no_control(speaks_of: SpeaksOf) -> None:
    """Its control would be the backend again, and excuse it."""
    cell = dataclasses.replace(CELL, clause=dataclasses.replace(CELL.clause, speaks_of=speaks_of))
    run_context = RunContext(ZygotePool(Limits()), 0, {"none": ANY_BACKEND})
    context, script = CellContext(run_context, cell, ANY_BACKEND), Script(WRONG, WRONG)
    result = run_cell(run_context, context, script._clause, lambda context: {"context": context})
    assert result.outcome.verdict is Verdict.FAIL
    assert script.contexts == [context]
