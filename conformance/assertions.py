"""Where releases before 0.2 had what clauses assert with; kept for plugins of then.

See :mod:`conformance.compare.assertions` and :mod:`conformance.toolchains.torchscript.assertions`.
"""

from __future__ import annotations

from conformance.api.assertions import Refusal, assert_names, check, refused
from conformance.compare.assertions import (
    assert_close,
    assert_contiguous_like,
    assert_equal,
    assert_requires_grad_like,
    assert_requires_no_grad,
    assert_types_like,
    is_equal,
)
from conformance.toolchains.torchscript.assertions import (
    NOT_AVAILABLE,
    assert_bundle,
    assert_clean_refusal,
    assert_hands_over,
    assert_same_signatures,
    assert_signs_of_zeros,
    traces_of,
    unavailable,
    unmangled,
)

__all__ = [
    "NOT_AVAILABLE",
    "Refusal",
    "assert_bundle",
    "assert_clean_refusal",
    "assert_close",
    "assert_contiguous_like",
    "assert_equal",
    "assert_hands_over",
    "assert_names",
    "assert_requires_grad_like",
    "assert_requires_no_grad",
    "assert_same_signatures",
    "assert_signs_of_zeros",
    "assert_types_like",
    "check",
    "is_equal",
    "refused",
    "traces_of",
    "unavailable",
    "unmangled",
]
