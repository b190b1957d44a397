"""Trials as builtin values, to be kept and reported, and as bytes, to travel. Imports no torch."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Mapping
from typing import Any

from conformance.generate.program import Absent, Argument, Line, Listed, Method, Program, Scalar, TensorSpec
from conformance.generate.steps import Call, Step, Trial


def as_plain(trial: Trial) -> dict[str, Any]:
    """A trial as builtin values, which JSON can hold."""
    return dataclasses.asdict(trial)


def as_bytes(trial: Trial) -> bytes:
    """A trial as it travels to a device: in a tenth of the time that builtin values take."""
    return pickle.dumps(trial, pickle.HIGHEST_PROTOCOL)


def trial_from_bytes(data: bytes) -> Trial:
    """The trial that :func:`as_bytes` was given.

    It executes what the bytes say, and so is for devices, which read what the harness wrote; never for the harness.
    """
    trial: Trial = pickle.loads(data)
    return trial


def trial_from_plain(plain: Mapping[str, Any]) -> Trial:
    """The trial that :func:`as_plain` was given."""
    return Trial(tuple(map(_program, plain["programs"])), tuple(map(_step, plain["steps"])))


def _program(plain: Mapping[str, Any]) -> Program:
    return Program(
        arguments=tuple((name, kind) for name, kind in plain["arguments"]),
        lines=tuple(Line(**each) for each in plain["lines"]),
        result=plain["result"],
        parameters=tuple((name, _spec(spec)) for name, spec in plain["parameters"]),
        buffers=tuple((name, _spec(spec)) for name, spec in plain["buffers"]),
        modules=tuple((name, text) for name, text in plain["modules"]),
        marks=tuple(plain["marks"]),
        others=tuple(
            Method(**{**each, "lines": tuple(Line(**line) for line in each["lines"])})
            for each in plain.get("others", ())
        ),
    )


def _spec(plain: Mapping[str, Any]) -> TensorSpec:
    return TensorSpec(**{**plain, "shape": tuple(plain["shape"])})


def _argument(plain: Mapping[str, Any]) -> Argument:
    if "spec" in plain:
        return Absent(_spec(plain["spec"]))
    if "numbers" in plain:
        return Listed(tuple(Scalar(**each) for each in plain["numbers"]))
    return _spec(plain) if "dtype" in plain else Scalar(**plain)


def _step(plain: Mapping[str, Any]) -> Step:
    call = plain["call"]
    if call is None:
        return Step(**plain)
    arguments = tuple(map(_argument, call["arguments"]))
    tied = tuple(call["tied"]) if call["tied"] else None
    return Step(**{**plain, "call": Call(**{**call, "arguments": arguments, "tied": tied})})
