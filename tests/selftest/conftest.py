"""What the tests of the self-test share."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.devices import ZygotePool
from conformance.selftest import mutant_trials
from conformance.selftest.trials import LIMITS


@pytest.fixture(scope="module")
def pool() -> Any:
    """What a worker process has."""
    opened = ZygotePool(LIMITS)
    mutant_trials._pools[:] = [opened]
    yield opened
    opened.close()
    mutant_trials._pools.clear()
