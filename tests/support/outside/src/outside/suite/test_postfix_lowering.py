"""The contract of compilers of reverse Polish notation."""

from __future__ import annotations

from outside.client import PostfixDevice

from conformance.api.errors import ConformanceFailure, SubjectError
from conformance.contract import Control, Level, clause
from conformance.run.result import Record
from conformance.toolchains.client import PreparedCase


@clause("postfix.results", source="the manual of 1972", level=Level.CORE, cases=())
def test_results(host: PostfixDevice, case: PreparedCase) -> None:
    """A compiled program gives what the notation says."""
    function = host.compile(case)
    for call in case.calls:
        found = host.run(function, call.inputs)
        if found != call.expected:
            raise ConformanceFailure(f"{call.inputs} gives {found}, expected {call.expected}")


@clause("postfix.refusal", source="the manual of 1972", level=Level.CORE, cases=("mean",), control=Control.NONE)
def test_refusal(host: PostfixDevice) -> None:
    """A text with too few operands is refused when it is compiled."""
    try:
        host.compile("a +")
    except SubjectError as error:
        if error.phase == "lower":
            return
    raise ConformanceFailure("a text with too few operands was compiled")


@clause("postfix.where", source="the manual of 1972", level=Level.REPORTED, cases=("mean",))
def test_where(host: PostfixDevice, target: PostfixDevice, record: Record) -> None:
    """Where the host and the target are."""
    record.note(f"host: {host.board()}, target: {target.board()}")
