"""Lowering by ``torch.compile``: what a backend makes of a graph, when, and what its users see of it."""

from __future__ import annotations

from conformance.assertions import assert_close
from conformance.contract import Level, clause

EVERY_CASE: tuple[str, ...] = ()


@clause("compile.outputs", source="pytorch/pytorch#89373", level=Level.CORE, toolchain="dynamo", cases=EVERY_CASE)
def test_outputs(host, case):
    """A compiled model gives the outputs of eager PyTorch."""
    lowered = host.lower(case)
    for call in case.calls:
        assert_close(host.run(lowered, call.inputs).result, call.expected, case.name)
