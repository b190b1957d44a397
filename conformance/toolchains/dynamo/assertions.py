"""Assertions for clauses about ``torch.compile`` backends."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from conformance.api.assertions import check
from conformance.api.case import Call
from conformance.api.errors import ConformanceFailure
from conformance.api.features import dynamic_shapes
from conformance.compare.assertions import assert_close, assert_equal, assert_strides_like
from conformance.discovery.describing import Description
from conformance.run.result import Record
from conformance.toolchains.assertions import is_variable_of_others
from conformance.toolchains.dynamo.client import (
    Counts,
    DynamoDevice,
    Model,
    Observation,
    PreparedCase,
    Surroundings,
)
from conformance.toolchains.shared_state import RECURSION_LIMIT

#: How many calls are made to see whether their tensors pile up in memory.
_MANY_CALLS = 40
#: What a compiler may change for itself: deeper recursion (Inductor, sympy) changes nobody's results.
_OF_ITS_OWN = {RECURSION_LIMIT}

__all__ = [
    "assert_costs_little_more",
    "assert_counts",
    "assert_nothing_piles_up",
    "assert_right_in_threads",
    "assert_right_in_turns",
    "assert_same_call",
    "assert_same_effects",
    "assert_same_surroundings",
    "assert_same_under",
    "assert_same_without_options",
    "calls_of_twin",
    "is_repeated",
    "sizes_of",
]


def assert_counts(counts: Counts, where: str, *, lowerings: int | None = None, least_runs: int = 1) -> None:
    """The backend lowered graphs (``lowerings`` of them, if given), and its code ran ``least_runs`` times or more.

    Right results alone prove nothing: PyTorch itself runs what a backend skips, even if that is one graph of several.
    """
    check(
        not counts.declined,
        f"{where}: the backend raised {', '.join(dict.fromkeys(counts.declined))} in place of lowering "
        f"{len(counts.declined)} of {counts.lowerings} graphs, which Dynamo passed over: PyTorch ran what they have",
    )
    if lowerings is not None:
        check(
            counts.lowerings == lowerings,
            f"{where}: expected {lowerings} lowerings by the backend, found {counts.lowerings}",
        )
    check(counts.lowerings > 0, f"{where}: the backend was never given a graph: PyTorch ran the model by itself")
    check(
        counts.runs >= least_runs,
        f"{where}: the backend's code ran {counts.runs} times in {least_runs} calls: PyTorch ran the rest by itself",
    )


def assert_same_call(seen: Observation, expected: Observation, where: str) -> None:
    """A call gave what it gives in eager PyTorch, and did what it does there, in everything that can be observed."""
    assert_close(seen.result, expected.result, where)
    assert_same_effects(seen, expected, where)
    assert_strides_like(seen.result, expected.result, where)
    assert_equal(seen.shared, expected.shared, f"{where}, what shares memory")
    for name in {**expected.traits, **seen.traits}:
        traits, found = expected.traits.get(name, []), seen.traits.get(name, [])
        check(found == traits, f"{where}: {name}: expected {_listed(traits)}, found {_listed(found)}")


def _listed(traits: Sequence[str]) -> str:
    return ", ".join(traits) or "nothing special"


def assert_same_effects(seen: Observation, expected: Observation, where: str) -> None:
    """The arguments are afterwards what they are in eager PyTorch, and the same ones have been written to; and so are
    the parameters and buffers that the call changes."""
    assert_close(seen.arguments, expected.arguments, f"{where}, the arguments after the call")
    check(
        seen.written == expected.written,
        f"{where}: which arguments have a new _version: expected {expected.written}, found {seen.written}",
    )
    assert_close(seen.state, expected.state, f"{where}, the parameters and buffers that it changed")


def assert_same_under(guard: str, host: DynamoDevice, bare: DynamoDevice, case: PreparedCase) -> None:
    """Each call within a guard is the same as in eager PyTorch within it, twice, with inputs that require no grad and
    with inputs that do; and it is the backend's code that runs."""
    compiled, original = host.compile(case), bare.build(case)
    for differentiable in (False, True, False):
        for call in case.calls:
            seen, expected = (
                device.run(model, call.inputs, guard=guard, differentiable=differentiable)
                for device, model in ((host, compiled), (bare, original))
            )
            inputs = " of inputs that require grad" if differentiable else ""
            assert_same_call(seen, expected, f"{case.name}{inputs} under {guard}")
    assert_counts(host.counts(compiled), case.name, least_runs=3 * len(case.calls))


def calls_of_twin(bare: DynamoDevice, case: PreparedCase, variant: int) -> tuple[Call, ...]:
    """The calls of a case, with the results of its twin, the same model with other weights, in eager PyTorch."""
    twin = bare.build(case, variant)
    return tuple(dataclasses.replace(call, expected=bare.run(twin, call.inputs).result) for call in case.calls)


