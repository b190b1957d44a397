"""Lowering: what a partitioner and preprocess make of exported programs, and what is left to ExecuTorch's kernels."""

from __future__ import annotations

from collections.abc import Callable

from conformance.api.assertions import check
from conformance.api.verdicts import NotApplicable, NotExercised
from conformance.compare.assertions import assert_close, assert_equal, assert_strides_like
from conformance.contract import Control, Level, clauses
from conformance.discovery.describing import Description
from conformance.run.result import Record
from conformance.toolchains.executorch.assertions import assert_calls, assert_computes, check_called
from conformance.toolchains.executorch.client import COMPANION, ExecuTorchDevice, PreparedCase
from conformance.toolchains.executorch.promises import (
    COMPILED_BLOB,
    DYNAMIC,
    EACH_METHOD,
    NOT_IN_PLACE,
    ORDER,
    PARTITIONED,
    PROGRAM_UNCHANGED,
    SAME_PROGRAM,
    STATE_KEPT,
)

EVERY_CASE: tuple[str, ...] = ()
#: What every backend takes.
FLOOR = ("add", "add_sub")
REPRESENTATIVE = ("add", "parameters", "conv_net", "two_methods")
STATEFUL = ("running_sum", "shifting_window")


clause = clauses(source=SAME_PROGRAM, level=Level.CORE)


