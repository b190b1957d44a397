"""Samples that a control is asked about when a backend fails at them; the processes are stand-ins."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch
from operators.trying import trial_of

from conformance.api.errors import DeviceTimeout, SubjectError
from conformance.compare.values import encode
from conformance.operators.table import Outcome, Tried
from conformance.operators.together import Draw
from conformance.operators.trial import LEFT

SAMPLE: dict[str, Any] = {
    "program": b"",
    "operators": [],
    "inputs": encode((torch.ones(2),)),
    "expected": encode(torch.ones(2)),
    "exact": None,
    "settled": True,
    "unconfirmed": True,
    "mode": "",
}
RIGHT = {"result": encode(torch.ones(2))}
WRONG = {"result": encode(torch.zeros(2))}


class Processes:
    """Opens devices. A control gives so many samples, and says ``excuse`` of each after so many seconds; a backend
    gives ``results``."""

    def __init__(self, *results: Any, samples: int = 1, excuse: str = "", seconds: float = 0.0) -> None:
        self.results = list(results)
        self.samples = samples
        self.excuse = excuse
        self.seconds = seconds
        self.opened = 0
        self.asked: list[str] = []

    def open(self) -> Any:
        self.opened += 1
        return self

    def end(self) -> None:
        """A device that ends."""

    def call(self, verb: str, **arguments: Any) -> Any:
        self.asked.append(verb)
        if verb == "operators":
            return {"add": ["float32"]}
        if verb in ("varied_samples", "operator_samples"):
            return [SAMPLE] * self.samples
        if verb == "confirm_program":
            time.sleep(self.seconds)
            return self.excuse
        if verb == "lower_program" and isinstance(self.results[0], Exception):
            raise self.results.pop(0)
        return self.results.pop(0) if verb == "run_program" else 1


def outcomes(processes: Processes, *, may_refuse: bool = True) -> Sequence[Tried]:
    """What the samples come to."""
    drawn = trial_of(processes.open, may_refuse=may_refuse).varied([Draw("add", "float32", 0, 1)], modes=[])
    return [each.tried for each in drawn]


def test_what_the_backend_leaves_is_nobodys_and_no_control_is_asked() -> None:
    processes = Processes({"left": True})
    (tried,) = outcomes(processes)
    assert tried.outcome is Outcome.NOT_APPLICABLE
    assert tried.message.startswith(LEFT)
    assert "confirm_program" not in processes.asked


def test_a_control_is_asked_before_a_fresh_process_is_made() -> None:
    excused = Processes(RIGHT, WRONG, samples=2, excuse="PyTorch does no better")
    assert [each.outcome for each in outcomes(excused)] == [Outcome.RIGHT, Outcome.NOT_APPLICABLE]
    assert excused.opened == 2
    charged = Processes(RIGHT, WRONG, WRONG, samples=2)
    assert [each.outcome for each in outcomes(charged)] == [Outcome.RIGHT, Outcome.WRONG]
    assert charged.opened == 3


def test_a_backend_that_chooses_what_it_takes_refuses_nothing() -> None:
    def refusal() -> SubjectError:
        return SubjectError("lower", "NotImplementedError", (), "aten::add is not supported")

    assert outcomes(Processes(refusal()))[0].outcome is Outcome.REFUSED
    assert outcomes(Processes(refusal()), may_refuse=False)[0].outcome is Outcome.FAILED


def test_a_slow_machine_charges_nobody() -> None:
    def hang() -> DeviceTimeout:
        return DeviceTimeout("lower", 1.2)

    (charged,) = outcomes(Processes(hang(), hang()))
    assert charged.outcome is Outcome.TIMEOUT
    (excused,) = outcomes(Processes(hang(), hang(), seconds=0.3))
    assert excused.outcome is Outcome.NOT_APPLICABLE
    assert "lower did not come back within 1.2 s, and PyTorch by itself takes 0.3 s here" in excused.message


def test_the_table_charges_nobody_for_what_pytorch_does_no_better() -> None:
    (excused,) = trial_of(Processes(WRONG, excuse="PyTorch does no better").open).rows("add")
    assert (excused["outcome"], excused["message"]) == ("not_applicable", "PyTorch does no better")
    (charged,) = trial_of(Processes(WRONG).open).rows("add")
    assert charged["outcome"] == "wrong"
