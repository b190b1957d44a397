"""Statements about weights that lie where a slope changes: gates that begin closed, ties, and norms of nothing.

Which of the slopes an operator has there is part of what PyTorch does, and what compilers put in an operator's place
often has another.
"""

from __future__ import annotations

from conformance.generate.grammar.builder import Builder, Value
from conformance.generate.grammar.rules import rule
from conformance.generate.program import TensorSpec


def _weights(b: Builder, like: Value) -> Value:
    """A parameter for the columns of a value, all of whose elements are zero, or one, or a few of them anything."""
    values = b.draw.of("zeros", "zeros", "ones", "one_nonzero")
    return b.parameter(TensorSpec(like.dtype_name, like.shape[-1:], "contiguous", values, b.draw.seed(), grad=True))


@rule("elementwise", "elementwise", "parameters", traits=("trains",), weight=2, operators=4)
def gate(b: Builder) -> None:
    """What is scaled by a gate whose weights lie on its bounds."""
    one = b.float_value(least=1)
    weights = _weights(b, one)
    name, text = b.draw.of(
        ("clamp", f"{weights}.clamp(0.0, 1.0)"),
        ("clamp", f"torch.clamp({weights}, min=0.0)"),
        ("clamp", f"torch.clamp({weights}, max=1.0)"),
        ("hardtanh", f"F.hardtanh({weights}, 0.0, 1.0)"),
        ("relu", f"F.relu({weights})"),
        ("relu6", f"F.relu6({weights} * 6.0)"),
        ("leaky_relu", f"F.leaky_relu({weights}, 0.25)"),
        ("hardsigmoid", f"F.hardsigmoid({weights} * 6.0 - 3.0)"),
        ("abs", f"{weights}.abs()"),
        ("maximum", f"torch.maximum({weights}, {weights} * 0.5)"),
        ("minimum", f"torch.minimum({weights} * {weights}, {weights})"),
        ("where", f"torch.where({weights} > 0.0, {weights}, {weights} * 0.5)"),
    )
    (scale,) = b.make(name, text)
    b.make("mul", f"{one} * ({scale} + 1.0)")


@rule("reductions", "reductions", "elementwise", "parameters", traits=("trains",), weight=2, operators=4)
def of_ties(b: Builder) -> None:
    """What is scaled by one number of weights that are all alike, or nothing."""
    one = b.float_value(least=1)
    weights = _weights(b, one)
    name, text = b.draw.of(
        ("amax", f"{weights}.amax()"),
        ("amin", f"{weights}.amin()"),
        ("max", f"{weights}.max(0).values"),
        ("max", f"{weights}.max()"),
        ("norm", f"{weights}.norm()"),
        ("norm", f"{weights}.norm(1)"),
        ("prod", f"{weights}.prod()"),
        ("sort", f"({weights}.sort(stable=True).values)[0]"),
    )
    (scale,) = b.make(name, text)
    b.make("mul", f"{one} * ({scale} + 1.0)")
