"""The fewest entries that speak of given cells of a clause and of no others."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

Cell = Mapping[str, Any]

_COORDINATES = ("runtime", "host", "target")


def cover(cells: Sequence[Cell], others: Sequence[Cell]) -> list[dict[str, Any]]:
    """What entries must say of ``case``, ``runtime``, ``host`` and ``target`` to cover all ``cells`` and no other.

    All cells are of one clause. A field that is left out covers everything. Of the ways that there are, the one with
    the fewest entries is taken, and of those the one with the fewest fields.
    """
    found: list[dict[str, Any]] | None = None
    for count in range(len(_COORDINATES) + 1):
        for chosen in itertools.combinations(_COORDINATES, count):
            entries = _entries(chosen, cells, others)
            if entries is not None and (found is None or len(entries) < len(found)):
                found = entries
    assert found is not None, "with its case and all coordinates a cell is not another one"
    return found


def _entries(chosen: Sequence[str], cells: Sequence[Cell], others: Sequence[Cell]) -> list[dict[str, Any]] | None:
    """An entry for each combination of the chosen coordinates; None if others share one, and the case."""
    entries = []
    for place in dict.fromkeys(tuple(cell[name] for name in chosen) for cell in cells):
        cases = dict.fromkeys(cell["case"] for cell in cells if tuple(cell[name] for name in chosen) == place)
        besides = {cell["case"] for cell in others if tuple(cell[name] for name in chosen) == place}
        if besides.intersection(cases):
            return None
        fields = {name: value for name, value in zip(chosen, place, strict=True) if value}
        if besides:
            fields = {"case": next(iter(cases)) if len(cases) == 1 else list(cases), **fields}
        entries.append(fields)
    return entries
