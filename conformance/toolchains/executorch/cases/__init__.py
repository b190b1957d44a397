"""The corpus of ExecuTorch: the models that its clauses are tried on, smallest first.

A program is exported for the shapes of the first sample, so the samples of a method have the same; but for the
dimensions that a model names in ``dynamic`` (see ``exported_methods`` in ``ahead_of_time``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from conformance.api.case import Samples, register_case
from conformance.api.maker import Maker

case = functools.partial(register_case, toolchain="executorch")


def twice(inputs: Callable[[Maker], tuple[Any, ...]]) -> Callable[[Maker], Samples]:
    """Two samples of ``forward``."""
    return lambda make: {"forward": [inputs(make) for _ in range(2)]}
