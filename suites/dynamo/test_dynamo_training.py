"""Training: gradients, and what they go to, are those of eager PyTorch."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from conformance import features
from conformance.api.assertions import check
from conformance.api.errors import SubjectError
from conformance.api.verdicts import NotApplicable
from conformance.compare.assertions import assert_close
from conformance.contract import Control, Level, clauses
from conformance.discovery.describing import Description
from conformance.run.result import Record
from conformance.toolchains.dynamo.assertions import assert_counts, assert_nothing_piles_up
from conformance.toolchains.dynamo.client import DynamoDevice, PreparedCase
from conformance.toolchains.dynamo.promises import AUTOGRAD, BACKWARD, DECLARED, DROPOUT, DROPPED, NO_GRAD
from conformance.toolchains.dynamo.training import (
    assert_dropped_alike,
    assert_share_dropped,
    assert_trained_alike,
    assert_training_refused,
)

clause = clauses(source=AUTOGRAD, level=Level.CORE, needs=(features.training,))


@clause(
    "training.gradients",
    cases=(
        "chain",
        "float64",
        "steep",
        "matmul",
        "reductions",
        "softmax",
        "several_outputs",
        "views",
        "odd_strides",
        "trained",
        "convolved",
    ),
)
def test_gradients(
    host: DynamoDevice,
    bare: DynamoDevice,
    case: PreparedCase,
    backend: Description,
    other_cases: Callable[..., tuple[PreparedCase, ...]],
) -> None:
    """The gradients of inputs and parameters are those of eager PyTorch, and so are results that are gone back from."""
    for each in (
        other_cases("root_where_there_is_one", "rare_words", "nearest_neighbours") if case.name == "steep" else ()
    ):
        compiled, original = host.compile(each), bare.build(each)
        for call in each.calls:
            found, expected = host.differentiate(compiled, call.inputs), bare.differentiate(original, call.inputs)
            assert_trained_alike(found, expected, each.name)
    lowered, original = host.lower(case), bare.build(case)
    for call in case.calls:
        found, expected = host.differentiate(lowered, call.inputs), bare.differentiate(original, call.inputs)
        assert_trained_alike(found, expected, case.name)
        modified = f"{case.name}, modified in place between forward and backward"
        try:
            late = host.differentiate(lowered, call.inputs, written=True)
        except SubjectError as error:
            check("modified by an inplace operation" in error.text, f"{modified}: {error}")
        else:
            assert_close(late.gradients, expected.gradients, f"{modified}: the gradients")
    assert_counts(host.counts(lowered), case.name, least_runs=len(case.calls))
    for sizes in other_cases("sizes") if case.name == "reductions" and backend.has(features.dynamic_shapes) else ():
        together = host.differentiate_together(host.compile(sizes, dynamic=True), sizes.calls)
        due = bare.differentiate_together(bare.build(sizes), sizes.calls)
        assert_close(together, due, "sizes: the gradients of a sum over calls of several sizes")


@clause("training.requires-grad", cases=("chain", "several_outputs", "partly_differentiable"))
def test_requires_grad(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """An output requires grad exactly where it does in eager PyTorch, whichever of the inputs require it; and gradients
    go to those inputs alone."""
    compiled, original = host.compile(case), bare.build(case)
    for wanted in itertools.product((True, False), repeat=2):
        found, expected = (
            device.differentiate(model, case.call.inputs, wanted)
            for device, model in ((host, compiled), (bare, original))
        )
        assert_trained_alike(found, expected, f"{case.name}, arguments that require grad: {wanted}")


@clause("training.non-leaf-inputs", cases=("chain", "matmul"))
def test_non_leaf_inputs(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """Gradients go through inputs that are results of a computation, to what that began with."""
    lowered, original = host.lower(case, arranged="derived"), bare.build(case)
    for call in case.calls:
        found = host.differentiate(lowered, call.inputs, derived=True)
        assert_trained_alike(found, bare.differentiate(original, call.inputs, derived=True), case.name)


@clause("training.inner-no-grad", source=(NO_GRAD, AUTOGRAD), cases=("inner_no_grad",))
def test_inner_no_grad(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """What a model computes under no_grad requires no grad, and no gradient goes through it."""
    lowered, original = host.lower(case), bare.build(case)
    for call in case.calls:
        found = host.differentiate(lowered, call.inputs)
        assert_trained_alike(found, bare.differentiate(original, call.inputs), case.name)


@clause("training.steps", cases=("trained", "convolved"))
def test_steps(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """Steps of gradient descent come to the losses and the parameters of eager PyTorch; frozen parameters stay."""
    compiled, original = host.compile(case), bare.build(case)
    losses, parameters = host.train(compiled, case.calls)
    expected_losses, expected_parameters = bare.train(original, case.calls)
    assert_close(losses, expected_losses, f"{case.name}: the losses")
    assert_close(parameters, expected_parameters, f"{case.name}: the parameters after {len(losses)} steps")
    assert_counts(host.counts(compiled), case.name, least_runs=len(losses))


@clause("training.backward-again", source=BACKWARD, level=Level.COMPLETE, cases=("chain", "matmul"))
def test_backward_again(
    host: DynamoDevice,
    bare: DynamoDevice,
    case: PreparedCase,
    backend: Description,
    other_cases: Callable[..., tuple[PreparedCase, ...]],
    record: Record,
) -> None:
    """With retain_graph one may go back several times, with the same gradients each time; or an error names that."""
    for each in (case, *other_cases("activated")):
        try:
            found = host.differentiate(host.compile(each), each.call.inputs, often=3)
        except SubjectError as error:
            check("retain_graph" in error.text, f"expected an error that speaks of retain_graph, found {error}")
            record.note(f"Going back again is refused: {error.text.strip().splitlines()[0]:.200}")
            continue
        expected = bare.differentiate(bare.build(each), each.call.inputs, often=3)
        assert_trained_alike(found, expected, f"{each.name}, gone back three times")


@clause(
    "training.double-backward",
    source=BACKWARD,
    level=Level.COMPLETE,
    cases=("chain", "matmul"),
    control=Control.STAND_INS,
)
def test_double_backward(
    backend: Description,
    host: DynamoDevice,
    bare: DynamoDevice,
    case: PreparedCase,
    other_cases: Callable[..., tuple[PreparedCase, ...]],
    record: Record,
) -> None:
    """Gradients of gradients are right, or refused with an error; they are never wrong, and never silently missing."""
    for each in (case, *other_cases("activated")):
        try:
            found = host.differentiate_twice(host.compile(each), each.call.inputs)
        except SubjectError as error:
            check("backward" in error.text, f"expected an error that speaks of double backward, found {error}")
            record.note(f"Double backward is refused: {error.text.strip().splitlines()[0]:.200}")
            continue
        expected = bare.differentiate_twice(bare.build(each), each.call.inputs)
        assert_close(found, expected, f"{each.name}: gradients of gradients")


@clause("training.dropout", source=(AUTOGRAD, DROPOUT), level=Level.COMPLETE, cases=("dropout",))
def test_dropout(
    host: DynamoDevice,
    bare: DynamoDevice,
    case: PreparedCase,
    other_cases: Callable[..., tuple[PreparedCase, ...]],
) -> None:
    """What is dropped on the way forward is dropped on the way back, and about as much as was asked for."""
    for each in (case, *other_cases("dropped_by_hand")):
        compiled, original = host.compile(each), bare.build(each)
        for call in each.calls:
            found, expected = host.differentiate(compiled, call.inputs), bare.differentiate(original, call.inputs)
            assert_dropped_alike(found, expected, 0.25, each.name)
    for each in other_cases("dropped_zeros"):
        assert_share_dropped(host.differentiate(host.compile(each), each.call.inputs), 0.25, each.name)


@clause("training.nothing-retained", source=DROPPED, level=Level.COMPLETE, cases=("chain", "matmul"))
def test_training_retains_nothing(host: DynamoDevice, case: PreparedCase, record: Record) -> None:
    """Training piles nothing up: when many calls were made and gone back from, hardly more of their inputs, results and
    gradients is in memory than after a few. What is kept for the next call, or of what was lowered for, is reported."""
    assert_nothing_piles_up(host, host.compile(case), case, record, differentiable=True)


@clause("training.refusal", source=(DECLARED, AUTOGRAD), cases=("chain",), control=Control.NONE, needs=())
def test_training_refused(
    host: DynamoDevice,
    bare: DynamoDevice,
    case: PreparedCase,
    backend: Description,
    other_cases: Callable[..., tuple[PreparedCase, ...]],
) -> None:
    """A backend that declares no training refuses inputs and parameters that require grad by BackendCompilerFailed with
    its name, or refuses to go back; its results never just require no grad, which leaves them out of a larger loss
    unseen."""
    if backend.has(features.training):
        raise NotApplicable("the backend declares training: training.gradients holds it to that")
    for tried, wanted in ((case, (True, True)), *((each, (False, False)) for each in other_cases("weighted"))):
        assert_training_refused(host, bare, tried, backend.name, wanted)
