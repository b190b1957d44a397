"""Lowering by ``torch.compile``: what a backend makes of a graph, when, and what its users see of it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable

from conformance import features
from conformance.api.assertions import check, refused
from conformance.compare.assertions import assert_close, assert_equal, assert_strides_like
from conformance.compare.values import tensors_in
from conformance.contract import Control, Level, SpeaksOf, clauses
from conformance.discovery.describing import Description
from conformance.run.result import Record
from conformance.toolchains.dynamo.assertions import (
    assert_costs_little_more,
    assert_counts,
    assert_right_in_turns,
    assert_same_call,
    calls_of_twin,
    sizes_of,
)
from conformance.toolchains.dynamo.client import DynamoDevice, PreparedCase
from conformance.toolchains.dynamo.promises import (
    AT_LOWERING,
    AUTOGRAD,
    CACHED,
    COMPILED,
    DECLARED,
    ENDS_WELL,
    EQUIVALENT,
    ERRORS,
    FAKE_TENSORS,
    GIVEN_MODEL,
    REGISTERED,
)
from conformance.toolchains.dynamo.refusals import assert_clean_refusal, needs_a_flag

EVERY_CASE: tuple[str, ...] = ()
REPRESENTATIVE = ("chain", "several_outputs", "parameters", "views")
#: Cases of the floor, of which some share a class, and some differ from another in one number alone.
COMPANY = ("chain", "size_one", "scalars", "loop", "listed_numbers", "other_listed_numbers")
WRITING = ("writes_input", "writes_slice", "writes_buffer")

clause = clauses(source=EQUIVALENT, level=Level.CORE)


@clause("compile.outputs", source=(EQUIVALENT, FAKE_TENSORS), cases=EVERY_CASE)
def test_outputs(host: DynamoDevice, case: PreparedCase, backend: Description) -> None:
    """A compiled model gives the outputs of eager PyTorch: their order, containers, dtypes, shapes, strides and values,
    which of them are one object or share memory, also with arguments and weights; it leaves its arguments and weights
    as eager PyTorch does; and it is the backend's code that ran. A backend that declares no dynamic shapes is asked for
    each size by itself."""
    lowered = host.lower(case, dynamic=sizes_of(backend))
    for call in case.calls:
        assert_same_call(host.run(lowered, call.inputs), call.effects, case.name)
    assert_counts(host.counts(lowered), case.name, least_runs=len(case.calls))
    if any(any(call.effects.requires_grad) for call in case.calls):
        # compilers take another path where nobody asks for gradients of what is computed
        inferring = host.compile(case, dynamic=sizes_of(backend))
        for call in case.calls:
            result = host.run(inferring, call.inputs, guard="no_grad").result
            assert_close(result, call.expected, f"{case.name} under no_grad")


@clause("compile.by-name", source=(REGISTERED, EQUIVALENT), cases=(*REPRESENTATIVE, "takes_nothing"))
def test_by_name(host: DynamoDevice, case: PreparedCase) -> None:
    """``torch.compile(model, backend="NAME")``, as users write it, gives the outputs of eager PyTorch."""
    compiled = host.compile(case, by_name=True)
    for call in case.calls:
        assert_same_call(host.run(compiled, call.inputs), call.effects, case.name)


@clause("compile.result-form", cases=("chain", "single_tuple", "several_outputs", "returns_views", "dictionary"))
def test_result_form(host: DynamoDevice, case: PreparedCase) -> None:
    """Compiled code returns a tuple or list of exactly the graph's outputs, also where there is one: Dynamo would take
    the first row of a bare tensor for the output."""
    lowered = host.lower(case)
    assert_close(host.run(lowered, case.call.inputs).result, case.call.expected, case.name)
    counts = host.counts(lowered)
    assert_counts(counts, case.name)
    check(not counts.malformed, f"{case.name}: {'; '.join(counts.malformed)}")


@clause(
    "compile.strides",
    source=FAKE_TENSORS,
    cases=("chain", "odd_strides", "strided_result", "views", "returns_views", "broadcast"),
)
def test_strides(host: DynamoDevice, case: PreparedCase) -> None:
    """Outputs have the strides of eager PyTorch's: Dynamo has told the code behind the graph so."""
    lowered = host.lower(case)
    for call in case.calls:
        result = host.run(lowered, call.inputs).result
        assert_strides_like(result, call.expected, case.name)
        assert_close(result, call.expected, case.name)


