"""What a laboratory makes of trials that a backend plays otherwise; its devices play in this process."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch

from conformance.api.errors import DeviceTimeout, HarnessError, SubjectError
from conformance.generate.judge import Rules
from conformance.generate.laboratory import Discarded, Ended, Laboratory, Refused
from conformance.generate.makers import NotLowered, Shadow
from conformance.generate.play import know, play
from conformance.generate.program import Line, Program, TensorSpec
from conformance.generate.serialization import trial_from_bytes
from conformance.generate.steps import Call, Step, Trial


class Device:
    """Answers what the devices of a toolchain do, without a process."""

    def __init__(self, maker: Shadow) -> None:
        self._maker = maker
        self._answer: Any = None
        #: How many computations with noise it was asked for, each time.
        self.noises: list[int] = []
        self.ended = False

    def start(self) -> None:
        """Nothing has to be started."""

    def end(self) -> None:
        self.ended = True

    def ask(self, verb: str, phase: str, seconds: float, **arguments: Any) -> None:
        self._answer = self.call(verb, phase, seconds, **arguments)

    def answer(self, seconds: float) -> Any:
        return self._answer

    def call(self, verb: str, phase: str, seconds: float, *, trial: bytes, **arguments: Any) -> Any:
        if verb == "know":
            self.noises.append(arguments["noises"])
            return know(trial_from_bytes(trial), copies=False, **arguments)
        return play(trial_from_bytes(trial), self._maker if verb == "play" else Shadow(copies=False), **arguments)


class Backend(Shadow):
    """Gives a function for every model, or raises what it is given when it lowers."""

    def __init__(self, function: Callable[..., Any], refusal: Exception | None = None) -> None:
        super().__init__(copies=False)
        self._function, self._refusal = function, refusal

    def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Callable[..., Any]:
        if self._refusal is not None:
            raise self._refusal
        return self._function


def laboratory_of(
    control: Device,
    subject: Device,
    *,
    may_refuse: bool = True,
    alone: Shadow | None = None,
    beside: Device | None = None,
    rules: Rules | None = None,
    timed_out: Callable[[], None] = lambda: None,
) -> Laboratory:
    """A laboratory of two devices; what the toolchain does ``alone``, or the device ``beside``, may excuse."""
    return Laboratory(
        lambda: control,  # type: ignore[arg-type,return-value]
        lambda: subject,  # type: ignore[arg-type,return-value]
        lambda: subject,  # type: ignore[arg-type,return-value]
        [lambda: beside or Device(alone or Shadow(copies=False))],  # type: ignore[list-item,return-value]
        rules=rules or Rules(),
        seconds=lambda: 60.0,
        timed_out=timed_out,
        may_refuse=may_refuse,
    )


def observables(trial: Trial, backend: Backend) -> list[str]:
    """What differs in a trial. Raises what the laboratory does."""
    laboratory = laboratory_of(Device(Shadow(copies=False)), Device(backend))
    return [each.observable for each in laboratory.differences(trial)]


def trial_of(*lines: Line, result: str, backward: bool = False, between: bool = False, fewer: bool = False) -> Trial:
    """A trial of one call of a program of ``x0``, a tensor of six elements."""
    program = Program((("x0", "Tensor"),), lines, result)
    call = Call(
        (TensorSpec("float32", (6,), grad=backward),), mode="grad", backward=backward, between=between, fewer=fewer
    )
    return Trial((program,), (Step("model"), Step("lower"), Step("call", call=call)))


FINE, BAD = Line("add", "v0 = x0 + 1"), Line("reshape", "v1 = x0.reshape(7)")


@pytest.mark.parametrize(
    ("result", "function", "found"),
    [
        ("v0", lambda x: x + 1, []),
        ("v0", lambda x: x + 2, ["values"]),  # the error is excused, and nothing else
        ("v1", lambda x: x, ["error"]),
    ],
    ids=["left out", "left out and wrong", "needed"],
)
def test_dead_code_may_be_left_out_with_its_error(result: str, function: Callable[..., Any], found: list[str]) -> None:
    assert observables(trial_of(FINE, BAD, result=result), Backend(function)) == found


def test_dead_code_may_be_left_out_by_one_call_and_not_by_the_next() -> None:
    trial = trial_of(FINE, BAD, result="v0")
    twice = dataclasses.replace(trial, steps=(*trial.steps, trial.steps[-1]))
    calls: list[torch.Tensor] = []

    def call(x: torch.Tensor) -> torch.Tensor:
        calls.append(x)
        if len(calls) == 2:
            raise RuntimeError("as the program does")
        return x + 1

    assert observables(twice, Backend(call)) == []


def failing(x: torch.Tensor) -> torch.Tensor:
    """What a backend does that finds out too late what it cannot do."""
    raise NotImplementedError("mine has no kernel for aten::add")


def test_an_operator_is_refused_when_a_model_is_lowered() -> None:
    with pytest.raises(Refused, match="aten::add"):
        observables(trial_of(FINE, result="v0"), Backend(failing, RuntimeError("no kernel for aten::add")))
    assert observables(trial_of(FINE, result="v0"), Backend(failing, RuntimeError("no")))[0] == "error"


def test_an_operator_that_was_taken_is_not_refused_by_a_call() -> None:
    assert observables(trial_of(FINE, result="v0"), Backend(failing)) == ["error"]


def test_lowering_that_waits_for_a_call_refuses_as_lowering_does() -> None:
    def lowered_late(x: torch.Tensor) -> torch.Tensor:
        raise NotLowered(NotImplementedError("aten::add is not supported"))

    trial = trial_of(FINE, result="v0")
    with pytest.raises(Refused, match="aten::add"):
        observables(trial, Backend(lowered_late))
    laboratory = laboratory_of(Device(Shadow(copies=False)), Device(Backend(lowered_late)), may_refuse=False)
    (found,) = laboratory.differences(trial)
    assert (found.observable, found.phase) == ("error", "lower")
    assert "NotImplementedError: aten::add is not supported" in found.text


def test_what_is_compiled_for_the_way_back_is_refused_there() -> None:
    with pytest.raises(Refused, match="aten::add"):
        observables(trial_of(FINE, result="v0", backward=True), Backend(failing))


@pytest.mark.parametrize(
    ("off", "noises", "found"),
    [(0.0, [], []), (1e-7, [2], []), (1.0, [2, 12], ["values"])],
    ids=["same bits", "rounding", "wrong"],
)
def test_the_less_differs_the_less_is_computed(off: float, noises: list[int], found: list[str]) -> None:
    control = Device(Shadow(copies=False))
    laboratory = laboratory_of(control, Device(Backend(lambda x: (x + 1) * (1 + off))))
    assert [each.observable for each in laboratory.differences(trial_of(FINE, result="v0"))] == found
    assert control.noises == noises


def test_who_raises_where_the_toolchain_alone_is_wrong_is_not_charged() -> None:
    subject, trial = Device(Backend(failing)), trial_of(FINE, result="v0")
    for wrong in (lambda x: x + 2, lambda x: (x + 1)[:3], lambda x: (x + 1).double()):
        laboratory = laboratory_of(Device(Shadow(copies=False)), subject, alone=Backend(wrong))
        with pytest.raises(Discarded, match="PyTorch's"):
            laboratory.differences(trial)
    laboratory = laboratory_of(Device(Shadow(copies=False)), subject, alone=Backend(lambda x: x + 1))
    assert [each.observable for each in laboratory.differences(trial)] == ["error"]


@pytest.mark.parametrize("computes_gradients", [False, True])
def test_a_delegate_is_excused_by_what_the_toolchain_does_without_gradients(computes_gradients: bool) -> None:
    """What is in a delegate sees arguments that do not require grad (`reports/findings/jit_inference_constants.py`)."""
    trial = trial_of(FINE, result="v0")
    call = dataclasses.replace(trial.calls[0], differentiable=True)
    trial = dataclasses.replace(trial, steps=(*trial.steps[:-1], Step("call", call=call)))
    laboratory = laboratory_of(
        Device(Shadow(copies=False)),
        Device(Backend(lambda x: x.detach() + 2)),
        alone=Backend(lambda x: x + (1 if x.requires_grad else 2)),
        rules=Rules(gradients=computes_gradients),
    )
    if computes_gradients:
        assert "values" in [each.observable for each in laboratory.differences(trial)]
    else:
        with pytest.raises(Discarded, match="PyTorch's"):
            laboratory.differences(trial)


def test_who_is_wrong_where_the_toolchain_alone_raises_is_charged() -> None:
    laboratory = laboratory_of(Device(Shadow(copies=False)), Device(Backend(lambda x: x + 2)), alone=Backend(failing))
    assert [each.observable for each in laboratory.differences(trial_of(FINE, result="v0"))] == ["values"]


@pytest.mark.parametrize(("observable", "three"), [("values", failing), ("dtype", lambda x: x + 1)])
def test_a_call_is_excused_by_what_the_toolchain_alone_shows_in_another(observable: str, three: Any) -> None:
    """Where it raises in one of them; or folds a constant at another time, in what is the default dtype then."""
    trial = trial_of(FINE, result="v0")
    trial = dataclasses.replace(trial, steps=(*trial.steps, Step("call", call=Call((TensorSpec("float32", (3,)),)))))
    wrong: Any = (lambda x: x + 3) if observable == "values" else (lambda x: (x + 1).double())
    alone = Backend(lambda x: wrong(x) if len(x) == 6 else three(x))
    with pytest.raises(Discarded, match="PyTorch's"):
        laboratory_of(Device(Shadow(copies=False)), Device(Backend(wrong)), alone=alone).differences(trial)


class OneTape(torch.autograd.Function):
    """A square whose backward pass knows the latest call alone."""

    latest: torch.Tensor

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        OneTape.latest = x
        return x * x

    @staticmethod
    def backward(ctx: Any, *given: torch.Tensor) -> torch.Tensor:
        return 2 * OneTape.latest * given[0]


@pytest.mark.parametrize(("between", "found"), [(False, []), (True, ["gradients"])])
def test_a_call_in_between_shows_what_is_kept_for_the_way_back(between: bool, found: list[str]) -> None:
    trial = trial_of(Line("mul", "v0 = x0 * x0"), result="v0", backward=True, between=between)
    assert observables(trial, Backend(OneTape.apply)) == found


class OneSize(torch.autograd.Function):
    """The same, of whose gradients as many rows are right as the latest call has."""

    rows: int

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        OneSize.rows = len(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, *given: torch.Tensor) -> torch.Tensor:
        return 2 * given[0] * (torch.arange(len(given[0])) < OneSize.rows)


@pytest.mark.parametrize(("fewer", "found"), [(False, []), (True, ["gradients"])])
def test_a_call_of_fewer_rows_in_between_shows_what_is_known_of_sizes(fewer: bool, found: list[str]) -> None:
    trial = trial_of(Line("mul", "v0 = x0 * 2"), result="v0", backward=True, between=True, fewer=fewer)
    assert observables(trial, Backend(OneSize.apply)) == found


class Interrupted(Device):
    """A device that somebody interrupts while it plays."""

    def call(self, verb: str, phase: str, seconds: float, *, trial: bytes, **arguments: Any) -> Any:
        raise KeyboardInterrupt


def test_an_interruption_leaves_no_answer_for_another_trial() -> None:
    control = Device(Shadow(copies=False))
    with pytest.raises(KeyboardInterrupt):
        laboratory_of(control, Interrupted(Shadow(copies=False))).differences(trial_of(FINE, result="v0"))
    assert control.ended


class Garbled(Device):
    """A device that says what no device of ours says."""

    def call(self, verb: str, phase: str, seconds: float, *, trial: bytes, **arguments: Any) -> Any:
        return {"rows": b"nothing", "failed": {}} if verb == "play" else None


def test_rows_that_cannot_be_read_are_the_backends_error() -> None:
    laboratory = laboratory_of(Device(Shadow(copies=False)), Garbled(Shadow(copies=False)))
    (found,) = laboratory.differences(trial_of(FINE, result="v0"))
    assert (found.observable, "cannot be read" in found.text) == ("error", True)


def test_what_was_wrong_before_an_operator_was_refused_is_found() -> None:
    trial = trial_of(FINE, result="v0")
    later = Call((TensorSpec("float64", (6,)),), mode="grad")
    trial = dataclasses.replace(trial, steps=(*trial.steps, Step("call", call=later)))

    def off(by: float) -> Callable[[torch.Tensor], torch.Tensor]:
        def call(x: torch.Tensor) -> torch.Tensor:
            if x.dtype == torch.float64:
                raise NotLowered(NotImplementedError("aten::add is not supported for float64"))
            return x + by

        return call

    with pytest.raises(Refused, match="aten::add"):
        observables(trial, Backend(off(1.0)))
    assert observables(trial, Backend(off(1.5))) == ["values"]


def test_what_cannot_be_asked_excuses_nothing() -> None:
    class Absent(Device):
        def call(self, verb: str, phase: str, seconds: float, *, trial: bytes, **arguments: Any) -> Any:
            raise SubjectError("register", "ImportError", ("Exception",), "no such library")

    laboratory = laboratory_of(
        Device(Shadow(copies=False)), Device(Backend(lambda x: x + 2)), beside=Absent(Shadow(copies=False))
    )
    with pytest.raises(HarnessError, match=r"could not be asked.*no such library"):
        laboratory.differences(trial_of(FINE, result="v0"))


def test_a_timeout_counts_only_where_nothing_excuses_it() -> None:
    class Slow(Device):
        def call(self, verb: str, phase: str, seconds: float, *, trial: bytes, **arguments: Any) -> Any:
            raise DeviceTimeout("run", seconds=2.0)

    counted: list[None] = []
    slow = Slow(Shadow(copies=False))
    for beside, expected, error in ((slow, 0, Discarded), (Device(Shadow(copies=False)), 1, Ended)):
        laboratory = laboratory_of(
            Device(Shadow(copies=False)), slow, beside=beside, timed_out=lambda: counted.append(None)
        )
        with pytest.raises(error):
            laboratory.differences(trial_of(FINE, result="v0"))
        assert len(counted) == expected


def test_an_excuse_is_one_for_the_same_result() -> None:
    trial = trial_of(FINE, Line("mul", "v1 = x0 * 2"), result="(v0, v1)")
    a_little_off = Backend(lambda x: (x + 1.001, x * 2))
    for function, observables in ((lambda x: (x + 3, x * 2), []), (lambda x: (x + 1, x * 5), ["values"])):
        laboratory = laboratory_of(Device(Shadow(copies=False)), Device(Backend(function)), alone=a_little_off)
        with contextlib.nullcontext() if observables else pytest.raises(Discarded, match="PyTorch's"):
            assert [each.observable for each in laboratory.differences(trial)] == observables


def test_a_step_on_which_64_bits_disagree_judges_nobody_and_others_are_judged() -> None:
    """A float64 argument beside a float32 weight: plain PyTorch raises, and in 64 bits it does not."""
    weight = ("p0", TensorSpec("float32", (6, 6), seed=2))
    program = Program((("x0", "Tensor"),), (Line("matmul", "v0 = x0 @ self.p0"),), "v0", parameters=(weight,))
    calls = [Call((TensorSpec(dtype, (6,), seed=5),)) for dtype in ("float32", "float64")]
    trial = Trial((program,), (Step("model"), Step("lower"), *(Step("call", call=each) for each in calls)))

    class Doubling(Shadow):
        """Twice what plain PyTorch gives."""

        def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Callable[..., Any]:
            return lambda x: module(x) * 2

    laboratory = laboratory_of(Device(Shadow(copies=False)), Device(Doubling(copies=False)))
    assert [(each.step, each.observable) for each in laboratory.differences(trial)] == [(2, "values")]


@pytest.mark.parametrize("limit", [3, 0], ids=["after a few", "always"])
def test_who_refuses_what_it_took_before_is_tried_afresh(limit: int) -> None:
    trial = trial_of(FINE, result="v0")

    class Tired(Shadow):
        """Lowers so many models of a process, and then no more; or none at all."""

        lowered = 0

        def lower(self, module: torch.nn.Module, *, dynamic: bool | None) -> Callable[..., Any]:
            self.lowered += 1
            if self.lowered > limit:
                raise RuntimeError("no handle is left for aten::add")
            return module

    laboratory = Laboratory(
        lambda: Device(Shadow(copies=False)),  # type: ignore[arg-type,return-value]
        lambda: Device(Tired(copies=False)),  # type: ignore[arg-type,return-value]
        lambda: Device(Shadow(copies=False)),  # type: ignore[arg-type,return-value]
        [lambda: Device(Shadow(copies=False))],  # type: ignore[list-item,return-value]
        rules=Rules(),
        seconds=lambda: 60.0,
        timed_out=lambda: None,
    )
    for _ in range(limit):
        assert laboratory.differences(trial) == []
    if not limit:
        with pytest.raises(Refused, match="aten::add"):
            laboratory.differences(trial)
        return
    (found,) = laboratory.differences(trial)
    assert (found.observable, found.phase) == ("error", "lower")
    assert "a fresh process takes all" in found.text
    assert len(laboratory.played) == limit + 1
    assert laboratory.differences(trial) == []
    assert len(laboratory.played) == 1
