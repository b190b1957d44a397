"""What a pytest run of the campaign of faults does besides: it chooses cells, and says before each what is to happen.

A plugin of such a run (``-p support.campaigns.fault_hooks``).
"""

from __future__ import annotations

import os
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
_PHASE = pytest.StashKey[str]()


def cell_of(item: pytest.Item) -> Cell | None:
    """The cell that an item is."""
    cell = getattr(item, "callspec", None) and item.callspec.params.get("cell")  # type: ignore[attr-defined]
    return cell if isinstance(cell, Cell) else None


def fault_name(backend: str) -> str:
    """The name of a backend's fault; none for one that conforms."""
    prefix, name = backend[:3], backend[3:]
    return name if prefix in PREFIXES.values() and name in FAULTS else ""


def pytest_addoption(parser: pytest.Parser) -> None:
    """How much is tried."""
    parser.addoption("--cells-of-a-phase", type=int, default=1, help="cells for each fault and phase")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep so many cells for each fault and phase, and the same cells of backends that conform."""
    most: int = config.option.cells_of_a_phase
    found = defaultdict(list)
    for item in items:
        cell = cell_of(item)
        if cell is not None and cell.clause.id in CLAUSES and cell.decided is None:
            found[cell.backend, cell.clause.id].append(item)
    chosen = set[pytest.Item]()
    for (backend, clause), those in found.items():
        fault = FAULTS.get(fault_name(backend))
        phases = [phase for phase in CLAUSES[clause] if fault is None or phase in fault.phases]
        for place, item in enumerate(those[: most * len(phases)]):
            item.stash[_PHASE] = phases[place % len(phases)] if fault else ""
            chosen.add(item)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Say what is to happen in the cell, and nowhere else."""
    cell = cell_of(item)
    assert cell is not None
    plan(Path(os.environ[FOLDER]), f"{cell.backend} {cell.id}", item.stash[_PHASE])
    return (yield)
