"""The axes along which trials vary, and what each can be. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping

#: Every axis, and the values that it has, the plainest first.
AXES: Mapping[str, tuple[str, ...]] = {
    "dtype": (
        "float32", "float64", "float16", "bfloat16", "complex64", "int64", "int32", "int16", "int8", "uint8", "bool",
        "mixed", "Python number", "list of numbers", "None",
    ),
    "size": (
        "even", "odd", "1", "empty", "large", "beyond a thread's share", "rank 0", "rank 1", "rank 2", "rank 3",
        "rank 4", "rank 5", "changed",
    ),
    "layout": (
        "contiguous", "transposed", "swapped", "stepped", "offset", "expanded", "channels_last", "conj_view",
        "one tensor twice", "overlapping",
    ),
    "value": (
        "ordinary", "small", "halves", "positive", "negative", "zeros", "ones", "minus_zero", "repeated", "sorted",
        "large", "tiny", "inf", "minus_inf", "nan", "all_nan", "extremes", "masked", "far_from_zero", "one_nonzero",
    ),
    "form": ("method", "in place", "sign", "alias"),
    "state": (
        "none", "parameters", "buffers", "submodules", "in place", "through data", "replaced", "loaded", "refilled",
        "twin", "written",
    ),
    "mode": (
        "grad", "no_grad", "inference", "autocast", "autocast float16", "deterministic", "default float64", "backward",
        "train", "thread", "non-leaf", "requires grad", "call in between", "fewer rows in between", "gradient layout",
        "one result", "back again", "second derivative",
    ),
    "event": (
        "first call", "later call", "second model", "lowered again", "lowered in a mode", "elsewhere", "dynamic",
        "static", "frozen", "fail", "save_load", "copy", "damaged", "drop", "reset", "second method",
    ),
}  # fmt: skip

#: What every trial has, or the plainest has: no part of a cause.
PLAIN = frozenset(
    (
        "dtype=float32", "size=even", "size=odd", "size=rank 1", "size=rank 2", "layout=contiguous", "value=ordinary",
        "state=none", "mode=grad", "mode=no_grad", "event=first call",
    )
)  # fmt: skip
