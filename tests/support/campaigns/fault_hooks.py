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
_CELL = pytest.StashKey[Cell]()
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
    """Give each fault in each phase so many cells of faulty backends, and as many to each that conforms.

    Each process of a run comes to the same.
    """
    names: list[str] = config.option.faults.split(",")
    chosen = set[pytest.Item]()
    for those in _by_clause(items, faulty=True).values():
        clause = those[0].stash[_CELL].clause.id
        for item, planned in zip(those, _wanted(clause, names) * config.option.cells_of_a_phase, strict=False):
            item.stash[_PLAN] = planned
            chosen.add(item)
    for those in _by_clause(items, faulty=False).values():
        clause = those[0].stash[_CELL].clause.id
        for item in those[: len(_wanted(clause, names))]:
            item.stash[_PLAN] = ("", "")
            chosen.add(item)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def _wanted(clause: str, names: list[str]) -> list[tuple[str, str]]:
    """Each fault in each phase in which it can happen in cells of the clause."""
    return [(name, phase) for phase in CLAUSES[clause] for name in names if phase in FAULTS[name].phases]


def _by_clause(items: list[pytest.Item], *, faulty: bool) -> dict[tuple[str, str], list[pytest.Item]]:
    """The items that can be chosen, by their clause, and by their backend where it conforms."""
    found = defaultdict[tuple[str, str], list[pytest.Item]](list)
    for item in items:
        cell = cell_of(item)
        if cell and cell.clause.id in CLAUSES and cell.decided is None and is_faulty(cell.backend) is faulty:
            item.stash[_CELL] = cell
            found[cell.clause.id, "" if faulty else cell.backend].append(item)
    return found


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Say what is to happen in the cell, and nowhere else."""
    cell = item.stash[_CELL]
    plan(Path(os.environ[FOLDER]), f"{cell.backend} {cell.id}", *item.stash[_PLAN])
    return (yield)
