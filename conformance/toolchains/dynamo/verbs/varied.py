"""Verbs for operators that are drawn: many samples, each a small graph that is made without Dynamo where it can be.

A graph is that of ``operators``: the operator, with zeros taken from its inputs and its results.
"""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Sequence
from typing import Any, cast

import torch

from conformance.api.errors import ConformanceFailure
from conformance.compare.comparison import assert_close
from conformance.compare.values import decode, encode
from conformance.devices import Subject
from conformance.operators import samples
from conformance.toolchains.dynamo.verbs.executed import named, profiled
from conformance.toolchains.dynamo.verbs.in_modes import called, differentiable_of
from conformance.toolchains.dynamo.verbs.operators import captured, compiled_by, less, spellings
from conformance.toolchains.dynamo.verbs.session import Session, verb


@verb
def operator_themes(session: Session) -> dict[str, dict[str, list[str]]]:
    """The operators of each theme, with the dtypes in which PyTorch takes them."""
    with Subject():
        return samples.themes()


@verb
def varied_samples(
    session: Session, operator: str, dtype: str, seed: int, count: int, modes: list[str]
) -> list[dict[str, Any]]:
    """Samples that are varied: ``{program, operators, inputs, expected, exact, settled, unconfirmed}`` with what
    ``Sample.as_varied`` says, or ``{reason}``. That "aot_eager" gives what is expected is not known yet."""
    return [
        {"reason": sample} if isinstance(sample, str) else _as_program(sample)
        for sample in samples.varied_samples_of(operator, dtype, seed, count, modes)
    ]


@verb
def confirm_program(session: Session, program: bytes, inputs: bytes, expected: bytes, mode: str, settled: bool) -> str:
    """Why a program judges nobody: that "aot_eager" does not take it, or gives something else. Empty if it does."""
    try:
        found = called(compiled_by(pickle.loads(program), "aot_eager"), inputs, mode)
        if settled:
            assert_close(found, decode(expected), "the operator")
    except ConformanceFailure as failure:
        return f"aot_eager gives something else than eager PyTorch: {failure}"
    except Exception as error:
        return f"PyTorch fails to compile it without a backend: {samples.in_a_line(error)}"
    return ""


@verb
def joined_program(session: Session, programs: list[bytes], inputs: list[bytes], mode: str) -> dict[str, Any]:
    """Several programs as one, each with inputs and results of its own: ``{program, inputs, expected, settled, mode,
    unconfirmed}``, and in ``places`` which of the results are those of each."""
    modules, given = [pickle.loads(each) for each in programs], [decode(each) for each in inputs]
    joined, together = _joined(modules), encode(tuple(itertools.chain.from_iterable(given)))
    results = _ranges([len(_results_of(each)) for each in modules], 0)
    gradients = _ranges([len(differentiable_of(each)) if mode == "backward" else 0 for each in given], results[-1].stop)
    return {
        "program": pickle.dumps(joined),
        "inputs": together,
        "expected": encode(called(joined, together, mode)),
        "places": [[*one, *other] for one, other in zip(results, gradients, strict=True)],
        "settled": True,
        "unconfirmed": True,
        "mode": mode,
    }


def _results_of(module: torch.fx.GraphModule) -> Sequence[Any]:
    return cast(Sequence[Any], module.graph.output_node().args[0])


def _ranges(lengths: Sequence[int], begin: int) -> list[range]:
    """Ranges of these lengths, one behind the other."""
    ends = [*itertools.accumulate(lengths, initial=begin)]
    return [range(one, other) for one, other in itertools.pairwise(ends)]


def _can_be_joined(module: torch.fx.GraphModule) -> bool:
    """Whether a graph is all that there is of a program."""
    return not any(node.op in ("get_attr", "call_module") for node in module.graph.nodes)


def _joined(modules: list[torch.fx.GraphModule]) -> torch.fx.GraphModule:
    """A graph of several graphs side by side."""
    graph = torch.fx.Graph()
    places: list[dict[torch.fx.Node, Any]] = [
        {node: graph.placeholder(f"of_{number}_{node.name}") for node in module.graph.find_nodes(op="placeholder")}
        for number, module in enumerate(modules)
    ]
    results: list[Any] = []
    for module, known in zip(modules, places, strict=True):
        results.extend(cast(tuple[Any, ...], graph.graph_copy(module.graph, known)))
    graph.output(tuple(results))
    return torch.fx.GraphModule(torch.nn.Module(), graph)


def _as_program(sample: samples.Sample) -> dict[str, Any]:
    try:
        program, inputs = _drawn_up(sample)
        module = pickle.loads(program)
        expected = called(module, inputs, sample.mode)
        events = profiled(module, decode(inputs))
    except Exception as error:
        kind = samples.INVALID if sample.mode else "PyTorch fails to compile it without a backend"
        return {"reason": f"{kind}: {samples.in_a_line(error)}"}
    if not expected:
        return {"reason": "the graph computes nothing"}
    return {
        "program": program,
        "operators": sorted({spelled for name in named(events) for spelled in spellings(name)}),
        "inputs": inputs,
        "expected": encode(expected),
        "exact": _exact(module, inputs, sample.mode) if sample.settled else None,
        "settled": sample.settled,
        "unconfirmed": True,
        "joins": sample.settled and _can_be_joined(module),
    } | sample.as_varied()


def _drawn_up(sample: samples.Sample) -> tuple[bytes, bytes]:
    """The graph of a sample, pickled, and its inputs, encoded. Raises as ``captured`` does."""
    try:
        return _by_proxies(sample)
    except Exception:  # an operator may be a function that looks at what it is given
        program, inputs, _ = captured(sample)
        return program, inputs


def _by_proxies(sample: samples.Sample) -> tuple[bytes, bytes]:
    """The graph of a sample, where calling it once with proxies in place of its tensors shows it.

    Raises whatever proxies raise, and ConformanceFailure where the graph does not give what is expected.
    """
    tensors, expected = decode(sample.inputs), decode(sample.expected)
    results = expected if isinstance(expected, tuple) else (expected,)
    dtypes = sorted({each.dtype for each in (*tensors, *results)}, key=str)
    graph = torch.fx.Graph()
    tracer = torch.fx.proxy.GraphAppendingTracer(graph)

    def inputs_named(name: str, count: int) -> list[Any]:
        return [torch.fx.Proxy(graph.placeholder(f"{name}_{index}"), tracer) for index in range(count)]

    zeros, proxies = inputs_named("zero", len(dtypes)), inputs_named("input", len(tensors))
    given = [less(like, zeros, dtypes, each) for each, like in zip(proxies, tensors, strict=True)]
    result = sample.plain(*given)
    found = [result] if isinstance(expected, torch.Tensor) else [result[index] for index in range(len(results))]
    made = [less(like, zeros, dtypes, each) for each, like in zip(found, results, strict=True)]
    graph.output(tuple(each.node for each in made))
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    inputs = (*(torch.zeros((), dtype=dtype) for dtype in dtypes), *tensors)
    if sample.settled:
        assert_close(module(*decode(encode(inputs))), results, "the graph")
    return pickle.dumps(module), encode(inputs)


def _exact(module: torch.fx.GraphModule, inputs: bytes, mode: str) -> bytes | None:
    """What a graph gives in 64 bits: see :func:`~conformance.operators.samples.exact_of`."""
    return samples.exact_of(lambda *wide: called(module, encode(wide), mode), decode(inputs))
