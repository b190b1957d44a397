"""Memory and options: a caller in C++, as on a device, who owns all memory that a method runs in, and looks at it.

What was freed or reset is overwritten at once, and bytes that nobody may touch lie beside all that was handed out.
"""

from __future__ import annotations

from conformance.api.assertions import check
from conformance.api.verdicts import NotExercised
from conformance.compare.assertions import assert_close
from conformance.contract import Control, Level, clauses
from conformance.discovery.describing import Description
from conformance.run.result import Record
from conformance.toolchains.executorch.assertions import assert_called, assert_called_or_refused, expect_caller
from conformance.toolchains.executorch.client import ExecuTorchDevice, PreparedCase
from conformance.toolchains.executorch.promises import (
    EXECUTE,
    FREED,
    INIT,
    LASTING,
    LOAD_OPTIONS,
    OPTIONS,
    OUTPUTS_GIVEN,
    TEMPORARY,
)

SEVERAL = ("add_sub", "linear", "conv_net", "sandwich")
#: Options that no delegate knows, of each type that there is.
UNKNOWN: dict[str, bool | int | str] = {
    "conformance_switch": True,
    "conformance_number": -7,
    "conformance_text": "no such option",
}

clause = clauses(source=EXECUTE, level=Level.CORE)


@clause(
    "memory.given",
    source=(EXECUTE, OUTPUTS_GIVEN),
    cases=(*SEVERAL, "three_in_three_out", "dynamic_rows", "channels_last", "running_sum", "two_methods", "int64"),
)
def test_given(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """A method that runs in its caller's memory writes its outputs where they belong, changes none of its inputs, and
    writes to nothing beside them; whether inputs and outputs are planned or the caller's."""
    expect_caller(target)
    for planned in (True, False):
        program = host.emit(host.lower(case), planned)
        for method in case.methods:
            calls = case.calls_of(method)
            where = f"{case.name}, memory {'' if planned else 'not '}planned"
            assert_called(target.call_natively(program, calls), calls, where)


@clause("memory.freed", source=FREED, cases=(*SEVERAL, "two_methods", "heavy"))
def test_freed(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """What a delegate has freed of its blob it does not use again: the memory has other values then."""
    expect_caller(target)
    program = host.emit(host.lower(case))
    for method in case.methods:
        calls = (*case.calls_of(method), *case.calls_of(method))
        assert_called(target.call_natively(program, calls), calls, f"{case.name}, what was freed is overwritten")


@clause("memory.temporary", source=TEMPORARY, cases=SEVERAL)
def test_temporary(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, record: Record) -> None:
    """Temporary memory is a delegate's for one call, and is overwritten when the call is over: nothing that it needs at
    the next call is there. Where there is less than it asks for, or none, a call ends with an error, or is right."""
    expect_caller(target)
    program = host.emit(host.lower(case))
    calls = (*case.calls, *case.calls)
    ample = target.call_natively(program, calls, temporary=1 << 24)
    assert_called(ample, calls, f"{case.name}, 16 MiB of temporary memory")
    record.note(f"{case.name}: {ample.temporary} bytes of temporary memory were asked for in {len(calls)} calls")
    for size in (0, 16, 1024):
        found = target.call_natively(program, calls, temporary=size)
        assert_called_or_refused(found, calls, f"{case.name}, {size} bytes of temporary memory")
    assert_called(target.call_natively(program, calls, temporary=1 << 24), calls, f"{case.name}, enough memory again")


@clause("memory.lasting", source=LASTING, cases=SEVERAL)
def test_lasting(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, record: Record) -> None:
    """Where there is less memory than a method needs for as long as it lives, it is refused with an error, or works:
    with each eighth more of what is enough."""
    expect_caller(target)
    program = host.emit(host.lower(case))
    enough = next(
        size
        for size in (1 << power for power in range(10, 27))
        if assert_called_or_refused(target.call_natively(program, case.calls, lasting=size), case.calls, case.name)
    )
    for size in range(0, enough, enough // 8):
        found = target.call_natively(program, case.calls, lasting=size)
        assert_called_or_refused(found, case.calls, f"{case.name}, {size} bytes for as long as it lives")
    record.note(f"{case.name}: {enough} bytes are enough")
    assert_called(target.call_natively(program, case.calls), case.calls, f"{case.name}, any amount of memory again")


@clause("memory.error-codes", source=INIT, cases=("add", "linear", "conv"), control=Control.NONE)
def test_error_codes(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """What is no blob is refused with the code of an error, and not with an exception of C++: the runtime of a device
    is built without them. Nothing is written to memory that is not the delegate's."""
    expect_caller(target)
    program = host.emit(host.lower(case))
    blob, *_ = host.blobs(program) or [b""]
    if not blob:
        raise NotExercised(f"there is no blob in the program of {case.name}")
    for what, damaged in {"empty": b"", "text": b"this is no blob", "half of it": blob[: len(blob) // 2]}.items():
        found = target.call_natively(host.with_blob(program, 0, damaged), case.calls)
        assert_called_or_refused(found, case.calls, f"{case.name}, its blob {what}")
    assert_called(target.call_natively(program, case.calls), case.calls, f"{case.name}, after blobs were refused")


@clause("options.at-load", source=LOAD_OPTIONS, level=Level.COMPLETE, cases=("add_sub", "linear"))
def test_options_at_load(
    host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, backend: Description
) -> None:
    """Load-time options are those of one load, and of the delegate that they are for: those that it does not know it
    refuses with an error, or leaves alone; what is loaded without them afterwards is right."""
    expect_caller(target)
    program = host.emit(host.lower(case))
    plain = target.open(program)["forward"]
    for key, value in UNKNOWN.items():
        where = f"{case.name}, with the option {key}={value!r}"
        others = target.call_natively(program, case.calls, backend="NobodysBackend", options={key: value})
        assert_called(others, case.calls, f"{where} for another delegate")
        found = target.call_natively(program, case.calls, backend=backend.name, options={key: value})
        assert_called_or_refused(found, case.calls, where)
        assert_called(target.call_natively(program, case.calls), case.calls, f"{where} at the load before")
    for call in case.calls:
        assert_close(target.run(plain, call.inputs), call.expected, f"{case.name}, loaded before all of them")


@clause("options.while-running", source=OPTIONS, level=Level.COMPLETE, cases=("add_sub", "linear"))
def test_options_while_running(
    host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, backend: Description
) -> None:
    """Options that a delegate does not know can be set and asked for while programs run: it answers, with an error or
    without, and computes what it did; what is loaded afterwards too."""
    expect_caller(target)
    program = host.emit(host.lower(case))
    loaded = target.open(program)["forward"]
    for key, value in UNKNOWN.items():
        for code in (
            target.set_option(backend.name, key, value),
            target.get_option(backend.name, key, value),
        ):
            check(code >= 0, f"{backend.name}: expected the code of an error or none for {key}, found {code}")
        for call in case.calls:
            assert_close(target.run(loaded, call.inputs), call.expected, f"{case.name}, after {key} was set")
        assert_called(target.call_natively(program, case.calls), case.calls, f"{case.name}, loaded after {key} was set")
