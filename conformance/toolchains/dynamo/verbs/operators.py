"""Verbs for the operator table: samples as graphs between other operators, in a control; such graphs, compiled and run.

A lone operator is often run by PyTorch itself, and what a backend delegates are chains. So zero is taken from every
input before an operator has it, and from every result: that is exact for each value, NaN and -0.0 too, and no compiler
can know it, since the zeros are inputs. Booleans are xor-ed with False.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch._dynamo

from conformance.api.errors import ConformanceFailure
from conformance.compare.comparison import assert_close
from conformance.compare.values import decode, encode
from conformance.devices import Subject
from conformance.operators import samples
from conformance.toolchains.dynamo.verbs.executed import computing, executed, named, profiled
from conformance.toolchains.dynamo.verbs.in_modes import called
from conformance.toolchains.dynamo.verbs.session import Model, Session, verb


@verb
def operators(session: Session) -> dict[str, list[str]]:
    """Every operator that PyTorch has samples for, and the dtypes in which it takes them."""
    with Subject():
        return {name: samples.dtypes_of(name) for name in samples.database()}


@verb
def operator_samples(session: Session, operator: str, dtype: str, seed: int, count: int) -> list[dict[str, Any]]:
    """Samples of an operator: ``{program, operators, inputs, expected, exact, settled, work, around}``, or ``{reason}``
    where PyTorch itself does not get that far. The program is a graph as Dynamo makes it, of which "eager" and
    "aot_eager" were seen to give ``expected``; ``exact`` is what it gives in float64, if it can be computed so;
    ``work`` names the operators that PyTorch executes for it, and ``around`` those that only stand around the operator.
    """
    return [
        {"reason": sample} if isinstance(sample, str) else _as_graph(sample)
        for sample in samples.samples_of(operator, dtype, seed, count)
    ]


@verb
def lower_program(session: Session, program: bytes, inputs: bytes, mode: str = "") -> int:
    """A graph, compiled up to where the backend's code would run."""
    with Subject():
        module = pickle.loads(program)
        watch = session.watch()
        compiled: Any = torch.compile(module, backend=watch, fullgraph=True, dynamic=False)
        with watch.only_lowering():
            called(compiled, inputs, mode)
    return session.keep(Model(module, compiled, watch))


@verb
def run_program(session: Session, program: int, inputs: bytes, mode: str | None = None) -> dict[str, Any]:
    """Call a compiled graph: ``{result, executed}``, of which the second names the operators that PyTorch itself
    executes when it is called again; in a mode, ``{result}`` alone."""
    function = session.get(program).function
    with Subject():
        result = encode(called(function, inputs, mode or ""))
        return {"result": result} | ({"executed": executed(function, decode(inputs))} if mode is None else {})


@verb
def forget_program(session: Session, program: int) -> None:
    """Destroy a compiled graph, and all that Dynamo knows of it."""
    with Subject():
        session.discard(program)
        torch._dynamo.reset()


def _as_graph(sample: samples.Sample) -> dict[str, Any]:
    try:
        program, inputs, around = captured(sample)
        module = pickle.loads(program)
        expected = tuple(module(*decode(inputs)))
        events = profiled(module, decode(inputs))
        by_autograd = compiled_by(module, "aot_eager")(*decode(inputs))
    except Exception as error:
        return {"reason": f"PyTorch fails to compile it without a backend: {samples.in_a_line(error)}"}
    if not expected:
        return {"reason": "the graph that Dynamo makes of it computes nothing"}
    if sample.settled:
        try:
            assert_close(tuple(by_autograd), expected, "the operator")
        except ConformanceFailure as failure:
            return {"reason": f"aot_eager gives something else than eager PyTorch: {failure}"}
    return {
        "program": program,
        "operators": sorted({spelled for name in named(events) for spelled in spellings(name)}),
        "inputs": inputs,
        "expected": encode(expected),
        "exact": samples.exact_of(lambda *wide: tuple(module(*wide)), decode(inputs)) if sample.settled else None,
        "settled": sample.settled,
        "work": computing(events),
        "around": around,
    }


def captured(sample: samples.Sample) -> tuple[bytes, bytes, list[str]]:
    """The graph that Dynamo makes of a sample between other operators, pickled, its inputs, encoded, and the names of
    these other operators.

    Raises what Dynamo does, and ConformanceFailure where the graph does not give what eager PyTorch does.
    """
    tensors, expected = decode(sample.inputs), decode(sample.expected)
    dtypes = sorted({each.dtype for each in _tuple(tensors) + _tuple(expected)}, key=str)
    found: list[tuple[bytes, bytes]] = []

    def capture(graph: torch.fx.GraphModule, example_inputs: Any) -> Callable[..., Any]:
        found.append((pickle.dumps(graph), encode(tuple(example_inputs))))
        return graph.forward

    def between(zeros: tuple[torch.Tensor, ...], *arguments: torch.Tensor) -> tuple[torch.Tensor, ...]:
        results = _tuple(sample.function(*[less(each, zeros, dtypes) for each in arguments]))
        return tuple(less(each, zeros, dtypes) for each in results)

    zeros = tuple(torch.zeros((), dtype=dtype) for dtype in dtypes)
    results = compiled_by(between, capture)(zeros, *tensors)
    if sample.settled:
        assert_close(results, _tuple(expected), "what Dynamo makes of it")
    ((program, inputs),) = found
    around = executed(lambda *each: [less(one, zeros, dtypes) for one in each], _tuple(tensors) + _tuple(expected))
    return program, inputs, around


def compiled_by(function: Callable[..., Any], backend: Any) -> Callable[..., Any]:
    """A function, to be compiled by a backend when it is called, as if nothing had been compiled before."""
    torch._dynamo.reset()
    compiled: Callable[..., Any] = torch.compile(function, backend=backend, fullgraph=True, dynamic=False)
    return compiled


def _tuple(value: Any) -> tuple[torch.Tensor, ...]:
    return value if isinstance(value, tuple) else (value,)


def less(tensor: torch.Tensor, zeros: Sequence[Any], dtypes: Sequence[torch.dtype], instead: Any = None) -> Any:
    """The tensor, or what stands in its stead, less the zero of its dtype. One that is not dense is left alone."""
    value = tensor if instead is None else instead
    if tensor.layout != torch.strided or tensor.is_quantized:
        return value
    zero = zeros[dtypes.index(tensor.dtype)]
    return value ^ zero if tensor.dtype == torch.bool else value - zero


def spellings(name: str) -> list[str]:
    """How an error may name an operator, of which PyTorch's profiler says ``aten::add``."""
    short = name.removeprefix("aten::")
    return [name, f"aten.{short}", f"torch.{short}"]
