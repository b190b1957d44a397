"""Quantised models: what the author's quantizer, PT2E and the partitioner make of a model together."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch

from conformance.api.assertions import check
from conformance.api.case import Call
from conformance.api.verdicts import NotExercised
from conformance.contract import Level, clauses
from conformance.discovery.describing import Description
from conformance.run.result import Record
from conformance.toolchains.executorch.assertions import assert_within_a_quantum
from conformance.toolchains.executorch.client import ExecuTorchDevice, Exported, PreparedCase
from conformance.toolchains.executorch.promises import QUANTISED

QUANTISED_CASES = ("quantised_add", "quantised_linear", "quantised_conv")

clause = clauses(source=QUANTISED, level=Level.MOBILE, cases=QUANTISED_CASES)


@clause("quantised.outputs")
def test_quantised_outputs(
    host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, backend: Description, record: Record
) -> None:
    """A model that is prepared by the backend's quantizer, calibrated, converted and lowered computes what the
    converted model computes in PyTorch, to one step of its scale."""
    exported = _quantised(host, case)
    program = _lowered(host, exported, case, record)
    _assert_like(host, target, program, exported, case.calls, case.name)


@clause("quantised.range")
def test_quantised_range(host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, record: Record) -> None:
    """Values beyond the range that was calibrated are taken for its ends, in the lowered model as in the converted
    one."""
    exported = _quantised(host, case)
    program = _lowered(host, exported, case, record)
    beyond = [
        dataclasses.replace(call, inputs=tuple(factor * each for each in call.inputs))
        for call in case.calls
        for factor in (40.0, -40.0)
    ]
    _assert_like(host, target, program, exported, beyond, f"{case.name}, beyond its range")


@clause("quantised.repeated")
def test_quantised_repeated(
    host: ExecuTorchDevice, target: ExecuTorchDevice, case: PreparedCase, record: Record
) -> None:
    """Scales are those of the model: values beyond the range, small ones and zeros, that came in between, change
    nothing for those that come afterwards."""
    exported = _quantised(host, case)
    program = _lowered(host, exported, case, record)
    between = [
        dataclasses.replace(case.call, inputs=tuple(torch.zeros_like(each) + value for each in case.call.inputs))
        for value in (0.0, 1e-3, 90.0)
    ]
    _assert_like(host, target, program, exported, [*case.calls, *between, *case.calls], case.name)


def _quantised(host: ExecuTorchDevice, case: PreparedCase) -> Exported:
    if not host.has_quantizer(case.name):
        raise NotExercised("the backend's class gives no quantizer of models (quantizer())")
    return host.export_quantised(case)


def _lowered(host: ExecuTorchDevice, exported: Exported, case: PreparedCase, record: Record) -> bytes:
    lowered = host.lower(exported)
    found = host.delegation(lowered)["forward"]
    record.note(f"{case.name}: {found.delegated} nodes are delegated, left are {', '.join(found.left) or 'none'}")
    return host.emit(lowered)


def _assert_like(
    host: ExecuTorchDevice,
    target: ExecuTorchDevice,
    program: bytes,
    exported: Exported,
    calls: Sequence[Call],
    where: str,
) -> None:
    """A loaded program gives what the converted model gives, to one step of the scale of each output."""
    method = target.open(program)["forward"]
    quanta = host.quanta(exported)
    check(any(quanta), f"{where}: expected an output that is quantised, found none: its quantizer has left it alone")
    for number, call in enumerate(calls):
        expected = host.run_exported(exported, call)
        found = target.run(method, call.inputs)
        assert_within_a_quantum(found, expected, quanta, f"{where}, call {number}")
