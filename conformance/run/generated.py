"""Generated cells, as clauses try them. What draws programs takes a second to import: the first such cell does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.run.cell_context import CellContext


def try_programs(context: CellContext) -> None:
    """Try programs of the cell's theme. Raises what the gravest finding comes to."""
    from conformance.run import searching

    searching.try_programs(context)


def try_scenarios(context: CellContext) -> None:
    """Try scenarios of the cell's theme. Raises what the gravest finding comes to."""
    from conformance.run import searching

    searching.try_scenarios(context)
