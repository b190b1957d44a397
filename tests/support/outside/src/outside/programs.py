"""The corpus: a class with a text each."""

from __future__ import annotations

import functools

from conformance.api.case import register_case

program = functools.partial(register_case, toolchain="postfix")


@program("difference", samples=lambda make: {"call": [(3.0, 4.0), (8.0, 2.0)]}, methods=("call",))
class Difference:
    text = "a b -"


@program("mean", samples=lambda make: {"call": [(1.0, 2.0, 2.0), (5.0, 5.0, 4.0)]}, methods=("call",))
class Mean:
    text = "a b + n /"
