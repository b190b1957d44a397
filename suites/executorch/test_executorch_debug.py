"""Debugging: what tracing changes, and what debug handles say of a delegate's steps."""

from __future__ import annotations

from conformance.api.assertions import check
from conformance.api.verdicts import NotExercised
from conformance.compare.assertions import assert_close, assert_equal
from conformance.contract import Control, Level, clauses
from conformance.run.result import Record
from conformance.toolchains.executorch.client import Event, ExecuTorchDevice, PreparedCase
from conformance.toolchains.executorch.promises import DELEGATE_EVENTS, HANDLE_MAP, TRACED

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
        untraced = target.run(plain, call.inputs)
        assert_close(untraced, call.expected, f"{case.name}, call {number}, not traced")
        with record.reporting():
            assert_equal(found, untraced, f"{case.name}, call {number}, traced and not")


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


@clause(
    "trace.events",
    source=(TRACED, DELEGATE_EVENTS),
    cases=("linear", "conv_net", "sandwich", "two_methods"),
    control=Control.NONE,
)
def test_events(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase) -> None:
    """Each call that is traced leaves one event for each time that the plan calls a delegate. What the delegate logs
    lies within such an event, ends after it begins, and bears ids that its debug handle map has, where it gives one."""
    lowered = host.lower(case)
    ids = {each for found in host.handle_maps(lowered) for each in found.ids}
    program = host.emit(lowered)
    contents = host.contents(program)
    logged = 0
    for method in case.methods:
        for number, events in enumerate(target.trace(program, case.calls_of(method))):
            where = f"{case.name}.{method}, call {number}"
            calls = {each.instruction: each for each in events if each.name == "DELEGATE_CALL"}
            wanted = len(contents[method].calls)
            check(len(calls) == wanted, f"{where}: expected {wanted} events of delegate calls, found {len(calls)}")
            own = [each for each in events if each.id]
            logged += len(own)
            for event in own:
                _check_event(event, calls.get(event.instruction), ids, where)
    if not logged:
        raise NotExercised("the delegate logs no events of its own")


def _check_event(event: Event, call: Event | None, ids: set[str], where: str) -> None:
    check(call is not None, f"{where}: the event {event.id!r} lies in no call of a delegate")
    assert call is not None
    check(
        not ids or event.id in ids,
        f"{where}: expected an id of the debug handle map, {sorted(ids)}, found {event.id!r}",
    )
    check(
        call.begins <= event.begins <= event.ends <= call.ends,
        f"{where}: expected the event {event.id!r} between {call.begins} and {call.ends}, found it from {event.begins} "
        f"to {event.ends}",
    )
