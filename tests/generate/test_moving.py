"""Models that one process lowers for another; the processes are devices that share nothing but this one's memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from conformance.generate.judge import Rules
from conformance.generate.laboratory import Laboratory
from conformance.generate.makers import Shadow
from conformance.generate.moving import lowered_elsewhere
from conformance.generate.places import values_of
from conformance.generate.play import know, play
from conformance.generate.program import Line, Program, TensorSpec
from conformance.generate.serialization import trial_from_bytes
from conformance.generate.steps import ELSEWHERE, Call, Step, Trial

_WEIGHTED = Program(
    (("x", "Tensor"),),
    (Line("mul", "y = x * self.weight"),),
    "y",
    parameters=(("weight", TensorSpec("float32", (3,))),),
)
_CALL = Step("call", call=Call((TensorSpec("float32", (2, 3)),)))
#: The weights change between two models, both of which are lowered elsewhere, and one that is lowered here.
MOVED = Trial(
    (_WEIGHTED,),
    (
        Step("model"),
        Step("lower", 0, ELSEWHERE),
        Step("weights", 0, "in place"),
        Step("lower", 0, ELSEWHERE),
        Step("lower"),
        _CALL,
        Step("call", 1, call=_CALL.call),
        Step("call", 2, call=_CALL.call),
    ),
)


class Mover(Shadow):
    """A process with a backend: what it lowers it keeps, and saves a number by which ``shared`` knows the model.

    Where what is shared is its own, the artifact says nothing to another process.
    """

    def __init__(self, shared: dict[bytes, Callable[..., Any]], refusal: Exception | None = None) -> None:
        super().__init__(copies=True)
        self._shared, self._refusal = shared, refusal
        #: What the first call of each model is made with that was saved.
        self.arguments: list[Any] = []

    def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Callable[..., Any]:
        """A copy, or an error."""
        if self._refusal is not None:
            raise self._refusal
        return super().lower(module, dynamic=dynamic)

    def save(self, lowered: Callable[..., Any], arguments: Sequence[Any] | None) -> bytes:
        """Its number."""
        self.arguments.append(arguments)
        number = str(len(self._shared)).encode()
        self._shared[number] = lowered
        return number

    def load(self, data: bytes, module: torch.nn.Module) -> Callable[..., Any]:
        """What was saved under a number. Raises KeyError."""
        return self._shared[data]


class Device:
    """Answers what a device does, without a process."""

    def __init__(self, maker: Mover) -> None:
        self._maker = maker
        self.verbs: list[str] = []
        self._answer: Any = None

    def start(self) -> None:
        """Nothing has to be started."""

    def end(self) -> None:
        """Nothing has to be ended."""

    def ask(self, verb: str, phase: str, seconds: float, **arguments: Any) -> None:
        self._answer = self.call(verb, phase, seconds, **arguments)

    def answer(self, seconds: float) -> Any:
        return self._answer

    def call(self, verb: str, phase: str, seconds: float, *, trial: bytes, **arguments: Any) -> Any:
        self.verbs.append(verb)
        read = trial_from_bytes(trial)
        if verb == "know":
            return know(read, copies=True, **arguments)
        if verb == "artifacts":
            return lowered_elsewhere(read, self._maker)
        return play(read, self._maker if verb == "play" else Shadow(copies=True), **arguments)


class Talkative(Device):
    """Says what no device of ours says where artifacts are asked for."""

    def call(self, verb: str, phase: str, seconds: float, *, trial: bytes, **arguments: Any) -> Any:
        return {"so": "many"} if verb == "artifacts" else super().call(verb, phase, seconds, trial=trial, **arguments)


def found(*devices: Device, trial: Trial = MOVED) -> list[tuple[str, str]]:
    """What differs with the backend's devices, by its observable and phase: first where it plays, then elsewhere."""
    control = Device(Mover({}))
    laboratory = Laboratory(
        lambda: control,  # type: ignore[arg-type,return-value]
        lambda: devices[0],  # type: ignore[arg-type,return-value]
        lambda: devices[1],  # type: ignore[arg-type,return-value]
        (),
        rules=Rules(),
        seconds=lambda: 60.0,
        timed_out=lambda: None,
    )
    return [(each.observable, each.phase) for each in laboratory.differences(trial)]


def test_a_model_is_lowered_in_one_process_and_called_in_another() -> None:
    shared: dict[bytes, Callable[..., Any]] = {}
    here, elsewhere = Device(Mover(shared)), Device(Mover(shared))
    assert found(here, elsewhere) == []
    assert (here.verbs, elsewhere.verbs) == (["play"], ["artifacts"])
    assert len(shared) == 2


def test_an_artifact_that_leaves_something_in_the_process_is_found() -> None:
    assert ("error", "load") in found(Device(Mover({})), Device(Mover({})))
    here = Trial(MOVED.programs, tuple(Step("lower") if step.detail == ELSEWHERE else step for step in MOVED.steps))
    assert found(Device(Mover({})), trial=here) == []


def test_what_cannot_be_lowered_elsewhere_is_lowered_here() -> None:
    refusal = RuntimeError("no")
    assert ("error", "lower") in found(Device(Mover({}, refusal)), Device(Mover({}, refusal)))


def test_what_cannot_be_saved_elsewhere_is_the_backends_error_and_not_the_harness_s() -> None:
    class Unsaved(Mover):
        def save(self, lowered: Callable[..., Any], arguments: Sequence[Any] | None) -> bytes:
            raise RuntimeError("no")

    assert ("error", "lower") in found(Device(Unsaved({})), Device(Unsaved({})))


def test_artifacts_that_are_none_are_the_backends_error() -> None:
    assert [observable for observable, _ in found(Device(Mover({})), Talkative(Mover({})))] == ["error"]


@pytest.mark.parametrize("seed", [0, 3])
def test_artifacts_are_of_the_weights_that_a_model_had(seed: int) -> None:
    shared: dict[bytes, Callable[..., Any]] = {}
    steps = (Step("model", seed=seed), *MOVED.steps[1:])
    lowered_elsewhere(Trial(MOVED.programs, steps), Mover(shared))
    first, second = (dict(each.named_parameters())["weight"] for each in shared.values())  # type: ignore[attr-defined]
    assert not torch.equal(first, second)


def test_what_lowers_at_a_call_is_told_how_a_model_is_called_first() -> None:
    sizes = ((2, 3), (4, 3))
    calls = [Call((TensorSpec("float32", each),)) for each in sizes]
    steps = (
        Step("model"),
        Step("lower"),
        Step("lower", 0, ELSEWHERE),
        Step("save_load", 0),
        Step("lower", 0, ELSEWHERE),
        Step("lower", 0, ELSEWHERE),
        Step("call", 2, call=calls[0]),
        Step("call", 1, call=calls[1]),
        Step("call", 3, call=calls[0]),
        Step("call", 3, call=calls[1]),
    )
    mover = Mover({})
    assert len(lowered_elsewhere(Trial(MOVED.programs, steps), mover)) == 3
    assert [given and given[0].shape for given in mover.arguments] == [sizes[1], sizes[0], None]


def test_it_is_told_by_the_axis_of_events() -> None:
    assert "event=elsewhere" in values_of(MOVED)
