"""Verbs for operators that are drawn: samples as exported programs, in a control; such programs, lowered and run."""

from __future__ import annotations

import dataclasses
import functools
import io
from typing import Any

import torch
from torch.export import ExportedProgram

from conformance.api.errors import ConformanceFailure
from conformance.compare.comparison import assert_close, comparing
from conformance.compare.values import decode, encode
from conformance.devices import Subject
from conformance.operators import OF_DOUBLES, samples
from conformance.toolchains.executorch.plugin import ExecuTorch
from conformance.toolchains.executorch.verbs.models import (
    Program,
    as_ordinarily,
    as_taken,
    delegated_program,
    loaded_from_bytes,
    lowered_program,
)
from conformance.toolchains.executorch.verbs.session import Session, verb


@dataclasses.dataclass(frozen=True)
class _Operator:
    """What the backend's ``partitioner`` is told about a sample."""

    name: str = "operator"
    methods: tuple[str, ...] = ("forward",)


class _Sample(torch.nn.Module):
    """A sample as a module to export."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self._function = function

    def forward(self, *tensors: torch.Tensor) -> Any:
        return self._function(*tensors)


@verb
def operators(session: Session) -> dict[str, list[str]]:
    """Every operator that PyTorch has samples for, and the dtypes in which it takes them and ExecuTorch may."""
    with Subject():
        return {name: _possible(samples.dtypes_of(name)) for name in samples.database()}


@verb
def operator_samples(session: Session, operator: str, dtype: str, seed: int, count: int) -> list[dict[str, Any]]:
    """Samples of an operator as PyTorch has them, in the form of ``varied_samples``."""
    found = samples.samples_of(operator, dtype, seed, count)
    return [{"reason": sample} if isinstance(sample, str) else _exported(sample) for sample in found]


@verb
def operator_themes(session: Session) -> dict[str, dict[str, list[str]]]:
    """The operators of each theme, with the dtypes in which PyTorch takes them and ExecuTorch may."""
    with Subject():
        themes = samples.themes()
    return {
        theme: {name: possible for name, dtypes in found.items() if (possible := _possible(dtypes))}
        for theme, found in themes.items()
    }


@verb
def varied_samples(
    session: Session, operator: str, dtype: str, seed: int, count: int, modes: list[str]
) -> list[dict[str, Any]]:
    """Samples that are varied: ``{program, operators, inputs, expected, exact, settled, unconfirmed}`` with what
    ``Sample.as_varied`` says, or ``{reason}``. The program is one that was exported; whether ExecuTorch's own kernels
    give what is expected is not known yet."""
    found = samples.varied_samples_of(operator, dtype, seed, count, modes, layouts=False)
    return [{"reason": sample} if isinstance(sample, str) else _exported(sample) for sample in found]


@verb
def confirm_program(session: Session, program: bytes, inputs: bytes, expected: bytes, mode: str, settled: bool) -> str:
    """Why a program judges nobody: ExecuTorch's kernels do not take it, or give something else. Empty if not."""
    try:
        with as_ordinarily():
            lowered = lowered_program(_read(program), [])
        found = _called(lowered, inputs, mode)
        if settled:
            # as closely as the backend is judged, which else were charged with what lies between
            with comparing(OF_DOUBLES):
                assert_close(found, decode(expected), "the operator")
    except ConformanceFailure as failure:
        return f"ExecuTorch's kernels give something else than eager PyTorch: {failure}"
    except Exception as error:
        return f"ExecuTorch fails without a delegate: {samples.in_a_line(error)}"
    return ""


@verb
def lower_program(session: Session, program: bytes, inputs: bytes, mode: str = "") -> int:
    """An exported program, lowered with the backend's partitioner; which needs no ``inputs`` and no mode here."""
    assert session.backend is not None
    with Subject(), as_ordinarily():
        partitioners = session.partitioners(_Operator(), shared=False)
        return session.keep(delegated_program(_read(program), partitioners, session.backend.name))


@verb
def run_program(session: Session, program: int, inputs: bytes, mode: str = "") -> dict[str, Any]:
    """Call a lowered program, in inference mode or not: ``{result}``; ``{left}`` where the backend took nothing."""
    lowered: Program | None = session.get(program)
    if lowered is None:
        return {"left": True}
    with Subject():
        return {"result": encode(_called(lowered, inputs, mode))}


@verb
def forget_program(session: Session, program: int) -> None:
    """Destroy a lowered program."""
    with Subject():
        session.discard(program)


def _possible(dtypes: list[str]) -> list[str]:
    """Those in which a program of ExecuTorch can be."""
    assert ExecuTorch.programs is not None
    return [each for each in dtypes if each not in ExecuTorch.programs.lacks]


def _exported(sample: samples.Sample) -> dict[str, Any]:
    tensors = decode(sample.inputs)
    try:
        with as_ordinarily():
            exported = torch.export.export(_Sample(sample.function), tuple(map(as_taken, tensors)))
        if foreign := _not_core(exported):
            return {"reason": f"ExecuTorch has not {', '.join(foreign)}"}
        buffer = io.BytesIO()
        torch.export.save(exported, buffer)
    except Exception as error:
        return {"reason": f"torch.export fails: {samples.in_a_line(error)}"}
    return {
        "program": buffer.getvalue(),
        "operators": [],
        "inputs": encode(tuple(map(as_taken, tensors))),
        "expected": sample.expected,
        "exact": samples.exact_of(sample.function, tensors) if sample.settled else None,
        "settled": sample.settled,
        "unconfirmed": True,
    } | sample.as_varied()


@functools.cache
def _decomposed() -> frozenset[Any]:
    return frozenset(torch.export.default_decompositions())


def _not_core(exported: ExportedProgram) -> list[str]:
    """The operators of a program that Core ATen has not, and that nothing takes apart."""
    called = {node.target for node in exported.graph.nodes if isinstance(node.target, torch._ops.OpOverload)}
    lacking = (each for each in called - _decomposed() if each.namespace == "aten" and not each._schema.is_mutable)
    return sorted(str(each) for each in lacking if torch.Tag.core not in each.tags and not each.is_view)


def _read(program: bytes) -> ExportedProgram:
    return torch.export.load(io.BytesIO(program))


def _called(program: Program, inputs: bytes, mode: str) -> Any:
    loaded = loaded_from_bytes(program)
    with torch.inference_mode(mode == "inference"):
        return loaded(list(decode(inputs)))
