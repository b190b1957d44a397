"""What a pytest run of the campaign of faults does besides: it chooses cells, and says before each what is to happen.

A plugin of such a run (``-p support.campaigns.fault_hooks``).
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.run.plan import Cell
from support.campaigns.fault_kinds import FAULTS
from support.campaigns.faulty import FOLDER, PREFIXES, plan

#: Clause → the phases in which a fault can happen in its cells, one after the other.
CLAUSES = {
    "lowering.outputs": ("load", "lower", "run", "release"),
    "save-load.same-outputs": ("artifact",),
    "lowering.exit": ("exit",),
    "compile.outputs": ("load", "lower", "run", "release"),
    "compile.exit": ("exit",),
}
#: The fault and the phase.
_PLAN = pytest.StashKey[tuple[str, str]]()


def cell_of(item: pytest.Item) -> Cell | None:
    """The cell that an item is."""
    cell = getattr(item, "callspec", None) and item.callspec.params.get("cell")  # type: ignore[attr-defined]
    return cell if isinstance(cell, Cell) else None


def is_faulty(backend: str) -> bool:
    """Whether a backend of that name is one of the campaign's."""
    return re.fullmatch(rf"({'|'.join(PREFIXES.values())})\d+", backend) is not None


def pytest_addoption(parser: pytest.Parser) -> None:
    """What is tried."""
    parser.addoption("--faults", default=",".join(FAULTS), help="these faults, with commas between them")
    parser.addoption("--cells-of-a-phase", type=int, default=1, help="cells for each fault and phase")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each fault in each phase so many cells of faulty backends; a few of every clause to those that conform.

    Each process of a run comes to the same.
    """
    names: list[str] = config.option.faults.split(",")
    found = defaultdict[str, list[pytest.Item]](list)
    kept = list[pytest.Item]()
    for item in items:
        cell = cell_of(item)
        if cell is None or cell.clause.id not in CLAUSES or cell.decided is not None:
            continue
        if is_faulty(cell.backend):
            found[cell.clause.id].append(item)
        else:
            item.stash[_PLAN] = ("", "")
            kept.append(item)
    for clause, those in found.items():
        wanted = [(name, phase) for phase in CLAUSES[clause] for name in names if phase in FAULTS[name].phases]
        for item, planned in zip(those, wanted * config.option.cells_of_a_phase, strict=False):
            item.stash[_PLAN] = planned
            kept.append(item)
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Say what is to happen in the cell, and nowhere else."""
    cell = cell_of(item)
    assert cell is not None
    plan(Path(os.environ[FOLDER]), f"{cell.backend} {cell.id}", *item.stash[_PLAN])
    return (yield)
