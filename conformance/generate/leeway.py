"""What PyTorch leaves open about a program: where one who computes otherwise than eager PyTorch is right as well.

The list, with reasons and sources, is in docs/generated-cells.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from conformance.generate.program import Program, TensorSpec
from conformance.generate.steps import Trial

#: Operators that take the root of a sum of squares, or divide by it.
_SQUARES = frozenset(
    ("std", "var", "norm", "vector_norm", "normalize", "std_mean", "var_mean", "pairwise_distance", "cosine_similarity")
)
#: What adds up many numbers, in whatever order.
_SUMS = re.compile(
    r"@|attention|avg_pool|bmm|cdist|conv|cumsum|distance|dot|einsum|fft|\bfold|inner|interpolate|kl_div|linear|loss"
    r"|lp_pool|matmul|\bmm\b|mv|mean|norm|similarity|std|sum|var"
)
#: What eager PyTorch says that has an operator, and none for this dtype.
_NO_KERNEL = re.compile(
    r"not implemented for '\w+'|does not support \w+ (inputs?|tensors?|dtypes?)\b| inputs not supported for",
    re.IGNORECASE,
)
#: What eager PyTorch says of a view that is larger than the memory under it.
_BEYOND_MEMORY = re.compile(r"out of bounds for storage of size \d+")
#: Calls of functions, and operators whose zeros have no sign that anybody says.
_CALLED = re.compile(r"\b(\w++)\(")
_OPEN = re.compile(r"@|%|//|\*\*|rounding_mode")
#: Functions whose zeros IEEE 754 gives a sign (6.3), and those that only move what they are given.
_SIGNED = frozenset(
    (
        *("abs", "add", "ceil", "copysign", "div", "floor", "mul", "neg", "positive", "reciprocal", "round", "sqrt"),
        *("sub", "true_divide", "trunc", "bool", "copy", "detach", "clone", "contiguous", "double", "float", "half"),
        *("int", "len", "list", "long", "range", "size", "tensor", "to", "tuple", "type_as", "zip", "append", "keys"),
        *("cat", "chunk", "diagonal", "expand", "expand_as", "fill", "flatten", "flip", "full", "full_like", "gather"),
        *("index_select", "masked_fill", "movedim", "narrow", "ones", "ones_like", "permute", "repeat", "reshape"),
        *("roll", "select", "split", "squeeze", "stack", "swapaxes", "t", "take_along_dim", "tensor_split", "tile"),
        *("transpose", "tril", "triu", "unbind", "unflatten", "unsqueeze", "view", "view_as", "where", "zero"),
        *("zeros", "zeros_like"),
    )
)


def lacks_a_kernel(raised: Mapping[str, Any] | None) -> bool:
    """Whether eager PyTorch raised for want of a kernel for a dtype, which a backend may well have."""
    return raised is not None and bool(raised["type"] == "NotImplementedError" or _NO_KERNEL.search(raised["text"]))


def is_beyond_memory(raised: Mapping[str, Any] | None) -> bool:
    """Whether eager PyTorch raised since a view needs more memory than there is; in a backend's there may be more."""
    return raised is not None and bool(_BEYOND_MEMORY.search(raised["text"]))


def has_squares(trial: Trial) -> bool:
    """Whether a program adds up squares, which eager PyTorch does in 64 bits."""
    return any(_SQUARES.intersection(program.operators) for program in trial.programs)


def may_overflow_on_the_way(trial: Trial, number: int) -> bool:
    """Whether a sum in a step may be beyond its dtype in one order, and not in another, where its result is within
    it; or be NaN, as a difference of two infinities, where its result is beyond it."""
    given = [each for call in trial.calls_behind(number) for each in call.arguments]
    kept = [spec for program in trial.programs for _, spec in (*program.parameters, *program.buffers)]
    near = any(isinstance(each, TensorSpec) and _is_near_the_largest(each) for each in (*given, *kept))
    return near and any(_SUMS.search(_body(program)) for program in trial.programs)


def _is_near_the_largest(spec: TensorSpec) -> bool:
    """Whether the sum of a few of its values is beyond its dtype, as of the large ones that float16 has."""
    return spec.values == "extremes" or (spec.values == "large" and spec.dtype == "float16")


def says_signs_of_zeros(trial: Trial) -> bool:
    """Whether all that the programs do gives zeros a sign: that of the smaller of two zeros, of a difference that is
    scaled, or of a sum in whatever order, is open."""
    return not any(_leaves_signs_open(_body(program)) for program in trial.programs)


def _leaves_signs_open(text: str) -> bool:
    called = {name.rstrip("_") for name in _CALLED.findall(text)}
    return bool(_OPEN.search(text)) or not called <= _SIGNED


def _body(program: Program) -> str:
    """The statements and results of all methods."""
    return "\n".join(
        [line.text for method in program.all_methods for line in method.lines]
        + [method.result for method in program.all_methods]
    )
