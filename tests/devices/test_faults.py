"""Faults in every phase of both toolchains: nothing is lost, excused or charged to the harness, and nobody else hurt.

`docs/campaigns.md` has what a whole campaign showed: ``python -m support.campaigns faults``.
"""

from __future__ import annotations

import pytest
from support.campaigns.fault_kinds import FAULTS, PHASES
from support.campaigns.faults import campaign


def test_there_are_many_kinds_of_fault() -> None:
    assert len(FAULTS) >= 60
    assert {phase for each in FAULTS.values() for phase in each.phases} == set(PHASES)
    for each in FAULTS.values():
        compile(each.code, each.name, "exec")


@pytest.mark.runs
def test_a_fault_is_what_its_backend_comes_to_and_nobody_else() -> None:
    seen = campaign(workers=[0], only=["signal_segv", "result_meta", "child_left"])
    assert not seen.findings, seen.summary()
    assert seen.kinds == {"signal_segv", "result_meta", "child_left"}
    assert seen.verdicts["CRASH"] >= 8
    assert seen.conforming


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_no_fault_is_lost_or_excused(workers: int) -> None:
    seen = campaign(workers=[workers])
    assert not seen.findings, seen.summary()