@clause("compile.once", source=CACHED, cases=(*REPRESENTATIVE, "network"))
def test_once(host: DynamoDevice, case: PreparedCase) -> None:
    """The first call lowers once; later calls lower nothing, and each runs the compiled code."""
    compiled = host.compile(case)
    assert_close(host.run(compiled, case.call.inputs).result, case.call.expected, f"{case.name}, the first call")
    assert_counts(host.counts(compiled), "the first call", lowerings=1)
    for call in case.calls:
        for seen in host.run_often(compiled, call.inputs, 2, stance="fail_on_recompile"):
            assert_close(seen.result, call.expected, f"{case.name}, called again")
    calls = 1 + 2 * len(case.calls)
    assert_counts(host.counts(compiled), f"{calls} calls", lowerings=1, least_runs=calls)


@clause("compile.at-lowering-time", source=(COMPILED, AT_LOWERING), cases=REPRESENTATIVE)
def test_at_lowering_time(host: DynamoDevice, case: PreparedCase) -> None:
    """Compilation happens when the frame is lowered, where the guards that it makes are installed: no call of the
    compiled code traces, scripts, or runs AOT Autograd, not even the first."""
    lowered = host.lower(case)
    for number in ("first", "second"):
        seen = host.tracing_done(lowered, case.call.inputs)
        check(not seen, f"the {number} call of {case.name} does a compiler's work: {', '.join(seen)}")
    assert_counts(host.counts(lowered), case.name, lowerings=1, least_runs=2)


@clause("compile.first-call", source=(COMPILED, AT_LOWERING), cases=("chain", "matmul"))
def test_first_call(
    host: DynamoDevice,
    bare: DynamoDevice,
    case: PreparedCase,
    other_case: Callable[[str], PreparedCase],
    record: Record,
) -> None:
    """The first call of compiled code goes through no compiler, once other code has run in the process and what is
    warmed up once is warm: it enters at most five thousand Python functions more than a later one. Whether it takes
    more than eight times the time more that it takes Dynamo alone is reported."""
    before = other_case("graph_break")
    more = {}
    for device in (host, bare):
        result = device.run(device.lower(before), before.call.inputs).result
        assert_close(result, before.call.expected, before.name)
        more[device] = device.effort_at_first(device.lower(case), case.call.inputs, calls=6)
    assert_costs_little_more(more[host], {"functions": 5000}, "the first call", than="a later one")
    with record.reporting():
        allowed = {"seconds": max(0.008, 8 * more[bare]["seconds"])}
        assert_costs_little_more(more[host], allowed, "the first call", than="a later one")


