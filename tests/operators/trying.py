"""Where operators are tried, in processes that are stand-ins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.operators.trial import OperatorTrial


def trial_of(
    open_device: Callable[[], Any], *, timed_out: Callable[[], None] = lambda: None, may_refuse: bool = True
) -> OperatorTrial:
    """A trial whose control and backend are both what ``open_device`` gives."""
    return OperatorTrial(
        open_device,
        open_device,
        seed=0,
        samples=1,
        missing_features={},
        tolerances={},
        seconds=lambda: 1.0,
        timed_out=timed_out,
        may_refuse=may_refuse,
    )
