"""What the clauses of ExecuTorch assert with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from conformance.api.assertions import check
from conformance.api.case import Call
from conformance.api.errors import ConformanceFailure, SubjectError
from conformance.api.verdicts import NotExercised
from conformance.compare.assertions import assert_close
from conformance.compare.comparison import describe
from conformance.toolchains.executorch.client import Called, Contents, ExecuTorchDevice, Method, PreparedCase


def assert_computes(target: ExecuTorchDevice, program: bytes, case: PreparedCase, where: str) -> None:
    """Every method of a program, freshly loaded, gives what eager PyTorch gave, for each sample in its turn."""
    assert_calls(target, target.open(program, case.methods), case.calls, where)


def assert_calls(target: ExecuTorchDevice, methods: Mapping[str, Method], calls: Sequence[Call], where: str) -> None:
    """Loaded methods give what is expected of each call, made in their order."""
    for number, call in enumerate(calls):
        found = target.run(methods[call.method], call.inputs)
        assert_close(found, call.expected, f"{where}.{call.method}, call {number}")


def assert_within_a_quantum(found: Sequence[Any], expected: Sequence[Any], quanta: Sequence[float], where: str) -> None:
    """Outputs are off by one step of their scale at most; where there is no scale, by what is allowed of any value."""
    check(len(found) == len(expected), f"{where}: expected {len(expected)} outputs, found {len(found)}")
    for place, (one, other, quantum) in enumerate(zip(found, expected, quanta, strict=True)):
        if not quantum:
            assert_close(one, other, f"{where}, output {place}")
            continue
        if not isinstance(one, torch.Tensor) or (one.dtype, one.shape) != (other.dtype, other.shape):
            raise ConformanceFailure(f"{where}, output {place}: expected {describe(other)}, found {describe(one)}")
        steps = ((one - other).abs().max() / quantum).item()
        check(steps <= 1.01, f"{where}, output {place}: expected at most one step of {quantum:.3g}, found {steps:.3g}")


def expect_caller(target: ExecuTorchDevice) -> None:
    """Raise NotExercised where there is no caller in C++, since nothing compiles it."""
    lacking = target.caller_lacks()
    if lacking:
        raise NotExercised(f"the caller that owns all memory is written in C++: {lacking}")


def assert_called(found: Called, calls: Sequence[Call], where: str) -> None:
    """Calls by a caller that owns all memory gave what is expected of each, and left alone what is not theirs."""
    check_memory(found, where)
    check(found.code == 0, f"{where}: expected no error, found {found.code:#x} in the phase {found.phase!r}")
    check(len(found.results) == len(calls), f"{where}: expected {len(calls)} results, found {len(found.results)}")
    for number, (result, call) in enumerate(zip(found.results, calls, strict=True)):
        assert_close(result, call.expected, f"{where}.{call.method}, call {number}")


def assert_called_or_refused(found: Called, calls: Sequence[Call], where: str) -> bool:
    """Such calls gave what is expected of each, or ended with the code of an error; whether they did."""
    if found.code > 0:
        check_memory(found, where)
        return False
    assert_called(found, calls, where)
    return True


def check_memory(found: Called, where: str) -> None:
    """Memory tells of nothing, and no exception of C++ came out of the delegate."""
    check(not found.findings, f"{where}: {'; '.join(found.findings)}")


def is_refused(target: ExecuTorchDevice, program: bytes, case: PreparedCase) -> bool:
    """Whether a damaged program is refused with an error; raises Difference where it computes what is not right."""
    try:
        assert_computes(target, program, case, f"{case.name}, damaged")
    except SubjectError:
        return True
    return False


def check_called(contents: Mapping[str, Contents], backend: str, methods: Sequence[str], where: str) -> None:
    """The plan of each of the methods calls the delegate of the backend."""
    for method in methods:
        calls = contents[method].calls
        check(
            backend in calls,
            f"{where}.{method}: expected the plan to call the delegate {backend!r}, found "
            + (f"calls of {', '.join(calls)}" if calls else "no call of any delegate"),
        )
