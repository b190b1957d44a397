"""The modes in which a compiled model is called: what holds in eager PyTorch holds for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import torch

from conformance import features
from conformance.api.assertions import check
from conformance.api.availability import Availability
from conformance.api.errors import SubjectError
from conformance.api.verdicts import NotExercised
from conformance.compare.assertions import assert_close, assert_equal
from conformance.contract import Control, Level, clauses
from conformance.discovery.describing import Description
from conformance.run.cell_context import CellContext
from conformance.run.result import Record
from conformance.toolchains.assertions import assert_pytorch_unchanged
from conformance.toolchains.dynamo.assertions import (
    assert_counts,
    assert_nothing_piles_up,
    assert_right_in_threads,
    assert_same_call,
    assert_same_surroundings,
    assert_same_under,
    assert_same_without_options,
    is_repeated,
)
from conformance.toolchains.dynamo.client import DynamoDevice, PreparedCase
from conformance.toolchains.dynamo.promises import (
    AMP,
    AUTOGRAD,
    CACHED,
    DROPOUT,
    DROPPED,
    EQUIVALENT,
    GENERATOR_STATE,
    GIVEN_MODEL,
    INFERENCE_MODE,
    NO_GRAD,
    OPTIONS,
    SEEDS,
)
from conformance.toolchains.dynamo.refusals import assert_taken_or_refused
from conformance.toolchains.dynamo.training import assert_drawn_anew, assert_trained_alike

GUARDS = ("none", "no_grad", "inference_mode")
READING = ("repeats_outputs", "returns_views", "strided_result", "odd_strides", "network")
WRITING = ("writes_and_returns", "writes_view", "writes_slice", "writes_buffer", "normalised")
#: The source of clauses about which the documentation says nothing, and which are therefore reported.
NOT_SAID = "https://docs.pytorch.org/docs/2.13/generated/torch.compile.html, which says nothing of it"
#: The name of an option and a mode that no backend can know.
UNKNOWN = "no_such_thing_of_conformance"

clause = clauses(source=EQUIVALENT, level=Level.COMPLETE)


@clause("modes.nothing-retained", source=DROPPED, level=Level.CORE, cases=("chain", "several_outputs"))
def test_nothing_is_retained(host: DynamoDevice, case: PreparedCase, record: Record) -> None:
    """Calls pile nothing up: when many were made, hardly more of their inputs and results is in memory than after a
    few. What is kept for the next call, or of what was lowered for, is reported."""
    assert_nothing_piles_up(host, host.compile(case), case, record)


@clause(
    "modes.no-grad",
    source=(NO_GRAD, INFERENCE_MODE),
    level=Level.CORE,
    cases=("chain", "parameters", "several_outputs"),
)
def test_no_grad(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """Under no_grad and inference_mode the results are right, in whatever order the modes come, and none of them
    requires grad, not even where the inputs do."""
    compiled, original = host.compile(case), bare.build(case)
    for guard in ("no_grad", "inference_mode", "none", "inference_mode", "no_grad"):
        for call in case.calls:
            seen, expected = (
                device.run(model, call.inputs, guard=guard, differentiable=guard != "none")
                for device, model in ((host, compiled), (bare, original))
            )
            where = f"{case.name} under {guard}"
            assert_same_call(seen, expected, where)
            check(guard == "none" or not any(seen.requires_grad), f"{where}: results require grad: {seen.traits}")
    assert_counts(host.counts(compiled), case.name, least_runs=5 * len(case.calls))


@clause("modes.no-grad-outputs", source=(NO_GRAD, EQUIVALENT), level=Level.CORE, cases=READING)
def test_no_grad_outputs(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """Under no_grad, where compilers take another path, everything about a call is as in eager PyTorch: values,
    strides, which results are one object, an argument or a weight, and which share memory; whether or not the inputs
    require grad, at the first call and later."""
    assert_same_under("no_grad", host, bare, case)


@clause(
    "modes.no-grad-mutation", source=(NO_GRAD, EQUIVALENT), level=Level.CORE, cases=WRITING, control=Control.STAND_INS
)
def test_no_grad_mutation(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """Under no_grad a model writes what it writes in eager PyTorch: to arguments, to parts of them and to buffers, with
    their version counters."""
    assert_same_under("no_grad", host, bare, case)


@clause("modes.inference-outputs", source=(INFERENCE_MODE, EQUIVALENT), level=Level.CORE, cases=READING)
def test_inference_outputs(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """Under inference_mode everything about a call is as in eager PyTorch, as under no_grad; and what it makes are
    inference tensors, where in eager PyTorch they are."""
    assert_same_under("inference_mode", host, bare, case)


@clause(
    "modes.inference-mutation",
    source=(INFERENCE_MODE, EQUIVALENT),
    level=Level.CORE,
    cases=WRITING,
    control=Control.STAND_INS,
)
def test_inference_mutation(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """Under inference_mode a model writes what it writes in eager PyTorch, as under no_grad."""
    assert_same_under("inference_mode", host, bare, case)


@clause(
    "modes.no-grad-then-training",
    source=AUTOGRAD,
    level=Level.CORE,
    cases=("chain", "trained"),
    needs=(features.training,),
)
def test_no_grad_then_training(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """What was lowered for under no_grad or inference_mode is lowered for again where gradients are wanted."""
    original = bare.build(case)
    for guard in GUARDS[1:]:
        compiled = host.compile(case)
        result = host.run(compiled, case.call.inputs, guard=guard).result
        assert_close(result, case.call.expected, f"{case.name} under {guard}")
        found = host.differentiate(compiled, case.call.inputs)
        expected = bare.differentiate(original, case.call.inputs)
        assert_trained_alike(found, expected, f"{case.name}, called under {guard} before")


@clause(
    "modes.autocast",
    source=AMP,
    cases=("products",),
    needs=(features.half_precision,),
)
def test_autocast(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """Under autocast the results have the dtype and, within that dtype's precision, the values of eager PyTorch under
    autocast; and without it they are as before."""
    compiled, original = host.compile(case), bare.build(case)
    for guard in ("none", "autocast", "autocast float16", "none", "autocast"):
        expected = bare.run(original, case.call.inputs, guard=guard)
        assert_same_call(host.run(compiled, case.call.inputs, guard=guard), expected, f"{case.name} under {guard}")


@clause("modes.lowering-leaves-no-trace", source=GIVEN_MODEL, level=Level.CORE, cases=("chain", "matmul"))
def test_lowering_leaves_no_trace(host: DynamoDevice, case: PreparedCase, record: Record) -> None:
    """Lowering changes nothing that others in the process rely on: random state, modes, defaults, precision, threads,
    environment; in its own thread and in new ones. A new variable of the environment that nobody else reads is
    reported."""
    before = {thread: host.surroundings(thread) for thread in ("this", "new")}
    host.lower(case)
    for thread, expected in before.items():
        assert_same_surroundings(
            host.surroundings(thread, after="lower"), expected, f"{thread} thread after lowering {case.name}", record
        )


@clause("modes.running-leaves-no-trace", source=GIVEN_MODEL, level=Level.CORE, cases=("chain", "matmul", "large"))
def test_running_leaves_no_trace(host: DynamoDevice, case: PreparedCase, record: Record) -> None:
    """Compiled code that runs changes nothing that others in the process rely on; in its own thread and in new ones."""
    lowered = host.lower(case)
    before = {thread: host.surroundings(thread) for thread in ("this", "new")}
    for call in case.calls:
        assert_close(host.run(lowered, call.inputs).result, call.expected, case.name)
        for thread, expected in before.items():
            found = host.surroundings(thread, after="run")
            assert_same_surroundings(found, expected, f"{thread} thread after running {case.name}", record)


@clause("modes.pytorch-unchanged", source=GIVEN_MODEL, level=Level.CORE, cases=("network",))
def test_pytorch_is_unchanged(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """Loading the backend, lowering and running change nothing in PyTorch itself: no setting of Dynamo, AOT Autograd or
    Inductor, no function of its modules and classes, no decomposition, lowering or kernel of its operators, none of its
    backends. What is the backend's own (its name, its operators, its device type) it may add."""
    assert_pytorch_unchanged(host, bare, "after loading the backend")
    for device in (host, bare):
        assert_close(device.run(device.lower(case), case.call.inputs).result, case.call.expected, case.name)
    assert_pytorch_unchanged(host, bare, f"after lowering and running {case.name}")


