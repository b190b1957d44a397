"""``--conformance-budget=TIME``: the lowest level is tried first, and what was not begun in time is left out."""

from __future__ import annotations

import time
from collections.abc import Generator

import pytest

from conformance.api.clause import Level
from conformance.api.verdicts import Outcome, Verdict
from conformance.compare.comparison import Margin
from conformance.pytest_plugin._run import CELL, RESULT
from conformance.run.plan import LEFT_OUT, Cell
from conformance.run.result import Record, Result

_ORDER = list(Level)


class Budgeter:
    """The plugin that orders cells by level, and lets none begin after ``ends``, a time of ``time.monotonic``.

    A cell that was decided when it was planned needs no time, and comes to what was decided.
    """

    def __init__(self, ends: float) -> None:
        self._ends = ends

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, object, object]:
        """Order what was selected; tests that are no cells come last."""
        result = yield
        items.sort(key=_place)
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Leave a cell out when the time is over."""
        cell = pyfuncitem.stash.get(CELL, None)
        if cell is None or cell.decided is not None or time.monotonic() < self._ends:
            return None
        pyfuncitem.stash[RESULT] = _left_out(cell)
        return True


def _place(item: pytest.Item) -> int:
    cell = item.stash.get(CELL, None)
    return len(_ORDER) if cell is None else _ORDER.index(cell.clause.level)


def _left_out(cell: Cell) -> Result:
    return Result(cell, Outcome(Verdict.LOST, message=LEFT_OUT), {}, Record(), Margin())
