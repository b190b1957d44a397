"""Weights that lie outside of a program: what a delegate puts into a .ptd, and finds there by name."""

from __future__ import annotations

from conformance.api.assertions import refused
from conformance.api.verdicts import NotExercised
from conformance.compare.assertions import assert_close
from conformance.contract import Control, Level, clauses
from conformance.run.result import Record
from conformance.toolchains.executorch.assertions import (
    assert_called,
    assert_called_or_refused,
    assert_calls,
    expect_caller,
)
from conformance.toolchains.executorch.client import ExecuTorchDevice, Exported, PreparedCase, WithData
from conformance.toolchains.executorch.promises import EXTERNAL_DATA, FREED, NAMED_DATA

clause = clauses(source=(EXTERNAL_DATA, NAMED_DATA), level=Level.MOBILE, cases=("linear", "conv_net"))


@clause("external.outputs", control=Control.NONE)
def test_external_outputs(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A program whose weights lie in a .ptd computes what the model does where it is loaded with that file, and is
    refused where it is loaded without: nothing is made up for what is missing."""
    made = _made(host, host.export_with_data_aside(case))
    for _ in range(2):
        loaded = target.load_with_data(made.program, made.data[0])
        methods = {"forward": target.load_method(loaded, "forward")}
        assert_calls(target, methods, case.calls, f"{case.name}, its weights in a .ptd")
        with refused(f"{case.name}, loaded without its .ptd"):
            alone = target.load_method(target.load(made.program), "forward")
            assert_calls(target, {"forward": alone}, case.calls, f"{case.name}, without its .ptd")


@clause("external.apart", control=Control.NONE)
def test_external_apart(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """Two programs that are loaded side by side, each with a .ptd of its own, each compute with their own weights."""
    models = [host.export_with_data_aside(case, variant) for variant in (0, 1)]
    programs = [_made(host, each) for each in models]
    methods = [target.load_method(target.load_with_data(each.program, each.data[0]), "forward") for each in programs]
    for call in case.calls:
        for which, (model, method) in enumerate(zip(models, methods, strict=True)):
            expected = host.run_exported(model, call)
            assert_close(target.run(method, call.inputs), expected, f"{case.name}, number {which} of two models")


@clause("external.truncated", control=Control.NONE)
def test_external_truncated(
    host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, record: Record
) -> None:
    """A .ptd that ends early, or is missing, is refused, or its program computes what is right all the same: no
    crash, and no value that was made up."""
    expect_caller(target)
    made = _made(host, host.export_with_data_aside(case))
    data = made.data[0]
    assert_called(target.call_natively(made.program, case.calls, data), case.calls, f"{case.name}, the whole .ptd")
    refusals = 0
    for part in range(8):
        called = target.call_natively(made.program, case.calls, data[: len(data) * part // 8])
        refusals += not assert_called_or_refused(called, case.calls, f"{case.name}, {part} eighths of its .ptd")
    record.note(f"{case.name}: {refusals} of 8 truncated .ptd files were refused, with the others all was right")
    again = target.call_natively(made.program, case.calls, data)
    assert_called(again, case.calls, f"{case.name}, the whole .ptd, after parts of it")


@clause("external.freed", source=(FREED, NAMED_DATA), control=Control.NONE)
def test_external_freed(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """What a delegate was given by name and has freed it does not use again."""
    expect_caller(target)
    made = _made(host, host.export_with_data_aside(case))
    calls = (*case.calls, *case.calls)
    found = target.call_natively(made.program, calls, made.data[0])
    assert_called(found, calls, f"{case.name}, what was freed is overwritten")


def _made(host: ExecuTorchDevice, exported: Exported) -> WithData:
    """A program with its .ptd. Raises NotExercised where preprocess leaves all in the program."""
    made = host.emit_with_data(host.lower(exported))
    if not made.data:
        raise NotExercised("preprocess leaves weights in the program that are tagged for a file of their own")
    return made