@clause("delegate.outputs", cases=EVERY_CASE)
def test_outputs(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A program that was lowered with the backend's partitioner gives the outputs of eager PyTorch, for every method
    and sample, in a process that has not lowered it."""
    assert_computes(target, host.emit(host.lower(case)), case, case.name)


@clause("delegate.delegated", source=PARTITIONED, cases=EVERY_CASE, control=Control.NONE, everyday=False)
def test_delegated(host: ExecuTorchDevice, case: PreparedCase, backend: Description, record: Record) -> None:
    """The work is done by the delegate: where a model has only what every backend takes, nothing is left to
    ExecuTorch's kernels, and the plan calls the delegate. Whatever a graph delegates the plan calls."""
    lowered = host.lower(case)
    contents = host.contents(host.emit(lowered))
    for method, found in host.delegation(lowered).items():
        others = sorted({each for each in found.backends if each != backend.name})
        check(not others, f"{case.name}.{method} is delegated to {', '.join(others)}, and not to {backend.name!r}")
        if case.name in FLOOR:
            check(not found.left, f"{case.name}.{method}: left to ExecuTorch's kernels: {', '.join(found.left)}")
        if case.name in FLOOR or found.backends:
            check_called(contents, backend.name, [method], case.name)
        share = found.delegated / max(1, found.delegated + len(found.left))
        record.note(f"{case.name}.{method}: {share:.0%} of the nodes are delegated")


@clause("delegate.by-steps", cases=REPRESENTATIVE)
def test_by_steps(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """The older route, to_edge and then to_backend with the same partitioner, gives a program that computes the
    same."""
    assert_computes(target, host.emit(host.lower(case, by_steps=True)), case, f"{case.name}, lowered by steps")


@clause("delegate.fallback", source=PARTITIONED, cases=("left_over", "sandwich", "tied_weights"))
def test_fallback(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """What the partitioner leaves alone runs in ExecuTorch's kernels, and both halves together are right; a constant
    that both use is the same in both."""
    lowered = host.lower(case)
    assert_computes(target, host.emit(lowered), case, case.name)
    if not any(each.left for each in host.delegation(lowered).values()):
        raise NotExercised(f"the partitioner takes all of {case.name}: nothing is left to ExecuTorch's kernels")


@clause("delegate.nothing-to-do", source=PARTITIONED, cases=("only_left_over", "input_returned", "unused_input"))
def test_nothing_to_do(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A model with little or nothing for the delegate lowers to a program that runs."""
    assert_computes(target, host.emit(host.lower(case)), case, case.name)


@clause("delegate.several-partitions", source=PARTITIONED, cases=("sandwich",))
def test_several_partitions(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A graph that is cut into several parts, by what is left between them, computes what eager PyTorch does, in any
    order of calls, and a second program of it that was lowered in the same process too."""
    for number in range(2):
        lowered = host.lower(case)
        methods = target.open(host.emit(lowered), case.methods)
        assert_calls(target, methods, (*case.calls, *reversed(case.calls)), f"{case.name}, lowering {number}")


@clause(
    "delegate.original-untouched",
    source=(PROGRAM_UNCHANGED, NOT_IN_PLACE),
    cases=(*REPRESENTATIVE, *STATEFUL, "left_over", "dynamic_linear"),
)
def test_original_untouched(
    host: ExecuTorchDevice, case: PreparedCase, other_cases: Callable[..., tuple[PreparedCase, ...]]
) -> None:
    """Partitioning and preprocess leave the exported program alone: its graph and what is known of each node, its
    signature and its state."""
    for each in (case, *(other_cases("scaled_words") if case.name == "parameters" else ())):
        exported = host.export(each)
        before = host.digest(exported)
        host.lower(exported)
        after = host.digest(exported)
        changed = sorted(name for name in {**before, **after} if before.get(name) != after.get(name))
        check(not changed, f"lowering {each.name} has changed what was exported: {', '.join(changed)}")


@clause("delegate.twice", source=COMPILED_BLOB, cases=("parameters", "linear", "conv"))
def test_twice(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """Two models of one kind with other weights, and one model twice, lowered in one process: each computes with its
    own weights."""
    variants = {"the first": 0, "its twin": 1, "the first again": 0}
    models = {which: host.export(case, variant) for which, variant in variants.items()}
    programs = {which: host.emit(host.lower(each)) for which, each in models.items()}
    loaded = {which: target.open(each)["forward"] for which, each in programs.items()}
    for call in case.calls:
        for which, exported in models.items():
            expected = host.run_exported(exported, call)
            assert_close(target.run(loaded[which], call.inputs), expected, f"{case.name}, {which} of two models")


@clause("delegate.deterministic", source=COMPILED_BLOB, cases=REPRESENTATIVE)
def test_deterministic(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, record: Record) -> None:
    """A model that is lowered twice gives two programs that compute the same; whether bit by bit is reported."""
    programs = [host.emit(host.lower(case)) for _ in range(2)]
    methods = [target.open(each, case.methods) for each in programs]
    for call in case.calls:
        one, other = (target.run(each[call.method], call.inputs) for each in methods)
        for found in (one, other):
            assert_close(found, call.expected, f"{case.name}.{call.method}, lowered twice")
        with record.reporting():
            assert_equal(one, other, f"{case.name}.{call.method}, lowered twice")
    record.note(f"{case.name}: lowered twice, the bytes are {'the same' if len(set(programs)) == 1 else 'different'}")


@clause("delegate.several-methods", source=EACH_METHOD, cases=("two_methods", "same_signatures"))
def test_several_methods(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """Methods of one program, with signatures and weights of their own, each compute their own, called in turns."""
    methods = target.open(host.emit(host.lower(case)), case.methods)
    in_turns = [call for pair in zip(*map(case.calls_of, case.methods), strict=True) for call in pair]
    assert_calls(target, methods, (*in_turns, *reversed(in_turns)), case.name)


@clause("delegate.methods-apart", source=EACH_METHOD, cases=("two_methods", "same_signatures"))
def test_methods_apart(
    host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, backend: Description
) -> None:
    """One method of a program can be delegated and another not, and both are right."""
    for left in case.methods:
        lowered = host.lower(case, left=[left])
        program = host.emit(lowered)
        calls = host.contents(program)[left].calls
        check(not calls, f"{case.name}.{left} was given no partitioner, and its plan calls {', '.join(calls)}")
        assert_computes(target, program, case, f"{case.name}, {left} left to ExecuTorch's kernels")


@clause(
    "delegate.dynamic-sizes",
    source=DYNAMIC,
    cases=("dynamic_rows", "dynamic_linear", "dynamic_conv"),
)
def test_dynamic_sizes(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """One loaded method serves every size between the bounds: the least, the greatest and others, up and down again.
    What comes out has the true shape, and not that of the bound."""
    methods = target.open(host.emit(host.lower(case)))
    assert_calls(target, methods, (*case.calls, *reversed(case.calls)), case.name)


@clause("delegate.mutable-state", source=STATE_KEPT, cases=STATEFUL)
def test_mutable_state(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """Buffers that a method writes keep their values from call to call, and begin anew in each program that is
    loaded."""
    program = host.emit(host.lower(case))
    first, second = (target.open(program, case.methods) for _ in range(2))
    for number, call in enumerate(case.calls):
        for methods, which in ((first, "the first"), (second, "the second")):
            found = target.run(methods[call.method], call.inputs)
            assert_close(found, call.expected, f"{case.name}, call {number} of {which} of two programs")
    assert_computes(target, program, case, f"{case.name}, loaded after others had run")


@clause("delegate.order", source=ORDER, cases=("three_in_three_out", "nested"))
def test_order(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """Several inputs and outputs of one shape come in the order of the model."""
    method = target.open(host.emit(host.lower(case)))["forward"]
    for call in case.calls:
        found = target.run(method, call.inputs)
        check(len(found) == len(call.expected), f"expected {len(call.expected)} outputs, found {len(found)}")
        for place, expected in enumerate(call.expected):
            assert_close(found[place], expected, f"{case.name}, output {place}")


@clause("delegate.other-models", cases=("parameters", "conv_net", "left_over"))
def test_other_models(
    host: ExecuTorchDevice,
    target: ExecuTorchDevice,
    case: PreparedCase,
    other_case: Callable[[str], PreparedCase],
    other_cases: Callable[..., tuple[PreparedCase, ...]],
) -> None:
    """A model that is lowered after others in one process gives what it gives alone, and so do they."""
    before = other_cases("boxes_and_scores", "levels_of_a_pyramid")
    cases = [other_case("add_sub"), *before, case, *other_cases("activations"), other_case("add")]
    programs = [host.emit(host.lower(each)) for each in cases]
    methods = [target.open(each) for each in programs]
    for each, loaded in zip(cases, methods, strict=True):
        assert_calls(target, loaded, each.calls, f"{each.name}, one of {len(cases)} models")


@clause("delegate.same-partitioner", source=PARTITIONED, cases=REPRESENTATIVE)
def test_same_partitioner(
    host: ExecuTorchDevice,
    target: ExecuTorchDevice,
    case: PreparedCase,
    other_cases: Callable[..., tuple[PreparedCase, ...]],
) -> None:
    """One partitioner object serves every method of a program, and one model after another: it keeps nothing of those
    that it has seen."""
    for each in (*other_cases("sandwich"), case, *other_cases("add_sub"), case):
        assert_computes(target, host.emit(host.lower(each, shared=True)), each, f"{each.name}, by one partitioner")


@clause(
    "delegate.beside-another", source=PARTITIONED, level=Level.COMPLETE, cases=("left_over", "linear", "two_methods")
)
def test_beside_another(
    host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, backend: Description
) -> None:
    """Beside another delegate in one program, whichever partitioner is asked first, and where each has a method of its
    own, all is right: nobody takes what is taken."""
    if backend.name == COMPANION:
        raise NotApplicable(f"{COMPANION} is the other delegate that ExecuTorch brings along: it is not beside itself")
    for order in ("first", "last"):
        program = host.emit(host.lower(case, beside=order))
        assert_computes(target, program, case, f"{case.name}, {COMPANION} asked {order}")
    for method in case.methods:
        program = host.emit(host.lower(case, left=[method], beside="instead"))
        assert_computes(target, program, case, f"{case.name}, {method} by {COMPANION}")


@clause("delegate.memory-formats", cases=("channels_last", "pooled_channels_last"))
def test_memory_formats(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A model that was exported for channels-last inputs has the results of eager PyTorch, in value and in layout, also
    where the caller's memory is taken."""
    for planned in (True, False):
        method = target.open(host.emit(host.lower(case), planned))["forward"]
        for call in case.calls:
            found = target.run(method, call.inputs)
            where = f"{case.name}, memory {'' if planned else 'not '}planned"
            assert_close(found, call.expected, where)
            assert_strides_like(found, call.expected, where)