@clause("compile.parameters", source=(EQUIVALENT, CACHED), cases=("parameters", "network"))
def test_parameters(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """Parameters and buffers that are updated in place, replaced, or loaded are seen by the next call."""
    lowered, original = host.lower(case), bare.build(case)
    for how in ("in place", "through data", "replaced", "loaded", "through data"):
        host.disturb(lowered, how)
        bare.disturb(original, how)
        for guard in ("none", "no_grad"):
            expected = bare.run(original, case.call.inputs, guard=guard)
            found = host.run(lowered, case.call.inputs, guard=guard)
            assert_same_call(found, expected, f"{case.name}, its tensors {how}, under {guard}")


@clause("compile.mutation", cases=WRITING)
def test_mutation(host: DynamoDevice, case: PreparedCase) -> None:
    """What a model writes to its inputs, to slices of them and to its buffers is written back, version counters too."""
    lowered = host.lower(case)
    for call in case.calls:
        assert_same_call(host.run(lowered, call.inputs), call.effects, case.name)


@clause("compile.inputs-untouched", cases=("chain", "in_place", "views", "returns_views", "odd_strides", "wrap_around"))
def test_inputs_are_untouched(host: DynamoDevice, case: PreparedCase) -> None:
    """A model that writes to no input leaves its inputs as they are, and their version counters alone."""
    lowered = host.lower(case)
    for call in case.calls:
        seen = host.run(lowered, call.inputs)
        assert_equal(seen.arguments, call.inputs, f"{case.name}, the arguments after the call")
        check(not any(seen.written), f"{case.name}: the call wrote to arguments: {seen.written}")


@clause(
    "compile.aliases",
    source=(EQUIVALENT, FAKE_TENSORS),
    cases=("chain", "several_outputs", "returns_views", "returns_clones", "strided_result", "writes_input"),
)
def test_aliases(host: DynamoDevice, case: PreparedCase) -> None:
    """Outputs share memory with the inputs and with one another exactly where they do in eager PyTorch."""
    lowered = host.lower(case)
    for call in case.calls:
        seen = host.run(lowered, call.inputs)
        assert_equal(seen.shared, call.effects.shared, f"{case.name}, what shares memory")
        assert_close(seen.result, call.expected, case.name)


@clause("compile.outputs-kept", cases=("chain", "reductions", "matmul", "several_outputs"))
def test_outputs_are_kept(host: DynamoDevice, case: PreparedCase) -> None:
    """The output of a call is intact after the calls that follow."""
    lowered = host.lower(case)
    calls = case.calls * 6
    for call, result in zip(calls, host.run_keeping(lowered, calls), strict=True):
        assert_close(result, call.expected, f"{case.name}, after {len(calls)} calls")


@clause("compile.original-untouched", source=GIVEN_MODEL, cases=("parameters", "network"))
def test_original_is_untouched(host: DynamoDevice, case: PreparedCase) -> None:
    """The original module computes the same and has the same state after it was compiled and run."""
    original = host.build(case)
    before = host.state_of(original)
    lowered = host.lower(original, case.call.inputs)
    for call in case.calls:
        assert_same_call(host.run(lowered, call.inputs), call.effects, case.name)
        assert_same_call(host.run(original, call.inputs), call.effects, f"the original of {case.name}")
    assert_equal(host.state_of(original), before, "the original's parameters and buffers")


@clause("compile.twice", source=(EQUIVALENT, GIVEN_MODEL), cases=("parameters", "network"))
def test_twice(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """Two models of one class, compiled in one process, each keep their own weights."""
    first = host.lower(case)
    other = host.lower(host.build(case, variant=1), case.call.inputs)
    expected = bare.run(bare.build(case, variant=1), case.call.inputs)
    for _ in range(2):
        assert_same_call(host.run(other, case.call.inputs), expected, f"{case.name} with other weights")
        assert_same_call(host.run(first, case.call.inputs), case.call.effects, case.name)


@clause("compile.several-models", source=(EQUIVALENT, GIVEN_MODEL), cases=("drawn_constants", "sizes", "network"))
def test_several_models(
    host: DynamoDevice,
    bare: DynamoDevice,
    case: PreparedCase,
    backend: Description,
    other_cases: Callable[..., tuple[PreparedCase, ...]],
) -> None:
    """Models of several classes, and a twin with other weights and constants, are lowered in one process and called in
    turns, each with its own inputs and sizes: each gives what it gives alone, no result is overwritten by the call of
    another, and when one is gone and a third twin is lowered in its place, all are still right."""
    sizes = sizes_of(backend)
    first, twin = (host.lower(host.build(case, n), case.call.inputs, dynamic=sizes) for n in range(2))
    models = [(first, case.calls), (twin, calls_of_twin(bare, case, 1))]
    models += [(host.lower(each, dynamic=sizes), each.calls) for each in other_cases(*COMPANY)]
    assert_right_in_turns(host, models, f"{case.name} among {len(models)} models")
    host.forget(first)
    third = host.lower(host.build(case, 2), case.call.inputs, dynamic=sizes)
    models[0] = third, calls_of_twin(bare, case, 2)
    assert_right_in_turns(host, models, f"{case.name} among {len(models)} models, one of them gone")


@clause("compile.non-leaf-inputs", source=AUTOGRAD, cases=("chain", "matmul"), needs=(features.training,))
def test_non_leaf_inputs(host: DynamoDevice, case: PreparedCase) -> None:
    """Inputs may be results of a computation that wants gradients."""
    lowered = host.lower(case, arranged="derived")
    found = host.run(lowered, case.call.inputs, arranged="derived").result
    wants = any(each.requires_grad for each in tensors_in(found))
    check(wants, f"{case.name}: the result does not require grad, though the inputs do")
    assert_close(found, case.call.expected, case.name)


@clause("compile.errors", cases=("lookup",))
def test_errors(host: DynamoDevice, case: PreparedCase, other_cases: Callable[..., tuple[PreparedCase, ...]]) -> None:
    """An index out of bounds is an error when the code runs, and not a value; later calls are sound."""
    lowered = host.lower(case)
    for call in case.calls:
        table, where = call.inputs
        for beyond in (where * 0 + 5, where * 0 - 6, where + 2**33):
            with refused(f"indices {beyond.tolist()} into {table.shape[0]} rows"):
                host.run(lowered, (table + 1, beyond))
        assert_same_call(host.run(lowered, call.inputs), call.effects, f"{case.name}, after an error")
    for each in other_cases("counted_lookups"):
        _assert_counted_once_at_most(host, each)


def _assert_counted_once_at_most(host: DynamoDevice, case: PreparedCase) -> None:
    """A call that fails has written, as in eager PyTorch, or has not, as where writes are the last that a graph does:
    it has not written twice."""
    lowered = host.lower(case)
    (table, places), counted = case.call.inputs, []
    for inputs in ((table, places), (table, places * 0 + 4), (table, places), (table, places * 0 - 5), (table, places)):
        if places is inputs[1]:
            counted.append(float(host.run(lowered, inputs).result[1]))
        else:
            with refused(f"indices {inputs[1].tolist()} into {table.shape[0]} rows"):
                host.run(lowered, inputs)
    steps = [after - before for before, after in itertools.pairwise(counted)]
    check(set(steps) <= {1.0, 2.0}, f"{case.name}: two calls, the first of which failed, were counted as {steps}")


@clause(
    "compile.refusal", source=(DECLARED, ERRORS), cases=EVERY_CASE, control=Control.NONE, speaks_of=SpeaksOf.UNSUPPORTED
)
def test_refusal(
    host: DynamoDevice,
    case: PreparedCase,
    backend: Description,
    other_case: Callable[[str], PreparedCase],
    record: Record,
) -> None:
    """A model outside the declared features is refused by BackendCompilerFailed with the backend's name, or where only
    the data shows it by an error of the code that runs; it is never miscomputed and never crashes; and what the backend
    takes is lowered afterwards. What comes only with a flag of Dynamo's or fullgraph=True (unbacked sizes) is
    reported."""
    with record.reporting() if needs_a_flag(case, backend) else contextlib.nullcontext():
        assert_clean_refusal(host, case, backend)
    chain = other_case("chain")
    assert_close(host.run(host.lower(chain), chain.call.inputs).result, chain.call.expected, "after a refusal")


@clause(
    "compile.delegated",
    source=DECLARED,
    cases=("chain", "broadcast", "booleans"),
    control=Control.NONE,
    needs=(features.delegation,),
)
def test_delegated(host: DynamoDevice, case: PreparedCase, backend: Description) -> None:
    """The backend's own code computes: PyTorch executes none of the operators when compiled code is called, in no
    thread; nor, where the backend trains, when it is called with gradients, and on the way back."""
    lowered = host.lower(case)
    ran = {"called": host.operators_run(lowered, case.call.inputs)}
    if backend.has(features.training):
        ran |= host.operators_run_in_training(lowered, case.call.inputs)
    for how, names in ran.items():
        check(not names, f"{case.name}, {how}: PyTorch itself executed {', '.join(dict.fromkeys(names))}")


@clause(
    "compile.fallback",
    level=Level.REPORTED,
    cases=("matmul", "reductions", "softmax", "network", "views", "beyond_32_bits", "custom_operator"),
    control=Control.NONE,
)
def test_fallback(host: DynamoDevice, bare: DynamoDevice, case: PreparedCase, record: Record) -> None:
    """How many of the operators of a model PyTorch still executes by itself, one by one."""
    kept = host.operators_run(host.lower(case), case.call.inputs)
    every = bare.operators_run(bare.build(case), case.call.inputs)
    names = f": {', '.join(dict.fromkeys(kept))}" if kept else ""
    record.note(f"{case.name}: PyTorch itself executes {len(kept)} operators (eager: {len(every)}){names}.")


@clause("compile.exit", source=ENDS_WELL, cases=("chain",))
def test_exit(host: DynamoDevice, case: PreparedCase, record: Record) -> None:
    """A process that compiled and ran a model ends by itself, with exit code 0. A process that it leaves behind is
    reported."""
    host.run(host.lower(case), case.call.inputs)
    with record.reporting():
        host.leave()