@clause("modes.others-unchanged", source=GIVEN_MODEL, level=Level.CORE, cases=("chain",))
def test_others_are_unchanged(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """After the backend was loaded and used, other backends are given the same graphs as in a process without it, and
    PyTorch's own compute the same bits."""
    assert_close(host.run(host.lower(case), case.call.inputs).result, case.call.expected, case.name)
    found, results = host.compile_by_others(case)
    graphs, expected = bare.compile_by_others(case)
    for name, graph in graphs.items():
        assert_equal(found.get(name), graph, f"{case.name}: the graph that {name} gives another backend")
    assert_equal(results, expected, f"{case.name}: the results of aot_eager, and of graphs that are run as they are")


@clause("modes.errors-leave-no-trace", source=GIVEN_MODEL, cases=("lookup",))
def test_errors_leave_no_trace(host: DynamoDevice, case: PreparedCase, record: Record) -> None:
    """A call that ends with an error leaves everything that others rely on as it was."""
    table, where = case.call.inputs
    lowered = host.lower(case)
    before = host.surroundings()
    try:
        host.run(lowered, (table, where * 0 + 5))
    except SubjectError:
        found = host.surroundings(after="run")
        assert_same_surroundings(found, before, f"{case.name}, after an index out of bounds", record)


@clause("modes.threads", source=(CACHED, EQUIVALENT), cases=("chain", "matmul", "several_outputs", "parameters"))
def test_threads(host: DynamoDevice, case: PreparedCase, record: Record) -> None:
    """What one thread has lowered a fresh thread can call, and the backend's code runs each time. Whether several can
    at once is reported."""
    lowered = host.lower(case)
    assert_right_in_threads(host, lowered, case, threads=1, rounds=3)
    with record.reporting():
        assert_right_in_threads(host, lowered, case, threads=4, rounds=100)


@clause("modes.threads-lower", source=NOT_SAID, level=Level.REPORTED, cases=("chain", "parameters"))
def test_threads_lower(host: DynamoDevice, case: PreparedCase, record: Record) -> None:
    """Whether several threads may make the first call of a compiled model at once."""
    compiled = host.compile(case)
    with record.reporting():
        assert_right_in_threads(host, compiled, case, threads=4, rounds=3)


@clause("modes.thread-local", source=(NO_GRAD, INFERENCE_MODE), cases=("chain", "matmul"))
def test_thread_local(host: DynamoDevice, case: PreparedCase) -> None:
    """The modes are thread-local: a fresh thread has its own, whatever its parent's are, and keeps them when it calls
    compiled code."""
    lowered = host.lower(case)
    for guard in GUARDS:
        found = host.run_in_threads(lowered, case.calls, threads=1, guard=guard)
        check(not found.errors, f"{case.name}, a thread started under {guard}: {found.errors}")
        fresh = [{"grad mode": True, "inference mode": False}]
        assert_equal(found.modes, fresh, f"{case.name}: the modes of a thread that was started under {guard}")
        for call, results in zip(case.calls, found.results, strict=True):
            for result in results:
                assert_close(result, call.expected, f"{case.name}, in a thread that was started under {guard}")


@clause("modes.after-threads", source=(CACHED, EQUIVALENT), cases=("chain", "matmul"))
def test_after_threads(host: DynamoDevice, case: PreparedCase, record: Record) -> None:
    """After several threads at once, whatever they came to, a call is right, and nothing is lowered again. Whether the
    same operators as before are left to PyTorch is reported."""
    lowered = host.lower(case)
    before = sorted(host.operators_run(lowered, case.call.inputs))
    host.run_in_threads(lowered, case.calls, threads=4)
    runs = host.counts(lowered).runs
    for call in case.calls:
        assert_close(host.run(lowered, call.inputs, stance="fail_on_recompile").result, call.expected, case.name)
    assert_counts(host.counts(lowered), case.name, least_runs=runs + len(case.calls))
    after = sorted(host.operators_run(lowered, case.call.inputs))
    with record.reporting():
        assert_equal(after, before, f"{case.name}: the operators that PyTorch runs itself, after four threads at once")


@clause(
    "modes.repeatable",
    level=Level.CORE,
    cases=("chain", "matmul", "reductions", "softmax", "large", "network"),
)
def test_repeatable(host: DynamoDevice, case: PreparedCase, record: Record) -> None:
    """The same call is right each time, and so is the model when it is lowered a second time. Whether it gives the same
    bits, which PyTorch itself does not promise, is reported."""
    lowered = host.lower(case)
    first, *others = (seen.result for seen in host.run_often(lowered, case.call.inputs, 5))
    host.reset()
    again = host.run(host.lower(case), case.call.inputs).result
    for result in (first, *others, again):
        assert_close(result, case.call.expected, f"{case.name}, called and lowered again")
    with record.reporting():
        for result in others:
            assert_equal(result, first, f"{case.name}, called again")
        assert_equal(again, first, f"{case.name}, lowered again")


@clause("modes.seeds", source=(SEEDS, GENERATOR_STATE, DROPOUT), cases=("dropout",))
def test_seeds(host: DynamoDevice, case: PreparedCase, other_cases: Callable[..., tuple[PreparedCase, ...]]) -> None:
    """PyTorch's seed decides what a model draws: the same seed the same, another seed something else, and each call
    draws anew."""
    for each in (case, *other_cases("noisy")):
        one, other, same, again = host.run_seeded(host.compile(each), each.call.inputs, (1, 2, 1, 1), calls=2)
        assert_equal(same, one, f"{each.name}: two calls, after the same seed")
        assert_equal(again, one, f"{each.name}: two calls, after the seed that was set last")
        first, second, rewound = one
        assert_equal(rewound, first, f"{each.name}: a call after torch.set_rng_state, to what it was before the first")
        assert_drawn_anew(first, second, f"{each.name}: two calls after one seed")
        assert_drawn_anew(first, other[0], f"{each.name}: the seeds 1 and 2")
    for twice in other_cases("dropped_twice"):
        ((first, second),) = host.run_seeded(host.compile(twice), twice.call.inputs, (1,), calls=1)[0][:1]
        check(not torch.equal(first, second), f"{twice.name}: two calls of dropout in one model draw the same")


@clause("modes.unknown-options", source=NOT_SAID, level=Level.REPORTED, cases=("chain",))
def test_unknown_options(host: DynamoDevice, case: PreparedCase, record: Record) -> None:
    """Whether an option and a mode that no backend can know are refused with an error that names them, or said to be
    ignored, and change nothing."""
    with record.reporting():
        assert_taken_or_refused(host, case, UNKNOWN, options={UNKNOWN: 1})
    with record.reporting():
        assert_taken_or_refused(host, case, UNKNOWN, mode=UNKNOWN)


@clause("modes.options-apart", source=OPTIONS, cases=("chain", "matmul"))
def test_options_apart(host: DynamoDevice, case: PreparedCase, backend: Description, context: CellContext) -> None:
    """Options belong to one compile: beside one with the author's options, and one with others, a compile without any
    does what it does in a process of its own, and after it the first still does what it did: bit by bit, if the
    backend repeats its bits there."""
    alone = context.device("alone", Availability.FULL)
    plain = alone.compile_with(case)
    expected, *others = (seen.result for seen in alone.run_often(plain, case.call.inputs, 5))
    assert_as_before = assert_equal if is_repeated(expected, others) else assert_close
    operators = sorted(alone.operators_run(plain, case.call.inputs))
    own = host.lower(case)
    with_options = host.run(own, case.call.inputs).result
    with contextlib.suppress(SubjectError):
        host.run(host.compile_with(case, options={UNKNOWN: 1}), case.call.inputs)
    for _ in range(2):
        assert_same_without_options(host, case, expected, operators, assert_as_before)
        again = host.run(own, case.call.inputs).result
        assert_as_before(again, with_options, f"{case.name} with the author's options, after a compile without any")
        host.reset()
    if not backend.options:
        raise NotExercised("no options of the author's are known, which could get from one compile into another")