def assert_right_in_turns(host: DynamoDevice, models: Sequence[tuple[Model, Sequence[Call]]], where: str) -> None:
    """Models that are called in turns give right results, each of which is still right after the last call."""
    most = max(len(calls) for _, calls in models)
    turns = [(model, calls[turn % len(calls)]) for turn in range(most) for model, calls in models]
    results = host.run_in_turns([model for model, _ in turns], tuple(call for _, call in turns))
    for number, ((_, call), result) in enumerate(zip(turns, results, strict=True), start=1):
        assert_close(result, call.expected, f"{where}, call {number} of {len(turns)}")
        assert_strides_like(result, call.expected, f"{where}, call {number} of {len(turns)}")


def assert_right_in_threads(host: DynamoDevice, model: Model, case: PreparedCase, *, threads: int, rounds: int) -> None:
    """So many fresh threads at once each make every call of a case so often, and all are right; the backend's code ran
    for each."""
    before = host.counts(model).runs
    found = host.run_in_threads(model, case.calls, threads=threads, rounds=rounds)
    where = f"{case.name}, {threads} threads at once"
    check(not found.errors, f"{where}: {found.errors}")
    for call, results in zip(case.calls, found.results, strict=True):
        for result in results:
            assert_close(result, call.expected, where)
    assert_counts(host.counts(model), where, least_runs=before + threads * rounds * len(case.calls))


def assert_nothing_piles_up(
    host: DynamoDevice, model: Model, case: PreparedCase, record: Record, *, differentiable: bool = False
) -> None:
    """After many calls the tensors of at most half of them are in memory. Whichever are is reported: what a backend
    keeps for the next call, it has a use for."""
    kept = host.retained(model, case.call.inputs, differentiable=differentiable, calls=_MANY_CALLS)
    calls = {name.rpartition(" ")[2] for name in kept}
    shown = ", ".join(kept[:4]) + (", ..." if len(kept) > 4 else "")
    check(
        len(calls) <= _MANY_CALLS // 2,
        f"{case.name}: tensors of {len(calls)} of {_MANY_CALLS} calls are still in memory: {shown}",
    )
    with record.reporting():
        check(not kept, f"{case.name}: still in memory after {_MANY_CALLS} calls: {shown}")


def is_repeated(result: Any, others: Iterable[Any]) -> bool:
    """Whether a backend gives the same result again, bit by bit, for the same call."""
    try:
        for other in others:
            assert_equal(other, result, "called again")
    except ConformanceFailure:
        return False
    return True


def assert_same_surroundings(found: Surroundings, expected: Surroundings, where: str, record: Record) -> None:
    """Nothing of what everybody in a process and a thread has is new, gone or another; a variable of the environment
    that is new, and nobody's but its maker's, is reported, and so is what a compiler takes for itself."""
    nothing = "nothing"
    changed = [name for name in {**expected, **found} if found.get(name) != expected.get(name)]
    own = {name for name in changed if name not in expected and not is_variable_of_others(name)}
    own |= _OF_ITS_OWN.intersection(changed)
    for names, graded in (([name for name in changed if name not in own], True), (sorted(own), False)):
        told = [f"{name}: expected {expected.get(name, nothing)}, found {found.get(name, nothing)}" for name in names]
        with contextlib.nullcontext() if graded else record.reporting():
            check(not told, f"{where}: {'; '.join(told)}")


def assert_costs_little_more(
    found: Mapping[str, float], allowed: Mapping[str, float], what: str, than: str = "later"
) -> None:
    """What a call costs more than others do, by unit ("functions", "seconds"), is within what is allowed of each."""
    for unit, most in allowed.items():
        check(found[unit] <= most, f"{what} takes {found[unit]:g} {unit} more than {than} (allowed: {most:g})")


def assert_same_without_options(
    host: DynamoDevice, case: PreparedCase, expected: Any, operators: list[str], assert_same: Callable[..., None]
) -> None:
    """A compile without options is lowered by itself, gives what ``assert_same`` takes for ``expected``, and leaves to
    PyTorch the ``operators`` (sorted)."""
    plain = host.compile_with(case)
    assert_same(host.run(plain, case.call.inputs).result, expected, f"{case.name}, compiled without options")
    ran = sorted(host.operators_run(plain, case.call.inputs))
    assert_equal(ran, operators, f"{case.name}: what PyTorch runs itself")
    assert_counts(host.counts(plain), case.name, lowerings=1, least_runs=3)


def sizes_of(backend: Description) -> bool | None:
    """What the keyword ``dynamic`` of ``torch.compile`` is, for a model that is called with several sizes: False where
    the backend declares no dynamic shapes, so that each size is lowered for."""
    return None if backend.has(dynamic_shapes) else False
