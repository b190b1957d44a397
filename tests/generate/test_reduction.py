"""Failing trials lose what their failure does not need: largest parts first, in few tries."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from conformance.generate.judge import Divergence
from conformance.generate.program import Line, Method, Program, TensorSpec
from conformance.generate.reduction import reduced
from conformance.generate.steps import Call, Step, Trial

FLOATS = TensorSpec("float32", (3,), "transposed", "nan")
WEIGHT = TensorSpec("float32", (3,), "swapped", "large")
LARGE = Program(
    (("x0", "Tensor"), ("x1", "Tensor"), ("x2", "Tensor")),
    (
        Line("relu", "v0 = torch.relu(x0)"),
        Line("exp", "v1 = torch.exp(x1 * self.p1)"),
        Line("tan", "v2 = torch.tan(v1)"),
        Line("add_", "v2.add_(1)"),
        Line("cos", "v3 = torch.cos(v2)"),
        Line("sin", "v4 = torch.sin(x2 + self.p0 + self.b0)"),
    ),
    "(v4, v3, v0)",
    parameters=(("p0", WEIGHT), ("p1", WEIGHT)),
    buffers=(("b0", WEIGHT),),
    modules=(("m0", "torch.nn.ReLU()"),),
)
OTHER = Program((("x0", "Tensor"),), (Line("abs", "v0 = x0.abs()"),), "v0")
CALL = Call((FLOATS, FLOATS, FLOATS), mode="inference", thread=True, tied=(0, 2, "same"))
STEPS = (
    Step("model", 1),
    Step("model", 0),
    Step("lower", 0),
    Step("lower", 1),
    Step("call", 0, call=Call((FLOATS,))),
    Step("call", 1, call=CALL),
    Step("reset"),
    Step("copy", 1),
    Step("call", 2, call=CALL),
    Step("refill", 2, call=CALL),
    Step("reset"),
)
TRIAL = Trial((LARGE, OTHER), STEPS)


def fails(needs: Callable[[Trial], bool], place: str = "") -> Callable[[Trial], list[Divergence]]:
    """Says that the last call differs, if the trial has what is needed for it."""

    def played(trial: Trial) -> list[Divergence]:
        if not needs(trial):
            return []
        last = max(number for number, step in enumerate(trial.steps) if step.call is not None)
        return [Divergence(last, "values", "otherwise", place=place)]

    return played


def reduce(needs: Callable[[Trial], bool], most: int = 1000, place: str = "") -> Trial:
    played, tries = fails(needs, place), itertools.count()
    smaller, found = reduced(TRIAL, played(TRIAL), played, lambda: next(tries) < most)
    assert found[0].observable == "values"
    assert needs(smaller)
    return smaller


def uses(operator: str) -> Callable[[Trial], bool]:
    return lambda trial: operator in {name for program in trial.programs for name in program.operators}


def test_what_is_left_is_one_model_with_one_statement_and_one_call() -> None:
    smaller = reduce(uses("exp"))
    (program,) = smaller.programs
    assert [line.operator for line in program.lines] == ["exp"]
    assert program.result == "v1"
    assert ([name for name, _ in program.parameters], program.buffers, program.modules) == (["p1"], (), ())
    assert program.arguments == (("x1", "Tensor"),)
    assert [step.action for step in smaller.steps] == ["model", "lower", "copy", "refill"]
    (call,) = smaller.calls
    assert call == Call((TensorSpec("float32", (3,)),))
    assert program.parameters[0][1] == TensorSpec("float32", (3,))


def test_what_the_failure_needs_stays() -> None:
    smaller = reduce(lambda trial: any(step.action == "reset" for step in trial.steps) and uses("sin")(trial))
    assert [step.action for step in smaller.steps] == ["model", "lower", "reset", "copy", "refill"]
    in_a_thread = reduce(lambda trial: trial.calls[-1].thread)
    assert in_a_thread.calls[-1].thread
    laid_out = reduce(lambda trial: any(each.layout == "transposed" for each in trial.calls[-1].tensors))
    assert [each.layout for each in laid_out.calls[-1].tensors] == ["transposed"]
    assert [each.values for each in laid_out.calls[-1].tensors] == ["ordinary"]


def test_few_tries_cut_most() -> None:
    left = [reduce(uses("exp"), most=most, place="result 1") for most in (1, 2, 3, 4, 5)]
    assert [len(trial.steps) for trial in left] == [10, 7, 4, 4, 4]
    assert [sum(len(program.lines) for program in trial.programs) for trial in left] == [7, 6, 6, 4, 1]


def test_nothing_is_made_of_a_trial_of_which_everything_is_needed() -> None:
    assert reduce(lambda trial: trial == TRIAL) == TRIAL


def test_a_second_method_goes_where_it_does_not_matter() -> None:
    second = Method("encode", (Line("abs", "v9 = x0.abs()"),), "v9")
    program = Program((("x0", "Tensor"),), (Line("exp", "v0 = x0.exp()"),), "v0", others=(second,))
    trial = Trial((program,), (Step("model"), Step("lower"), Step("call", call=Call((TensorSpec("float32", (2,)),)))))
    played = fails(uses("exp"))
    assert reduced(trial, played(trial), played, lambda: True)[0].programs[0].others == ()
