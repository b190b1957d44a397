"""Which cells a run consists of: a pure function of the contract, the backend's description and the corpus.

Every process of a run plans for itself and comes to the same cells, so that the one that writes the report knows what
was meant to run even where nothing came back.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from conformance.api.availability import Availability
from conformance.api.case import Case
from conformance.api.clause import Clause, SpeaksOf
from conformance.api.verdicts import Verdict
from conformance.discovery.describing import Description
from conformance.toolchains import case_named, corpus

#: Why a generated cell was not tried in a run that wants none.
TURNED_OFF = "generated cells were turned off by --conformance-generated=0"
#: Why a cell that is LOST was not begun.
LEFT_OUT = "left out: the time of --conformance-budget was over"
#: What clauses without a target speak of that lower and run in one process.
_RUN_WHAT_THEY_LOWER = (SpeaksOf.OPERATORS, SpeaksOf.GENERATED)


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    """A clause, backend, case, runtime, host state and target state: one pytest item.

    ``decided`` is the verdict of a cell that needs no run, and ``why`` its reason.
    """

    clause: Clause
    backend: str
    case: str
    runtime: str
    host: Availability
    target: Availability | None
    decided: Verdict | None = None
    why: str = ""
    #: The operator that the cell is about, in place of a case.
    operator: str = ""
    #: What the programs of a generated cell are about, in place of a case.
    theme: str = ""

    @property
    def subject(self) -> str:
        """What stands in ids, and in the column ``case`` of rows: the case, or what the cell has in place of one."""
        return self.case or self.operator or self.theme

    @property
    def coordinates(self) -> str:
        """The cell within its clause and backend, as ids of cells and of pytest items have it."""
        parts = [self.subject, self.runtime, self.host.value]
        if self.target is not None:
            parts.append(self.target.value)
        return "-".join(part for part in parts if part)

    @property
    def id(self) -> str:
        """The cell within one backend's report."""
        return f"{self.clause.id}[{self.coordinates}]"

    @property
    def key(self) -> str:
        """What names the cell in a run of several backends, as a pytest item does: ``suite::function[backend-...]``."""
        return f"{self.clause.suite}::{self.clause.function}[{self.backend}-{self.coordinates}]"

    def as_row(self) -> dict[str, Any]:
        """The cell's own columns of the report."""
        return {
            "id": self.id,
            "clause": self.clause.id,
            "suite": self.clause.suite,
            "level": self.clause.level.value,
            "case": self.subject,
            "runtime": self.runtime,
            "host": self.host.value,
            "target": None if self.target is None else self.target.value,
        }


def cells_of(
    clause: Clause, description: Description, operators: Sequence[str] = (), *, generated: bool = True
) -> list[Cell]:
    """The cells of one clause for one backend. A clause that cannot be tried still has a cell, which says why.

    ``operators`` are those that the run is to try: a clause that speaks of operators has a cell for each. A run
    without ``generated`` cells has them, NOT_EXERCISED.
    """
    if clause.toolchain != description.toolchain:
        return []
    if clause.speaks_of is SpeaksOf.OPERATORS:
        cell = _cell(clause, description, None, clause.runtimes[0], Availability.FULL, None)
        return [dataclasses.replace(cell, operator=operator) for operator in operators]
    if clause.speaks_of is SpeaksOf.GENERATED:
        return [
            _cell(clause, description, None, runtime, Availability.FULL, None, theme=theme, turned_off=not generated)
            for theme in clause.cases
            for runtime in clause.runtimes
        ]
    cases = [case_named(name, clause.toolchain) for name in clause.cases]
    if not cases:
        cases = [case for case in corpus(clause.toolchain) if clause.everyday or not case.everyday]
    if clause.speaks_of is SpeaksOf.UNSUPPORTED:
        cases = [case for case in cases if description.lacks(case.features)]
        if not cases:
            nothing = (
                "no model needs a feature that the backend declares missing, so there is nothing that it must refuse"
            )
            return [_cell(clause, description, None, clause.runtimes[0], Availability.FULL, None, nothing)]
    return [
        _cell(clause, description, case, runtime, host, target)
        for case in cases
        for runtime in clause.runtimes
        for host in clause.hosts
        for target in clause.targets or (None,)
    ]


def _cell(
    clause: Clause,
    description: Description,
    case: Case | None,
    runtime: str,
    host: Availability,
    target: Availability | None,
    not_applicable: str = "",
    *,
    theme: str = "",
    turned_off: bool = False,
) -> Cell:
    decided, why = None, not_applicable
    needed = clause.needs | (case.features if case and clause.speaks_of is SpeaksOf.SUPPORTED else frozenset())
    lacking = description.lacks(needed)
    if not_applicable:
        decided = Verdict.NOT_APPLICABLE
    elif lacking:
        decided = Verdict.UNSUPPORTED
        why = "declared missing: " + "; ".join(f"{name} ({reason})" for name, reason in sorted(lacking.items()))
    elif turned_off:
        decided, why = Verdict.NOT_EXERCISED, TURNED_OFF
    elif description.only_lowers and (target is not None or clause.speaks_of in _RUN_WHAT_THEY_LOWER):
        decided, why = Verdict.NOT_EXERCISED, description.only_lowers
    else:
        for role, state in (("host", host), ("target", target)):
            if state is not None and description.environment(state) is None:
                decided = Verdict.NOT_EXERCISED
                why = f"the backend's class gives no way to reach {state.value} on the {role} ({state.attribute!r})"
                break
    name = case.name if case else ""
    return Cell(clause, description.source.name, name, runtime, host, target, decided, why, theme=theme)


def digest_of_ids(ids: Iterable[str]) -> str:
    """SHA-256 over the ids of the planned cells, in sorted order."""
    return hashlib.sha256(json.dumps(sorted(ids)).encode()).hexdigest()
