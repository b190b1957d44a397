"""Where on the axes a trial lies. Imports no torch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from conformance.generate.axes import AXES
from conformance.generate.program import FORWARD, Absent, Listed, Program, Scalar, TensorSpec
from conformance.generate.steps import MODES_OF_LOWERING, Call, Trial

#: What an argument that is no tensor is.
_KINDS = {Absent: "None", Listed: "list of numbers", Scalar: "Python number"}
_TIES = {"same": "one tensor twice", "overlap": "overlapping"}


def values_of(trial: Trial) -> list[str]:
    """Where a trial lies: ``axis=value`` for each that it has, sorted."""
    return sorted({f"{axis}={value}" for axis, value in _values(trial)})


def _values(trial: Trial) -> Iterator[tuple[str, str]]:
    shapes: dict[int, dict[int, tuple[int, ...]]] = {}
    for step in trial.steps:
        if step.action == "weights":
            yield "state", step.detail
        elif step.action == "refill":
            yield "state", "refilled"
        elif step.action == "model" and step.seed:
            yield "state", "twin"
        elif step.action == "lower" and step.detail:
            yield "event", "lowered in a mode" if step.detail in MODES_OF_LOWERING else step.detail
        elif step.action in AXES["event"]:
            yield "event", step.action
        if step.call is None:
            continue
        seen = {place: each.shape for place, each in enumerate(step.call.arguments) if isinstance(each, TensorSpec)}
        if shapes.setdefault(step.model, seen) != seen:
            yield "size", "changed"
        yield from _of_call(step.call)
    lowered = [step.model for step in trial.steps if step.action == "lower"]
    calls = [step for step in trial.steps if step.call is not None]
    yield "event", "first call"
    if len(calls) > 1:
        yield "event", "later call"
    if len(set(lowered)) > 1:
        yield "event", "second model"
    if len(set(lowered)) < len(lowered):
        yield "event", "lowered again"
    for program in trial.programs:
        yield from _of_program(program)


def _of_call(call: Call) -> Iterator[tuple[str, str]]:
    yield "mode", call.mode
    if call.method != FORWARD:
        yield "event", "second method"
    yield from (("mode", name) for name, there in call.flags.items() if there)
    if call.tied is not None:
        yield "layout", _TIES[call.tied[2]]
    if len({spec.dtype for spec in call.tensors}) > 1:
        yield "dtype", "mixed"
    for argument in call.arguments:
        if not isinstance(argument, TensorSpec):
            yield "dtype", _KINDS[type(argument)]
            continue
        yield "dtype", argument.dtype
        yield "layout", argument.layout
        yield "value", argument.values
        for size in sizes_of(argument.shape):
            yield "size", size


def _of_program(program: Program) -> Iterator[tuple[str, str]]:
    parts = {"parameters": program.parameters, "buffers": program.buffers, "submodules": program.modules}
    yield from (("state", name) for name, there in parts.items() if there)
    if not any(parts.values()):
        yield "state", "none"
    if "writes" in program.marks:
        yield "state", "written"


def sizes_of(shape: Sequence[int]) -> set[str]:
    """The names of the sizes that a shape has, as the axis "size" calls them."""
    names = {f"rank {len(shape)}"}
    for size in shape:
        names.add(
            "empty"
            if size == 0
            else "1"
            if size == 1
            else "large"
            if size > 512
            else "even"
            if size % 2 == 0
            else "odd"
        )
    if math.prod(shape) >= 32768:
        names.add("beyond a thread's share")
    return names
