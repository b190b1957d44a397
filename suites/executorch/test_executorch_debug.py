"""Debugging: what tracing changes, and what debug handles say of a delegate's steps."""

from __future__ import annotations

from conformance.api.assertions import check
from conformance.api.verdicts import NotExercised
from conformance.compare.assertions import assert_close, assert_equal
from conformance.contract import Control, Level, clauses
from conformance.run.result import Record
from conformance.toolchains.executorch.client import ExecuTorchDevice, PreparedCase
from conformance.toolchains.executorch.promises import HANDLE_MAP, TRACED

clause = clauses(source=TRACED, level=Level.COMPLETE)


@clause(
    "trace.same-results",
    cases=("add_sub", "linear", "conv_net", "running_sum"),
)
def test_same_results(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, record: Record) -> None:
    """A program that is loaded with tracing on gives the same results as without; whether bit by bit is reported."""
    program = host.emit(host.lower(case))
    plain = target.open(program)["forward"]
    traced = target.load_method(target.load_traced(program), "forward")
    for number, call in enumerate(case.calls):
        found = target.run(traced, call.inputs)
        assert_close(found, call.expected, f"{case.name}, call {number}, traced")
        with record.reporting():
            assert_equal(found, target.run(plain, call.inputs), f"{case.name}, call {number}, traced and not")


@clause(
    "trace.handle-map", source=HANDLE_MAP, cases=("linear", "conv_net", "sandwich", "two_methods"), control=Control.NONE
)
def test_handle_map(host: ExecuTorchDevice, case: PreparedCase) -> None:
    """The debug handle map of a delegate names only debug handles that its part of the graph has."""
    maps = host.handle_maps(host.lower(case))
    for found in maps:
        unknown = sorted(set(found.named) - set(found.has))
        check(not unknown, f"{case.name}: expected debug handles among {found.has}, found {unknown} beside them")
    if not any(each.named for each in maps):
        raise NotExercised("preprocess gives no debug handle map, or an empty one")
