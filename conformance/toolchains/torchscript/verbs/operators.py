"""Verbs for the operator table: samples as traced programs, in a control; lowering such a program, with the backend."""

from __future__ import annotations

import dataclasses
import io
from typing import Any

import torch

from conformance.api.errors import ConformanceFailure
from conformance.compare.comparison import assert_close
from conformance.compare.values import decode, encode
from conformance.devices import Subject
from conformance.operators import samples
from conformance.toolchains.torchscript.verbs.authored import lowered
from conformance.toolchains.torchscript.verbs.inspection import nodes_of
from conformance.toolchains.torchscript.verbs.session import Session, verb


@dataclasses.dataclass(frozen=True)
class _Program:
    """What the backend's ``compile_spec`` is told about a program."""

    name: str = "operator"
    methods: tuple[str, ...] = ("forward",)


@verb
def operators(session: Session) -> dict[str, list[str]]:
    """Every operator that PyTorch has samples for, and the dtypes in which it takes them."""
    with Subject():
        return {name: samples.dtypes_of(name) for name in samples.database()}


@verb
def operator_samples(session: Session, operator: str, dtype: str, seed: int, count: int) -> list[dict[str, Any]]:
    """Samples of an operator: ``{program, operators, inputs, expected, exact, settled}``, or ``{reason}`` where PyTorch
    itself does not get that far. The program is a saved module whose forward takes the inputs; plain TorchScript
    was seen to compute from it what eager PyTorch gives; ``exact`` is what that gives in float64, if it can be."""
    return [
        {"reason": sample} if isinstance(sample, str) else _traced(sample)
        for sample in samples.samples_of(operator, dtype, seed, count)
    ]


@verb
def operator_themes(session: Session) -> dict[str, dict[str, list[str]]]:
    """The operators of each theme, with the dtypes in which PyTorch takes them."""
    with Subject():
        return samples.themes()


@verb
def varied_samples(
    session: Session, operator: str, dtype: str, seed: int, count: int, modes: list[str]
) -> list[dict[str, Any]]:
    """As ``operator_samples``, of samples that are varied, with what ``Sample.as_varied`` says of each."""
    return [
        {"reason": sample} if isinstance(sample, str) else _traced(sample) | sample.as_varied()
        for sample in samples.varied_samples_of(operator, dtype, seed, count, modes)
    ]


@verb
def lower_program(session: Session, program: bytes, inputs: bytes, mode: str = "") -> int:
    """A saved module, loaded and lowered; which needs no ``inputs`` and no mode in this toolchain."""
    assert session.backend is not None
    with Subject():
        module = torch.jit.load(io.BytesIO(program))
        return session.keep(lowered(session.backend, module, _Program()))


@verb
def run_program(session: Session, program: int, inputs: bytes, mode: str = "") -> dict[str, Any]:
    """Call a lowered module, in inference mode or not: ``{result}``."""
    module = session.get(program)
    with Subject():
        with torch.inference_mode(mode == "inference"):
            result = module.forward(*decode(inputs))
        return {"result": encode(result)}


@verb
def forget_program(session: Session, program: int) -> None:
    """Destroy a lowered module."""
    with Subject():
        session.discard(program)


class _Operator(torch.nn.Module):
    """A sample as a module to trace."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self._function = function

    def forward(self, *tensors: torch.Tensor) -> Any:
        return self._function(*tensors)


def _called(loaded: Any, sample: samples.Sample, *, optimized: bool) -> Any:
    """What a module gives for a sample: a backend may take its graph as it is, or optimise it as PyTorch does."""
    with torch.jit.optimized_execution(optimized):  # type: ignore[attr-defined]
        return loaded(*decode(sample.inputs))


def _traced(sample: samples.Sample) -> dict[str, Any]:
    """Traced and not scripted: only a trace takes calls through Python, and arguments of every type."""
    try:
        module = torch.jit.trace(_Operator(sample.function), decode(sample.inputs), check_trace=False)
        program = module.save_to_buffer()
        loaded = torch.jit.load(io.BytesIO(program))
        with torch.inference_mode(sample.mode == "inference"):
            results = [_called(loaded, sample, optimized=flag) for flag in (True, False)]
    except Exception as error:
        return {"reason": f"plain TorchScript fails: {samples.in_a_line(error)}"}
    if sample.settled:
        try:
            # a number that was traced as a tensor is one again where PyTorch optimises, and else promotes (torch 2.13)
            with torch.inference_mode(sample.mode == "inference"):
                for result in results:
                    assert_close(result, decode(sample.expected), "the operator")
        except ConformanceFailure as failure:
            return {"reason": f"plain TorchScript gives something else than eager PyTorch: {failure}"}
    return {
        "program": program,
        "operators": sorted({node.kind() for node in nodes_of(loaded.inlined_graph)}),
        "inputs": sample.inputs,
        "expected": sample.expected,
        "settled": sample.settled,
        "exact": samples.exact_of(sample.function, decode(sample.inputs)) if sample.settled else None,
    }
