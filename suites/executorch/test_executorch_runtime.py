"""Running: what a loaded method does with its inputs, its outputs and its state, call by call."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable

import torch

from conformance.api.assertions import check, refused
from conformance.api.errors import SubjectError
from conformance.api.verdicts import NotApplicable
from conformance.compare.assertions import assert_close, assert_equal
from conformance.contract import Control, Level, clauses
from conformance.run.result import Record
from conformance.toolchains.executorch.assertions import assert_calls
from conformance.toolchains.executorch.client import ExecuTorchDevice, PreparedCase
from conformance.toolchains.executorch.promises import (
    CONCURRENT,
    DESTROYED,
    DYNAMIC,
    EVERY_INIT,
    EXECUTE,
    INIT,
    INPUTS_ALIASED,
    INPUTS_CHECKED,
    OUTPUTS_GIVEN,
    RETRIED,
)

#: Bytes by which a process may grow while a program is loaded thirty times: a mebibyte of weights each.
ALLOWANCE = 8 << 20
SEVERAL = ("add_sub", "linear", "conv_net")

clause = clauses(source=EXECUTE, level=Level.CORE)


@clause("execute.repeated", cases=SEVERAL)
def test_repeated(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, record: Record) -> None:
    """A method that is called again gives the same, also when it was called with other inputs in between; whether bit
    by bit is reported."""
    method = target.open(host.emit(host.lower(case)))["forward"]
    first, second = case.calls[:2]
    once = target.run_often(method, first.inputs, 10)
    assert_close(target.run(method, second.inputs), second.expected, f"{case.name}, other inputs")
    for number, again in enumerate((*once, *target.run_often(method, first.inputs, 10))):
        assert_close(again, first.expected, f"{case.name}, called again, time {number}")
        with record.reporting():
            assert_equal(again, once[0], f"{case.name}, called again, time {number}")


@clause("execute.inputs-untouched", source=(EXECUTE, INPUTS_ALIASED), cases=("add_sub", "left_over"))
def test_inputs_untouched(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A call changes none of its inputs, neither where they are copied into planned memory nor where the delegate gets
    the caller's; and what is read after the delegate ran is what was given."""
    for planned in (True, False):
        method = target.open(host.emit(host.lower(case), planned))["forward"]
        for call in case.calls:
            changed = target.run_watched(method, call.inputs)
            check(not changed, f"{case.name}: a call has changed its inputs {changed}")
            where = f"{case.name}, memory for inputs {'' if planned else 'not '}planned"
            assert_close(target.run(method, call.inputs), call.expected, where)


