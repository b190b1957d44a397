"""Lowering by ``torch.compile``: what a backend makes of a graph, when, and what its users see of it."""

from __future__ import annotations

from conformance import features
from conformance.contract import Control, Level, clause
from conformance.toolchains.dynamo.assertions import (
    assert_clean_refusal,
    assert_counts,
    assert_same_effects,
    assert_strides_like,
    sizes_of,
)
from conformance.toolchains.torchscript.assertions import assert_close, assert_equal, check, refused

EVERY_CASE: tuple[str, ...] = ()
REPRESENTATIVE = ("chain", "several_outputs", "parameters", "views")
WRITING = ("writes_input", "writes_slice", "writes_buffer")
SOURCE = "pytorch/pytorch#89373"
DYNAMO = "dynamo"


@clause("compile.outputs", source=SOURCE, level=Level.CORE, toolchain=DYNAMO, cases=EVERY_CASE)
def test_outputs(host, case, backend):
    """A compiled model gives the outputs of eager PyTorch: their order, containers, dtypes, shapes and values; and it
    is the backend's code that ran. A backend that declares no dynamic shapes is asked for each size by itself."""
    lowered = host.lower(case, dynamic=sizes_of(backend))
    for call in case.calls:
        assert_close(host.run(lowered, call.inputs).result, call.expected, case.name)
    assert_counts(host.counts(lowered), case.name, least_runs=len(case.calls))


@clause("compile.by-name", source=SOURCE, level=Level.CORE, toolchain=DYNAMO, cases=REPRESENTATIVE)
def test_by_name(host, case):
    """``torch.compile(model, backend="NAME")``, as users write it, gives the outputs of eager PyTorch."""
    compiled = host.compile(case, by_name=True)
    for call in case.calls:
        assert_close(host.run(compiled, call.inputs).result, call.expected, case.name)


@clause(
    "compile.result-form",
    source=SOURCE,
    level=Level.CORE,
    toolchain=DYNAMO,
    cases=("chain", "single_tuple", "several_outputs", "returns_views", "dictionary"),
)
def test_result_form(host, case):
    """Compiled code returns a tuple or list of exactly the graph's outputs, also where there is one: Dynamo would take
    the first row of a bare tensor for the output."""
    lowered = host.lower(case)
    host.run(lowered, case.call.inputs)
    counts = host.counts(lowered)
    assert_counts(counts, case.name)
    check(not counts.malformed, f"{case.name}: {'; '.join(counts.malformed)}")


@clause(
    "compile.strides",
    source=SOURCE,
    level=Level.CORE,
    toolchain=DYNAMO,
    cases=("chain", "odd_strides", "strided_result", "views", "returns_views", "broadcast"),
)
def test_strides(host, case):
    """Outputs have the strides of eager PyTorch's: Dynamo has told the code behind the graph so."""
    lowered = host.lower(case)
    for call in case.calls:
        assert_strides_like(host.run(lowered, call.inputs).result, call.expected, case.name)


@clause("compile.once", source=SOURCE, level=Level.CORE, toolchain=DYNAMO, cases=(*REPRESENTATIVE, "network"))
def test_once(host, case):
    """The first call lowers once; later calls lower nothing, and each runs the compiled code."""
    compiled = host.compile(case)
    host.run(compiled, case.call.inputs)
    assert_counts(host.counts(compiled), "the first call", lowerings=1)
    for call in case.calls:
        host.run_often(compiled, call.inputs, 2, stance="fail_on_recompile")
    calls = 1 + 2 * len(case.calls)
    assert_counts(host.counts(compiled), f"{calls} calls", lowerings=1, least_runs=calls)


@clause("compile.at-lowering-time", source=SOURCE, level=Level.CORE, toolchain=DYNAMO, cases=REPRESENTATIVE)
def test_at_lowering_time(host, case):
    """Compilation happens when the frame is lowered, where the guards that it makes are installed: no call of the
    compiled code traces, scripts, or runs AOT Autograd, not even the first."""
    lowered = host.lower(case)
    for number in ("first", "second"):
        seen = host.tracing_done(lowered, case.call.inputs)
        check(not seen, f"the {number} call of {case.name} does a compiler's work: {', '.join(seen)}")
    assert_counts(host.counts(lowered), case.name, lowerings=1, least_runs=2)


