"""Statements about weights that lie where a slope changes: gates that begin closed, ties, and norms of nothing.

Which of the slopes an operator has there is part of what PyTorch does, and what compilers put in an operator's place
often has another.
"""

from __future__ import annotations

from collections.abc import Sequence

from conformance.generate.grammar.builder import Builder
from conformance.generate.grammar.rules import rule
from conformance.generate.program import TensorSpec

#: Operators, and how they are written of weights: whose slope changes where these are zero, or one.
_GATES = (
    ("clamp", "{0}.clamp(0.0, 1.0)"),
    ("clamp", "torch.clamp({0}, min=0.0)"),
    ("clamp", "torch.clamp({0}, max=1.0)"),
    ("hardtanh", "F.hardtanh({0}, 0.0, 1.0)"),
    ("relu", "F.relu({0})"),
    ("relu6", "F.relu6({0} * 6.0)"),
    ("leaky_relu", "F.leaky_relu({0}, 0.25)"),
    ("hardsigmoid", "F.hardsigmoid({0} * 6.0 - 3.0)"),
    ("abs", "{0}.abs()"),
    ("maximum", "torch.maximum({0}, {0} * 0.5)"),
    ("minimum", "torch.minimum({0} * {0}, {0})"),
    ("where", "torch.where({0} > 0.0, {0}, {0} * 0.5)"),
)
#: Those that come to one number, where some weights, or all, are alike.
_OF_TIES = (
    ("amax", "{0}.amax()"),
    ("amin", "{0}.amin()"),
    ("max", "{0}.max(0).values"),
    ("max", "{0}.max()"),
    ("norm", "{0}.norm()"),
    ("norm", "{0}.norm(1)"),
    ("prod", "{0}.prod()"),
    ("sort", "({0}.sort(stable=True).values)[0]"),
)


@rule("elementwise", "elementwise", "parameters", traits=("trains",), weight=2, operators=4)
def gate(b: Builder) -> None:
    """What is scaled by a gate whose weights lie on its bounds."""
    _scaled(b, _GATES)


@rule("reductions", "reductions", "elementwise", "parameters", traits=("trains",), weight=2, operators=4)
def of_ties(b: Builder) -> None:
    """What is scaled by one number of weights that are all alike, or nothing."""
    _scaled(b, _OF_TIES)


def _scaled(b: Builder, operators: Sequence[tuple[str, str]]) -> None:
    """A value times one of the operators, computed of a parameter whose elements are zero, or one, or zero but one."""
    one = b.float_value(least=1)
    values = b.draw.of("zeros", "zeros", "ones", "one_nonzero")
    spec = TensorSpec(one.dtype_name, one.shape[-1:], "contiguous", values, b.draw.seed(), grad=True)
    weights = b.parameter(spec)
    name, text = b.draw.choice(operators)
    (scale,) = b.make(name, text.format(weights))
    b.make("mul", f"{one} * ({scale} + 1.0)")
