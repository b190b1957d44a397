"""Running: what a loaded method does with its inputs, its outputs and its state, call by call."""

from __future__ import annotations

from conformance.api.assertions import check, refused
from conformance.compare.assertions import assert_close, assert_equal
from conformance.contract import Level, clauses
from conformance.toolchains.executorch.assertions import assert_calls
from conformance.toolchains.executorch.client import ExecuTorchDevice, PreparedCase

INTERFACE = "https://docs.pytorch.org/executorch/stable/backend-delegates-integration.html"
RUNTIME = "https://docs.pytorch.org/executorch/stable/runtime-python-api-reference.html"
SEVERAL = ("add_sub", "linear", "conv_net")

clause = clauses(source=INTERFACE, level=Level.CORE)


@clause("execute.repeated", cases=SEVERAL)
def test_repeated(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A method that is called again gives the same, bit by bit, also when it was called with other inputs in
    between."""
    method = target.open(host.emit(host.lower(case)))["forward"]
    first, second = case.calls[:2]
    assert_close(target.run(method, first.inputs), first.expected, case.name)
    once = target.run_often(method, first.inputs, 10)
    assert_close(target.run(method, second.inputs), second.expected, f"{case.name}, other inputs")
    for number, again in enumerate((*once, *target.run_often(method, first.inputs, 10))):
        assert_equal(again, once[0], f"{case.name}, called again, time {number}")


@clause("execute.inputs-untouched", source=f"{INTERFACE}, pytorch/executorch#20118", cases=("add_sub", "left_over"))
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


@clause("execute.plans", cases=("add_sub", "left_over", "conv_net", "three_in_three_out"))
def test_plans(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A program is right whether memory for its inputs and outputs is part of the plan or the caller's."""
    for planned in (True, False):
        methods = target.open(host.emit(host.lower(case), planned))
        where = f"{case.name}, memory {'' if planned else 'not '}planned"
        assert_calls(target, methods, case.calls, where)


@clause("execute.wrong-inputs", source=RUNTIME, cases=("add", "linear"))
def test_wrong_inputs(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
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


@clause("execute.instances", cases=("parameters", "running_sum"))
def test_instances(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """Many programs of one .pte, and of a twin with other weights, live and die in any order, each with its own weights
    and its own state."""
    models = [host.export(case, variant) for variant in (0, 1)]
    programs = [host.emit(host.lower(model)) for model in models]
    twins_call = case.calls[0]
    expected = host.run_exported(models[1], twins_call)
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
