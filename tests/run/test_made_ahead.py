"""Models that are made ahead of the cells which were selected, and cells that do without them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest
from support.descriptions import ANY_BACKEND

from conformance.api.availability import Availability
from conformance.api.verdicts import Verdict
from conformance.contract import shipped_clauses
from conformance.devices import DeviceKind, Limits, Transport, ZygotePool
from conformance.run.cell_context import CellContext
from conformance.run.plan import cells_of
from conformance.run.run_context import RunContext

CELLS = cells_of(next(each for each in shipped_clauses() if each.id == "lowering.outputs"), ANY_BACKEND)[:3]


class Recorder(ZygotePool):
    """A pool that starts no process, and keeps what it is asked for."""

    def __init__(self) -> None:
        super().__init__(Limits())
        self.kinds: list[DeviceKind] = []
        self.expected: list[tuple[int, Sequence[str] | None]] = []

    def fork(self, kind: DeviceKind, *_: object, **__: object) -> Transport:  # type: ignore[override]
        self.kinds.append(kind)
        raise LookupError("no process here")

    def expect_many(self, seed: int, cases: Sequence[str] | None = None) -> None:
        self.expected.append((seed, cases))

    def start(self, kind: object) -> None:  # type: ignore[override]
        raise AssertionError(f"nothing here has a target, and {kind} is started")


def test_a_cell_has_what_was_made_ahead_and_is_tried_again_without() -> None:
    pool = Recorder()
    first = CellContext(RunContext(pool, 7, {"none": ANY_BACKEND}), CELLS[0], ANY_BACKEND)
    for context in (first, first.again()):
        for device in (context.host, context.device("host again", Availability.FULL)):
            with pytest.raises(LookupError):
                device.start()
    assert [each.has_models for each in pool.kinds] == [True, True, False, False]


def test_the_models_of_the_cells_that_are_tried_are_expected_in_their_order() -> None:
    pool = Recorder()
    untried = dataclasses.replace(CELLS[0], decided=Verdict.UNSUPPORTED, why="for the test")
    RunContext(pool, 7, {"none": ANY_BACKEND}).get_ready([CELLS[2], untried, CELLS[1], CELLS[2]])
    assert pool.expected == [(7, [CELLS[2].case, CELLS[1].case])]