@clause("compile.first-call", source=SOURCE, level=Level.CORE, toolchain=DYNAMO, cases=("chain", "matmul"))
def test_first_call(host, bare, case, other_case):
    """The first call of compiled code does no more than a later one, once other code has run in the process and what is
    warmed up once is warm: it enters at most five thousand Python functions more, and takes at most eight times the
    time more that it takes Dynamo alone."""
    before = other_case("graph_break")
    more = {}
    for device in (host, bare):
        device.run(device.lower(before), before.call.inputs)
        more[device] = device.effort_at_first(device.lower(case), case.call.inputs, calls=6)
    for what, allowed in (("functions", 5000), ("seconds", max(0.008, 8 * more[bare]["seconds"]))):
        found = more[host][what]
        check(found <= allowed, f"the first call takes {found:g} {what} more than a later one (allowed: {allowed:g})")


@clause("compile.parameters", source=SOURCE, level=Level.CORE, toolchain=DYNAMO, cases=("parameters", "network"))
def test_parameters(host, bare, case):
    """Parameters and buffers that are updated in place, replaced, or loaded are seen by the next call."""
    lowered, original = host.lower(case), bare.build(case)
    for how in ("in place", "replaced", "loaded"):
        host.disturb(lowered, how)
        bare.disturb(original, how)
        expected = bare.run(original, case.call.inputs).result
        assert_close(host.run(lowered, case.call.inputs).result, expected, f"{case.name}, its tensors {how}")


@clause("compile.mutation", source=SOURCE, level=Level.CORE, toolchain=DYNAMO, cases=WRITING)
def test_mutation(host, case):
    """What a model writes to its inputs, to slices of them and to its buffers is written back, version counters too."""
    lowered = host.lower(case)
    for call in case.calls:
        seen = host.run(lowered, call.inputs)
        assert_close(seen.result, call.expected, case.name)
        assert_same_effects(seen, call.effects, case.name)


@clause(
    "compile.inputs-untouched",
    source=SOURCE,
    level=Level.CORE,
    toolchain=DYNAMO,
    cases=("chain", "in_place", "views", "returns_views", "odd_strides", "wrap_around"),
)
def test_inputs_are_untouched(host, case):
    """A model that writes to no input leaves its inputs as they are, and their version counters alone."""
    lowered = host.lower(case)
    for call in case.calls:
        seen = host.run(lowered, call.inputs)
        assert_equal(seen.arguments, call.inputs, f"{case.name}, the arguments after the call")
        check(not any(seen.written), f"{case.name}: the call wrote to arguments: {seen.written}")


@clause(
    "compile.aliases",
    source=SOURCE,
    level=Level.CORE,
    toolchain=DYNAMO,
    cases=("chain", "several_outputs", "returns_views", "strided_result", "writes_input"),
)
def test_aliases(host, case):
    """Outputs share memory with the inputs and with one another exactly where they do in eager PyTorch."""
    lowered = host.lower(case)
    for call in case.calls:
        assert_equal(host.run(lowered, call.inputs).shared, call.effects.shared, f"{case.name}, what shares memory")


@clause(
    "compile.outputs-kept",
    source=SOURCE,
    level=Level.CORE,
    toolchain=DYNAMO,
    cases=("chain", "reductions", "matmul", "several_outputs"),
)
def test_outputs_are_kept(host, case):
    """The output of a call is intact after the calls that follow."""
    lowered = host.lower(case)
    calls = case.calls * 6
    for call, result in zip(calls, host.run_keeping(lowered, calls), strict=True):
        assert_close(result, call.expected, f"{case.name}, after {len(calls)} calls")


@clause(
    "compile.original-untouched",
    source=SOURCE,
    level=Level.CORE,
    toolchain=DYNAMO,
    cases=("parameters", "network"),
)
def test_original_is_untouched(host, case):
    """The original module computes the same and has the same state after it was compiled and run."""
    original = host.build(case)
    before = host.state_of(original)
    lowered = host.lower(original, case.call.inputs)
    for call in case.calls:
        host.run(lowered, call.inputs)
        assert_close(host.run(original, call.inputs).result, call.expected, f"the original of {case.name}")
    assert_equal(host.state_of(original), before, "the original's parameters and buffers")


