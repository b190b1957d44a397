"""What is right, what is wrong, and what judges nobody."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from generate.judging import ADD, FLOAT, Broken, changed, found, rows, trial_of

from conformance.generate.judge import Knowledge, Rules, differences
from conformance.generate.makers import Shadow
from conformance.generate.play import play
from conformance.generate.program import Line, Program, TensorSpec
from conformance.generate.steps import BEYOND, Step
from conformance.toolchains import toolchain_named


def test_plain_pytorch_is_right() -> None:
    assert found(ADD, lambda module: module) == []


@pytest.mark.parametrize(
    ("observable", "change"),
    [
        ("values", lambda result: result * 1.01),
        ("values", lambda result: result.index_fill(0, torch.tensor([4]), 0.0)),
        ("dtype", lambda result: result.double()),
        ("shape", lambda result: result[:4]),
        ("shape", lambda result: (result,)),
        ("strides", lambda result: result.t().contiguous().t()),
        ("requires_grad", lambda result: result.requires_grad_()),
    ],
)
def test_a_changed_result_is_seen(observable: str, change: Callable[[Any], Any]) -> None:
    assert observable in found(ADD, changed(change))


@pytest.mark.parametrize("lay", [lambda data: data.t().contiguous().t(), torch.clone])
def test_an_argument_that_lies_otherwise_afterwards_is_seen(lay: Callable[[torch.Tensor], torch.Tensor]) -> None:
    def around(module: torch.nn.Module) -> Callable[..., Any]:
        def call(x: torch.Tensor) -> Any:
            result = module(x)
            x.data = lay(x.data)
            return result

        return call

    assert found(ADD, around) == ["writes"]


def test_what_becomes_of_an_argument_beside_its_values_is_seen() -> None:
    def around(change: Callable[[torch.Tensor], Any]) -> Callable[[torch.nn.Module], Callable[..., Any]]:
        return lambda module: lambda x: (module(x), change(x))[0]

    assert found(ADD, around(lambda x: x.requires_grad_())) == ["writes"]
    assert found(ADD, around(lambda x: setattr(x, "grad", torch.ones_like(x)))) == ["writes"]


def test_a_gradient_fewer_is_a_difference() -> None:
    weight = dataclasses.replace(FLOAT, grad=True)
    program = Program((("x0", "Tensor"),), (Line("mul", "v0 = x0 * self.w0"),), "v0", parameters=(("w0", weight),))
    trial = dataclasses.replace(trial_of("", FLOAT, calls=2, mode="grad", backward=True), programs=(program,))

    def around(module: torch.nn.Module) -> Callable[..., Any]:
        def call(x: torch.Tensor) -> Any:
            result = module(x)
            module.get_parameter("w0").requires_grad_(False)
            return result

        return call

    assert found(trial, lambda module: module) == []
    assert "gradients" in found(trial, around)


def test_random_results_of_other_sizes_are_told_apart() -> None:
    trial = trial_of("v0 = (torch.rand(64), torch.rand(64))", FLOAT, marks=("random",))
    assert found(trial, changed(lambda result: (result[0], result[1][:63]))) == ["shape"]
    trial = trial_of("v0 = (torch.rand(64) * float('nan'), torch.rand(64) * float('nan'))", FLOAT, marks=("random",))
    assert found(trial, lambda module: module) == []


def test_a_well_formed_call_may_not_be_refused() -> None:
    trial = trial_of("v0 = x0 * 2", TensorSpec("int64", (3,)))
    call = trial.calls[0]

    def around(module: torch.nn.Module) -> Callable[..., Any]:
        def only_small(x: Any) -> Any:
            if not isinstance(x, torch.Tensor) or x.abs().max() > 2**16:
                raise RuntimeError("no")
            return module(x)

        return only_small

    for detail, expected in (("None", []), (BEYOND, ["error"])):
        failing = dataclasses.replace(trial, steps=(*trial.steps, Step("fail", 0, detail, call=call)))
        assert found(failing, around, Rules(signatures=True))[:1] == expected


def test_strides_that_nobody_promises_judge_nobody() -> None:
    transposed = changed(lambda result: result.t().contiguous().t())
    assert found(ADD, transposed, Rules(strides=True)) == ["strides"]
    assert found(ADD, transposed, Rules(strides=False)) == []


def test_a_zero_of_the_other_sign_is_seen() -> None:
    trial = trial_of("v0 = x0 * 1.0", TensorSpec("float32", (8,), values="minus_zero"))
    assert found(trial, changed(lambda result: result + 0.0)) == ["values"]


def test_what_rounding_decides_judges_nobody() -> None:
    # 0.1 + 0.2 against 0.3: which of the two is the larger is for rounding to say
    trial = trial_of("v0 = (x0 * 0.1 + x0 * 0.2) > x0 * 0.3", TensorSpec("float32", (9,), values="positive"))
    assert found(trial, changed(torch.logical_not)) == []


def test_what_is_exact_is_judged_at_a_tie() -> None:
    trial = trial_of("v0 = torch.argmax(x0, dim=0)", TensorSpec("float32", (6, 2), values="repeated"))
    assert found(trial, changed(lambda result: result + 1)) == ["values"]


def test_a_sum_that_cancels_may_be_as_wrong_as_float32_is() -> None:
    trial = trial_of("v0 = (x0 * 1000.1 - x0 * 1000.0) / 0.1", FLOAT)
    assert found(trial, changed(lambda result: result * 1.0001)) == []
    assert found(trial, changed(lambda result: result * 1.5)) == ["values"]


LARGE = TensorSpec("float32", (4,), values="extremes", seed=1)


@pytest.mark.parametrize(("operator", "observables"), [("std", []), ("amax", ["values"])])
def test_a_square_may_overflow_and_nothing_else(operator: str, observables: list[str]) -> None:
    program = Program((("x0", "Tensor"),), (Line(operator, f"v0 = torch.{operator}(x0, 0) * 0.5"),), "v0")
    trial = dataclasses.replace(trial_of("", LARGE), programs=(program,))
    assert found(trial, changed(lambda result: torch.full_like(result, float("inf")))) == observables


def test_float64_is_not_computed_in_float32() -> None:
    trial = trial_of("v0 = x0 * 1.1", dataclasses.replace(FLOAT, dtype="float64"))
    assert found(trial, changed(lambda result: result.float().double())) == ["values"]


def test_gradients_are_compared() -> None:
    trial = trial_of("v0 = x0 * x0", dataclasses.replace(FLOAT, grad=True), mode="grad", backward=True)
    assert found(trial, lambda module: module) == []
    assert "gradients" in found(trial, lambda module: lambda x: module(x * 1.5) / 2.25 + x - x.detach())
    assert "requires_grad" in found(trial, lambda module: lambda x: module(x.detach()))


def test_an_error_that_is_swallowed_and_one_that_is_made_are_seen() -> None:
    raising = trial_of("v0 = x0[x1]", FLOAT, TensorSpec("int64", (3,), values="large"))

    def around(module: torch.nn.Module) -> Callable[..., Any]:
        return lambda *arguments: torch.zeros(3, 3)

    assert found(raising, around) == ["error"]
    assert found(raising, lambda module: module) == []

    def refuse(*arguments: Any) -> Any:
        raise RuntimeError("no")

    assert found(ADD, lambda module: refuse) == ["error"]


def test_an_error_is_told_without_what_torchscript_adds_around_it() -> None:
    def refuse(*arguments: Any) -> Any:
        raise RuntimeError(
            "The following operation failed in the TorchScript interpreter.\n"
            "Traceback of TorchScript, serialized code (most recent call last):\n"
            '  File "code/__torch__/it.py", line 4, in forward\n    return (x).add(y, )\n'
            "            ~~~~~~~ <--- HERE\nRuntimeError: no kernel for it\n"
        )

    eager = rows(ADD, play(ADD, Shadow(copies=False)))
    actual = rows(ADD, play(ADD, Broken(lambda module: refuse)))
    rules = Rules(gist=toolchain_named("torchscript").gist)
    (told,) = differences(ADD, Knowledge(eager), actual, rules)
    assert told.text == "step 3 (call): RuntimeError: no kernel for it"


def test_random_numbers_that_repeat_are_seen() -> None:
    trial = trial_of("v0 = torch.rand_like(x0)", dataclasses.replace(FLOAT, shape=(40, 3)), calls=2, marks=("random",))
    eager = rows(trial, play(trial, Shadow(copies=False)))
    fixed = torch.rand(40, 3)
    actual = rows(trial, play(trial, Broken(changed(lambda result: fixed.clone()))))
    assert [each.observable for each in differences(trial, Knowledge(eager), actual, Rules())] == ["random state"]


def test_masks_of_two_calls_may_be_the_same_by_accident() -> None:
    trial = trial_of("v0 = torch.rand_like(x0) > 0.5", FLOAT, calls=2, marks=("random",))
    eager = rows(trial, play(trial, Shadow(copies=False)))
    fixed = torch.ones(5, 3, dtype=torch.bool)
    actual = rows(trial, play(trial, Broken(changed(lambda result: fixed.clone()))))
    assert differences(trial, Knowledge(eager), actual, Rules()) == []


def test_modes_and_functions_that_change_are_seen() -> None:
    def around(module: torch.nn.Module) -> Callable[..., Any]:
        def call(x: torch.Tensor) -> Any:
            torch.set_anomaly_enabled(True)
            return module(x)

        return call

    try:
        assert "process state" in found(dataclasses.replace(ADD), around)
    finally:
        torch.set_anomaly_enabled(False)


@pytest.mark.parametrize(
    ("name", "before", "seen"),
    [("_COMPILER_STATE", None, []), ("_COMPILER_STATE", "1", ["process state"]), ("LD_ONE", None, ["process state"])],
    ids=["new, its maker's own", "another value", "read by others"],
)
def test_a_variable_of_the_environment_that_a_trial_leaves(
    monkeypatch: pytest.MonkeyPatch, name: str, before: str | None, seen: list[str]
) -> None:
    def around(module: torch.nn.Module) -> Callable[..., Any]:
        def call(x: torch.Tensor) -> Any:
            monkeypatch.setenv(name, "2")
            return module(x)

        return call

    if before is not None:
        monkeypatch.setenv(name, before)
    assert found(ADD, around) == seen


class _ReusesGradient(torch.autograd.Function):
    """Doubles, and in the backward pass computes in the memory of the gradient that it is given."""

    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> torch.Tensor:
        return gradients[0].mul_(2)


def test_a_gradient_that_is_given_is_left_alone() -> None:
    trial = trial_of("v0 = x0 * 2", dataclasses.replace(FLOAT, grad=True), mode="grad", backward=True)
    assert found(trial, lambda module: module) == []
    assert found(trial, lambda module: _ReusesGradient.apply) == ["writes"]


class _KeepsABucket(torch.autograd.Function):
    """Doubles; all gradients are given out in one memory, as those that are sent together are."""

    bucket = torch.empty(64)

    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(context: Any, *gradients: torch.Tensor) -> torch.Tensor:
        (upstream,) = gradients
        return _KeepsABucket.bucket[: upstream.numel()].view(upstream.shape).copy_(upstream * 2)


def test_a_gradient_outlives_the_next_backward_pass() -> None:
    trial = trial_of("v0 = x0 * 2", dataclasses.replace(FLOAT, grad=True), mode="grad", backward=True)
    (first,) = trial.calls
    other = dataclasses.replace(first, upstream="one value")
    twice = dataclasses.replace(trial, steps=(*trial.steps, Step("call", call=other)))
    assert found(twice, lambda module: module) == []
    assert sorted(found(twice, lambda module: _KeepsABucket.apply)) == ["aliases", "values"]
    assert found(trial, lambda module: _KeepsABucket.apply) == []


def test_two_draws_of_one_call_are_two() -> None:
    text = "v0 = x0 + torch.rand_like(x0)\nv1 = x0 + torch.rand_like(x0)"
    large = dataclasses.replace(FLOAT, shape=(40, 3))
    trial = trial_of(text, large, result="(v0, v1)", marks=("random",))
    assert found(trial, lambda module: module) == []

    def once(module: torch.nn.Module) -> Callable[..., Any]:
        def call(x: torch.Tensor) -> Any:
            first, _ = module(x)
            return first, first.clone()

        return call

    assert found(trial, once) == ["random state"]


def test_two_masks_may_be_the_same_by_accident() -> None:
    text = "v0 = torch.nn.functional.dropout(x0, 0.5)\nv1 = torch.nn.functional.dropout(x0, 0.5)"
    sparse = dataclasses.replace(FLOAT, shape=(40, 3), values="one_nonzero")
    trial = trial_of(text, sparse, result="(v0, v1)", marks=("random",))
    assert found(trial, lambda module: lambda x: (x * 2, x * 2)) == []


@pytest.mark.parametrize("text", ["v0 = x0.clamp(0, 100)", "v0 = x0 % 2.0", "v0 = F.layer_norm(x0, (8,))"])
def test_zeros_whose_sign_nobody_says_judge_nobody(text: str) -> None:
    trial = trial_of(text, TensorSpec("float32", (8,), values="zeros"))
    assert found(trial, changed(lambda result: -result)) == []


def test_an_overflow_on_the_way_of_a_sum_judges_nobody() -> None:
    overflowing = changed(lambda result: result * float("nan"))
    for values, observables in (("extremes", []), ("ordinary", ["values"]), ("large", ["values"])):
        trial = trial_of("v0 = x0.mean()", TensorSpec("float32", (9,), values=values))
        assert found(trial, overflowing) == observables
    for text in ("v0 = x0 * 0.25", "v0 = x0.amax() * 0.25", "v0 = x0 * 3.0"):
        assert found(trial_of(text, TensorSpec("float32", (9,), values="extremes")), overflowing) == ["values"]
    beyond = trial_of("v0 = x0.abs().sum()", TensorSpec("float32", (9,), values="extremes"))
    assert found(beyond, overflowing) == []
    assert found(beyond, changed(torch.zeros_like)) == ["values"]


@pytest.mark.parametrize(
    ("text", "spec"), [("v0 = x0.frac()", "int32"), ("v0 = x0.argmax()", "bool"), ("v0 = torch.relu(x0)", "bool")]
)
def test_who_has_a_kernel_that_eager_pytorch_lacks_is_right(text: str, spec: str) -> None:
    trial = trial_of(text, TensorSpec(spec, (3,)))
    assert found(trial, lambda module: lambda x: x + 1) == []

    def disturbing(x: torch.Tensor) -> torch.Tensor:
        sys.setrecursionlimit(sys.getrecursionlimit() - 1)
        return x + 1

    before = sys.getrecursionlimit()
    try:
        assert found(trial, lambda module: disturbing) == ["process state"]
    finally:
        sys.setrecursionlimit(before)


def test_who_has_more_memory_under_a_view_is_right() -> None:
    trial = trial_of("v0 = torch.as_strided(x0 + 1, (2, 2), (1, 1))", TensorSpec("float32", (2,)))
    assert found(trial, lambda module: lambda x: torch.ones(2, 2)) == []


@pytest.mark.parametrize(
    ("refused", "signatures", "observables"),
    [(type(None), True, []), (type(None), False, ["error"]), (torch.Tensor, True, ["error"] * 3)],
)
def test_who_refuses_what_a_signature_does_not_take_is_right(
    refused: type, signatures: bool, observables: list[str]
) -> None:
    trial = trial_of("v0 = x1 + 1", *[TensorSpec("float32", (2,))] * 2, result="(v0, x0)", calls=2)
    wrong = dataclasses.replace(trial.steps[-1], action="fail", detail="None")
    trial = dataclasses.replace(trial, steps=(*trial.steps, wrong, trial.steps[-1]))

    def strict(module: torch.nn.Module) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            assert not isinstance(arguments[0], refused)
            return module(*arguments)

        return call

    assert found(trial, strict, Rules(signatures=signatures)) == observables


def test_who_does_not_raise_what_depends_on_values_is_wrong() -> None:
    trial = trial_of("v0 = F.embedding(x0 + 9, torch.ones(2, 2))", TensorSpec("int64", (3,)))
    assert found(trial, lambda module: lambda x: torch.ones(3, 2)) == ["error"]


@pytest.mark.parametrize(("limit", "observables"), [(500, []), (-500, ["process state"])])
def test_deeper_recursion_harms_nobody(limit: int, observables: list[str]) -> None:
    before = sys.getrecursionlimit()

    def deeper(result: Any) -> Any:
        sys.setrecursionlimit(before + limit)
        return result

    try:
        assert found(ADD, changed(deeper)) == observables
    finally:
        sys.setrecursionlimit(before)
