"""What the tests of the self-test share."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.devices import ZygotePool
from conformance.selftest import mutant_trials, mutants
from conformance.selftest.trials import LIMITS


@pytest.fixture(scope="module")
def pool() -> Any:
    """What a worker process has, in which nothing has imported Dynamo, and so set a variable of the environment."""
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
        opened = ZygotePool(LIMITS)
        mutant_trials._pools[:] = [opened]
        yield opened
        opened.close()
        mutant_trials._pools.clear()


@pytest.fixture(scope="module")
def trial(pool: ZygotePool) -> Any:
    """Makes the trial of a mutant of its specification."""
    descriptions: dict[str, Any] = {}

    def make(spec: dict[str, Any], programs: int = 10) -> mutant_trials.Task:
        (kind,) = mutants._kinds([spec["toolchain"]])
        if kind.toolchain not in descriptions:
            descriptions[kind.toolchain] = mutants._description(kind, pool)
        named = kind.toolchain, 0, spec, descriptions[kind.toolchain], kind.probe, kind.variable, kind.firings
        return mutant_trials.Task(*named, tuple(mutants._witnesses(kind, spec)), 3, programs, False)

    return make