@clause("compile.twice", source=SOURCE, level=Level.CORE, toolchain=DYNAMO, cases=("parameters", "network"))
def test_twice(host, bare, case):
    """Two models of one class, compiled in one process, each keep their own weights."""
    first = host.lower(case)
    other = host.lower(host.build(case, variant=1), case.call.inputs)
    expected = bare.run(bare.build(case, variant=1), case.call.inputs).result
    for _ in range(2):
        assert_close(host.run(other, case.call.inputs).result, expected, f"{case.name} with other weights")
        assert_close(host.run(first, case.call.inputs).result, case.call.expected, case.name)


@clause(
    "compile.non-leaf-inputs",
    source=SOURCE,
    level=Level.CORE,
    toolchain=DYNAMO,
    cases=("chain", "matmul"),
    needs=(features.training,),
)
def test_non_leaf_inputs(host, case):
    """Inputs may be results of a computation that wants gradients."""
    lowered = host.lower(case, arranged="derived")
    found = host.run(lowered, case.call.inputs, arranged="derived").result
    check(found.requires_grad, f"{case.name}: the result does not require grad, though the inputs do")
    assert_close(found, case.call.expected, case.name)


@clause("compile.errors", source=SOURCE, level=Level.CORE, toolchain=DYNAMO, cases=("lookup",))
def test_errors(host, case):
    """An index out of bounds is an error when the code runs, and not a value; later calls are sound."""
    lowered = host.lower(case)
    for call in case.calls:
        table, where = call.inputs
        for beyond in (where * 0 + 5, where * 0 - 6, where + 2**33):
            with refused(f"indices {beyond.tolist()} into {table.shape[0]} rows"):
                host.run(lowered, (table, beyond))
        assert_close(host.run(lowered, call.inputs).result, call.expected, f"{case.name}, after an error")


@clause(
    "compile.refusal",
    source=SOURCE,
    level=Level.CORE,
    toolchain=DYNAMO,
    cases=EVERY_CASE,
    control=Control.NONE,
    speaks_of="unsupported",
)
def test_refusal(host, case, backend, other_case):
    """A model outside the declared features is refused by BackendCompilerFailed with the backend's name, or where only
    the data shows it by an error of the code that runs; it is never miscomputed and never crashes; and what the backend
    takes is lowered afterwards."""
    assert_clean_refusal(host, case, backend)
    chain = other_case("chain")
    assert_close(host.run(host.lower(chain), chain.call.inputs).result, chain.call.expected, "after a refusal")


@clause(
    "compile.delegated",
    source=SOURCE,
    level=Level.CORE,
    toolchain=DYNAMO,
    control=Control.NONE,
    cases=("chain", "broadcast", "booleans"),
    needs=(features.delegation,),
)
def test_delegated(host, case, backend):
    """The backend's own code computes: PyTorch executes none of the operators when compiled code is called, in no
    thread; nor, where the backend trains, when it is called with gradients, and on the way back."""
    lowered = host.lower(case)
    ran = {"called": host.operators_run(lowered, case.call.inputs)}
    if "training" not in backend.missing_features:
        ran |= host.operators_run_in_training(lowered, case.call.inputs)
    for how, names in ran.items():
        check(not names, f"{case.name}, {how}: PyTorch itself executed {', '.join(dict.fromkeys(names))}")


@clause(
    "compile.fallback",
    source=SOURCE,
    level=Level.REPORTED,
    toolchain=DYNAMO,
    control=Control.NONE,
    cases=("matmul", "reductions", "softmax", "network", "views", "beyond_32_bits", "custom_operator"),
)
def test_fallback(host, bare, case, record):
    """How many of the operators of a model PyTorch still executes by itself, one by one."""
    kept = host.operators_run(host.lower(case), case.call.inputs)
    every = bare.operators_run(bare.build(case), case.call.inputs)
    names = f": {', '.join(dict.fromkeys(kept))}" if kept else ""
    record.note(f"{case.name}: PyTorch itself executes {len(kept)} operators (eager: {len(every)}){names}.")


@clause("compile.exit", source=SOURCE, level=Level.CORE, toolchain=DYNAMO, cases=("chain",))
def test_exit(host, case):
    """A process that compiled and ran a model ends by itself, with exit code 0, and leaves no process behind."""
    host.run(host.lower(case), case.call.inputs)
    host.leave()
