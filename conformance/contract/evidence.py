"""Which saboteurs prove a clause: read from the kill matrix that ships with the harness, in milliseconds.

The matrix is what the last self-test of the release found (``reports/selftest.json``): saboteurs that were caught then,
with the cell that caught them; not only what their authors say.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import Any

from conformance._util.shipped import shipped_folder
from conformance.contract.table import contract_digest


@dataclasses.dataclass(frozen=True, slots=True)
class Kill:
    """A saboteur that a clause caught: what was broken on purpose, and how the cell failed."""

    saboteur: str
    sabotage: str
    cell: str
    verdict: str
    phase: str
    message: str

    @property
    def what(self) -> str:
        """What was broken, as one line."""
        return " ".join(self.sabotage.split())


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What the shipped self-test found, and on which release of torch."""

    torch: str
    #: The digest of the contract that was tried.
    contract: str
    kills: dict[str, tuple[Kill, ...]]

    @property
    def is_current(self) -> bool:
        """Whether the contract that was tried is the one that is shipped."""
        return self.contract == contract_digest()

    def of(self, clause: str) -> tuple[Kill, ...]:
        """The saboteurs that the clause of that id caught."""
        return self.kills.get(clause, ())


@functools.cache
def shipped_evidence() -> Evidence:
    """The kill matrix that ships with the package. Raises FileNotFoundError where the installation lacks it."""
    matrix: dict[str, Any] = json.loads((shipped_folder("reports") / "selftest.json").read_text(encoding="utf-8"))
    kills: dict[str, list[Kill]] = {}
    for saboteur in matrix["saboteurs"]:
        for trial in saboteur["clauses"]:
            if trial["caught"]:
                kill = Kill(
                    saboteur=saboteur["name"],
                    sabotage=saboteur["sabotage"],
                    **{name: trial[name] for name in ("cell", "verdict", "phase", "message")},
                )
                kills.setdefault(trial["clause"], []).append(kill)
    return Evidence(matrix["torch"], matrix["contract"], {clause: tuple(found) for clause, found in kills.items()})
