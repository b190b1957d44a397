"""The command line that tries a cell of a report again, where the backend and the harness are installed."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Iterator

from conformance.generate import DEFAULT_BUDGET
from conformance.generate.budget import Budget
from conformance.report.model import Report
from conformance.report.row_model import CellRow

#: Options that say where something lies, which a report does not: they are asked for again.
_PLACES = {
    "--conformance-library": "LIBRARY",
    "--conformance-goldens": "DIR",
    "--conformance-expectations": "FILE",
}
#: As a report writes it.
_DEFAULT_BUDGET = str(Budget.parse(DEFAULT_BUDGET))


@dataclasses.dataclass(frozen=True)
class Rerun:
    """The options of a run that decide what happens in a cell; all but which cells there are."""

    options: tuple[str, ...]

    #: The operators of the table, whose cells there are only where they are asked for.
    operators: frozenset[str] = frozenset()

    def arguments(self, row: CellRow) -> tuple[str, ...]:
        """The command line that tries a cell again, word by word."""
        asked = [f"--conformance-operators={row.case}"] if row.case in self.operators else []
        return ("pytest", *self.options, *asked, f"--conformance-select={row.id}")

    def command(self, row: CellRow) -> str:
        """What to paste into a shell to try a cell again."""
        return shlex.join(self.arguments(row))


def rerun_of(report: Report) -> Rerun:
    """How the run of a report is repeated."""
    operators = frozenset(row.operator for row in report.operators.rows) if report.operators else frozenset[str]()
    return Rerun(tuple(_options(report)), operators)


def _options(report: Report) -> Iterator[str]:
    backend, run = report.backend, report.run
    given = {argument.partition("=")[0] for argument in run.argv}
    yield f"--backend={backend.entry_point or backend.name}"
    for option, place in _PLACES.items():
        if option in given:
            yield f"{option}={place}"
    if "--conformance-compile-options" in given:
        yield f"--conformance-compile-options={json.dumps(backend.options or {}, sort_keys=True)}"
    if run.seed:
        yield f"--conformance-seed={run.seed}"
    if report.target and report.target.spec != "local":
        yield f"--conformance-target={report.target.spec}"
    if run.generated and run.generated != _DEFAULT_BUDGET:
        yield f"--conformance-generated={run.generated}"
