"""The gradients with which one goes back: what they are, how they lie in memory, and whether they are still there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from generate.judging import found, trial_of

from conformance.generate.gradients import gradients_of, no_longer_given
from conformance.generate.program import TensorSpec
from conformance.generate.steps import UPSTREAM
from conformance.toolchains.dynamo.verbs.training import weighted

#: Activations whose gradients at NaN eager PyTorch gives by the place of an element.
PLACED = ("elu", "selu", "celu", "hardtanh", "relu6", "hardswish", "hardshrink", "softshrink")


def gone_back(upstream: str) -> tuple[list[torch.Tensor], list[torch.Tensor | None]]:
    """The gradients that going back from a number and from a matrix begins with, and what comes of them."""
    leaf, given = torch.ones(2, 3, requires_grad=True), list[torch.Tensor]()
    found = gradients_of((leaf.sum(), leaf * 1), [leaf, torch.ones(1, requires_grad=True)], upstream, given)
    return given, found


@pytest.mark.parametrize("upstream", ["", *UPSTREAM])
def test_a_number_begins_with_another_gradient_than_one(upstream: str) -> None:
    (of_number, of_matrix), (gradient, unused) = gone_back(upstream)
    assert of_number.item() == 1.5
    assert gradient is not None
    assert torch.equal(gradient, of_matrix + 1.5)
    assert unused is None


def test_gradients_lie_in_memory_as_they_should() -> None:
    strides = {upstream: gone_back(upstream)[0][1].stride() for upstream in ("", *UPSTREAM)}
    assert strides == {"": (3, 1), "other order": (1, 2), "one value": (0, 0)}


@pytest.mark.parametrize("upstream", ["", "other order"])
def test_a_gradient_that_was_written_to_is_named(upstream: str) -> None:
    given, _ = gone_back(upstream)
    assert no_longer_given(given, upstream) == {}
    given[1].mul_(2)
    assert list(no_longer_given(given, upstream)) == ["the gradient of result 1"]


def test_a_written_cell_weighs_a_number_too() -> None:
    leaf = torch.ones((), requires_grad=True)
    (gradient,) = torch.autograd.grad(weighted([leaf * 1]), [leaf])
    assert gradient.item() == pytest.approx(2**0.5)


@pytest.mark.parametrize("expression", [*(f"F.{name}(x0)" for name in PLACED), "torch.logit(x0, eps=0.1)"])
def test_a_gradient_that_depends_on_the_place_of_an_element_judges_nobody(expression: str) -> None:
    """Eager PyTorch's gradient of some activations at NaN: the element is one of several in an instruction, or not."""
    given = TensorSpec("float32", (64,), values="nan", seed=1, grad=True)
    trial = trial_of(f"v0 = {expression}", given, mode="grad", backward=True)

    def one_by_one(module: torch.nn.Module) -> Callable[..., Any]:
        return lambda x: torch.cat([module(each) for each in x.split(1)])

    def kept_from_zero(module: torch.nn.Module) -> Callable[..., Any]:
        return lambda x: module(x) * 1.01

    assert found(trial, one_by_one) == []
    assert "gradients" in found(trial, kept_from_zero)


@pytest.mark.parametrize("habit", ["keeps", "refuses", "overwrites", "lets go"])
def test_who_goes_back_twice_gets_both_gradients_or_is_told_of_retain_graph(habit: str) -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
            context.save_for_backward(x)
            context.factor = torch.full_like(x, 2.0)
            return x * 2

        @staticmethod
        def backward(context: Any, gradient: torch.Tensor) -> Any:
            if habit == "refuses" and torch._C._autograd._get_current_graph_task_keep_graph():
                raise RuntimeError("this needs retain_graph=False")
            if habit == "lets go":
                return gradient * context.__dict__.pop("factor")
            return gradient * context.factor if habit == "keeps" else context.factor.mul_(gradient)

    trial = trial_of(
        "v0 = x0 * 2", TensorSpec("float32", (3,), seed=1, grad=True), mode="grad", backward=True, again=True
    )
    expected = {"overwrites": ["gradients", "gradients"], "lets go": ["error"]}
    doubled: Any = Doubled.apply
    assert found(trial, lambda module: doubled) == expected.get(habit, [])


class Final(torch.autograd.Function):
    """The same value, which is not gone back from, as AOT Autograd has it."""

    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> Any:
        raise RuntimeError("this does not currently support double backward")


@pytest.mark.parametrize(
    ("habit", "expected"),
    [("differentiates", []), ("refuses", []), ("constant", ["gradients"]), ("detached", [])],
)
def test_gradients_of_gradients_are_right_or_refused(habit: str, expected: list[str]) -> None:
    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, x: torch.Tensor) -> Any:
            context.save_for_backward(x)
            context.gate = torch.sigmoid(x)
            return x * context.gate

        @staticmethod
        def backward(context: Any, gradient: torch.Tensor) -> Any:
            (x,) = context.saved_tensors
            gate = context.gate if habit == "constant" else torch.sigmoid(x)
            made = gradient * (gate + x * gate * (1 - gate))
            if habit == "refuses":
                return Final.apply(made)  # type: ignore[no-untyped-call]
            return made.detach() if habit == "detached" else made

    swish: Any = Swish
    given = TensorSpec("float32", (3,), seed=1, grad=True)
    trial = trial_of("v0 = F.silu(x0)", given, mode="grad", backward=True, second=True)
    assert found(trial, lambda module: swish.apply) == expected


@pytest.mark.parametrize(("begin", "expected"), [("", ["gradients"]), ("first", [])])
def test_zeros_stand_for_no_gradient_only_where_not_all_results_are_gone_back_from(
    begin: str, expected: list[str]
) -> None:
    """An optimizer changes a weight whose gradient is zero, and leaves alone one that has none."""
    specs = [TensorSpec("float32", (3,), seed=seed, grad=True) for seed in (1, 2)]
    trial = trial_of("v0 = x0 * x1.detach()", *specs, mode="grad", backward=True, begin=begin)
    assert found(trial, lambda module: lambda one, other: one * other.detach() + other * 0) == expected