@clause(
    "execute.plans",
    source=(OUTPUTS_GIVEN, INPUTS_ALIASED),
    cases=("add_sub", "left_over", "conv_net", "three_in_three_out"),
)
def test_plans(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A program is right whether memory for its inputs and outputs is part of the plan or the caller's."""
    for planned in (True, False):
        methods = target.open(host.emit(host.lower(case), planned))
        where = f"{case.name}, memory {'' if planned else 'not '}planned"
        assert_calls(target, methods, case.calls, where)


@clause("execute.wrong-inputs", source=(INPUTS_CHECKED, RETRIED), cases=("add", "linear"))
def test_wrong_inputs(
    host: ExecuTorchDevice,
    target: ExecuTorchDevice,
    case: PreparedCase,
    other_cases: Callable[..., tuple[PreparedCase, ...]],
) -> None:
    """Inputs that are too few, too many, of another shape, rank or dtype, or None, are refused with an error, and the
    next good call is right."""
    methods = target.open(host.emit(host.lower(case)))
    good = case.call.inputs
    rest = good[1:]
    wrong = {
        "no input": (),
        "too few": good[:-1],
        "too many": (*good, good[0]),
        "another shape": (good[0][:1], *rest),
        "another rank": (good[0].flatten(), *rest),
        "another dtype": (good[0].to(dtype=good[0].double().dtype), *rest),
        "None": (None, *rest),
        "a number": (1.5, *rest),
    }
    for what, inputs in wrong.items():
        with refused(f"{case.name}, {what}"):
            target.run(methods["forward"], inputs)
        assert_calls(target, methods, case.calls, f"{case.name}, after {what} was refused")
    for each in other_cases("dynamic_tokens", "dynamic_tags", "visited") if case.name == "linear" else ():
        _assert_right_after_wrong_tokens(host, target, each)


def _assert_right_after_wrong_tokens(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """Whatever comes of a token that its table lacks, an error or any value: the next call, of as many, is right, and
    so is what was kept before."""
    methods = target.open(host.emit(host.lower(case)))
    assert_calls(target, methods, case.calls[:1], case.name)
    for call in case.calls[1:]:
        tokens, *rest = call.inputs
        wrong = tokens.index_fill(-1, torch.tensor([1]), 1000)
        with contextlib.suppress(SubjectError):
            target.run(methods["forward"], (wrong, *map(torch.zeros_like, rest)))
        assert_calls(target, methods, [call], f"{case.name}, after a token beyond its table")


@clause("execute.instances", source=EVERY_INIT, cases=("parameters", "running_sum"))
def test_instances(
    host: ExecuTorchDevice,
    target: ExecuTorchDevice,
    case: PreparedCase,
    other_cases: Callable[..., tuple[PreparedCase, ...]],
) -> None:
    """Many programs of one .pte, and of a twin with other weights, live and die in any order, each with its own weights
    and its own state."""
    for each in (*(other_cases("denormalised", "computed_filter") if case.name == "parameters" else ()), case):
        _assert_instances(host, target, each)


def _assert_instances(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    models = [host.export(case, variant) for variant in (0, 1)]
    twins_call = case.calls[0]
    # Before it is lowered: ExecuTorch takes constants out of it (reports/findings/executorch_constants_taken.py).
    expected = host.run_exported(models[1], twins_call)
    programs = [host.emit(host.lower(model)) for model in models]
    for order in (0, -1):
        alive = [(number % 2, target.load(programs[number % 2])) for number in range(10)]
        methods = [target.load_method(program, "forward") for _, program in alive]
        while alive:
            (which, program), method = alive.pop(order), methods.pop(order)
            if which == 0:
                assert_calls(target, {"forward": method}, case.calls, f"{case.name}, {len(alive)} others alive")
            else:
                found = target.run(method, twins_call.inputs)
                assert_close(found, expected, f"a twin of {case.name}, {len(alive)} others alive")
            target.forget(program)
            target.forget(method)


@clause("execute.reload", source=DESTROYED, cases=("heavy",))
def test_reload(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """What a method needs is given back when it is destroyed: a program that is loaded, run and dropped again and again
    does not make the process grow."""
    readings = target.load_many(host.emit(host.lower(case)), case.call, 120)
    grown = readings[-1] - readings[-2]
    check(
        grown < ALLOWANCE,
        f"{case.name}: 30 programs, loaded, run and dropped, should leave less than {ALLOWANCE} bytes, found {grown}",
    )


@clause("execute.init-fails", source=INIT, cases=("two_methods", "same_signatures"), control=Control.NONE)
def test_init_fails(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """Where the delegate of one method cannot be initialised, loading it is refused each time, the other method of that
    program is right, and so is whatever is loaded afterwards."""
    program = host.emit(host.lower(case))
    contents = host.contents(program)
    order = [method for method in contents for _ in contents[method].delegates]
    if not all(contents[method].delegates for method in case.methods):
        raise NotApplicable(f"a method of {case.name} has no delegate that could fail")
    for broken in case.methods:
        loaded = target.load(host.with_blob(program, order.index(broken), b"this is no blob"))
        for _ in range(3):
            with refused(f"loading {broken} of {case.name}, whose blob is none"):
                target.load_method(loaded, broken)
        (other,) = (method for method in case.methods if method != broken)
        methods = {other: target.load_method(loaded, other)}
        assert_calls(target, methods, case.calls_of(other), f"{case.name}.{other}, beside {broken} that was refused")
        assert_calls(target, target.open(program, case.methods), case.calls, f"{case.name}, after {broken} was refused")


@clause("execute.thread-moves", source=CONCURRENT, level=Level.COMPLETE, cases=("linear", "conv_net"))
def test_thread_moves(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A program can be loaded by one thread, called by others, and dropped by yet another."""
    program = host.emit(host.lower(case))
    for _ in range(3):
        for result in target.run_in_turns(program, case.call):
            assert_close(result, case.call.expected, f"{case.name}, called by another thread than loaded it")


@clause("execute.threads", source=CONCURRENT, level=Level.COMPLETE, cases=("add_sub", "linear"))
def test_threads(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """Several threads, each with a program of its own, get the outputs for their own inputs each time."""
    program = host.emit(host.lower(case))
    calls = [*case.calls[:2], *case.calls[:2]]
    methods = [target.open(program)["forward"] for _ in calls]
    found = target.run_at_once(methods, calls, repeat=50)
    check(not found.errors, f"{case.name}, one of {len(calls)} threads raised: {'; '.join(found.errors):.300}")
    for call, results in zip(calls, found.results, strict=True):
        for result in results:
            assert_close(result, call.expected, f"{case.name}, by one of {len(calls)} threads")


@clause(
    "execute.same-input-twice",
    source=(EXECUTE, INPUTS_ALIASED),
    cases=("add_sub", "elementwise", "three_in_three_out", "left_over"),
)
def test_same_input_twice(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """One tensor can be given for several inputs, also where the delegate gets the caller's memory: they are one and
    the same then."""
    count = len(case.call.inputs)
    exported = host.export(case)
    for planned in (True, False):
        method = target.open(host.emit(host.lower(case), planned))["forward"]
        for call in case.calls:
            tensor = call.inputs[-1]
            expected = host.run_exported(exported, dataclasses.replace(call, inputs=(tensor,) * count))
            found = target.run_same(method, tensor, count)
            assert_close(
                found, expected, f"{case.name}, one tensor for {count} inputs, {'' if planned else 'not '}planned"
            )


@clause("execute.sizes-apart", source=DYNAMIC, cases=("dynamic_rows", "dynamic_linear", "dynamic_conv"))
def test_sizes_apart(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """Two loaded programs are called with other sizes in turns: each goes by its own inputs, and not by what another
    was called with last."""
    program = host.emit(host.lower(case))
    pair = [target.open(program)["forward"] for _ in range(2)]
    for one, other in zip(case.calls, reversed(case.calls), strict=True):
        for method, call in zip(pair, (one, other), strict=True):
            found = target.run(method, call.inputs)
            assert_close(found, call.expected, f"{case.name}, one of two programs, sizes {tuple(call.inputs[0].shape)}")
