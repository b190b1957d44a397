"""What the clauses of ExecuTorch assert with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.api.assertions import check
from conformance.api.case import Call
from conformance.api.errors import SubjectError
from conformance.compare.assertions import assert_close
from conformance.toolchains.executorch.client import Contents, ExecuTorchDevice, Method, PreparedCase


def assert_computes(target: ExecuTorchDevice, program: bytes, case: PreparedCase, where: str) -> None:
    """Every method of a program, freshly loaded, gives what eager PyTorch gave, for each sample in its turn."""
    assert_calls(target, target.open(program, case.methods), case.calls, where)


def assert_calls(target: ExecuTorchDevice, methods: Mapping[str, Method], calls: Sequence[Call], where: str) -> None:
    """Loaded methods give what is expected of each call, made in their order."""
    for number, call in enumerate(calls):
        found = target.run(methods[call.method], call.inputs)
        assert_close(found, call.expected, f"{where}.{call.method}, call {number}")


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
