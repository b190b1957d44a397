"""What becomes of one mutant, in a worker process: probed by a program of its own, then tried by the contract."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from conformance._util.privacy import without_paths
from conformance._util.quiet import ignore_missing_numpy
from conformance._util.run_folder import private_folder
from conformance.api.errors import DeviceEnded, HarnessError, SubjectError
from conformance.api.verdicts import Outcome, Verdict
from conformance.contract import SpeaksOf, shipped_clauses
from conformance.devices import Device, DeviceKind, Ledger, ZygotePool
from conformance.discovery.describing import Description
from conformance.generate import THEMES, THEMES_OF_SCENARIOS
from conformance.generate.budget import Budget
from conformance.run.plan import Cell, cells_of
from conformance.run.run_context import RunContext
from conformance.selftest.trials import LIMITS, end_with_parent, results
from conformance.toolchains import toolchain_named

#: How many programs of each theme are tried before it goes on with as many as the run allows: most die of a few.
_FIRST_PROGRAMS = 10


@dataclasses.dataclass(frozen=True)
class Task:
    """One mutant, and how it is to be tried."""

    toolchain: str
    number: int
    spec: dict[str, Any]
    description: Description
    probe: str
    variable: str
    firings: str
    witnesses: tuple[str, ...]
    seed: int
    programs: int
    #: Whether the written clauses are tried as well.
    written: bool

    def described(self, firings: Path) -> Description:
        """The backend as this mutant, which counts its firings in a file."""
        environment = {self.variable: json.dumps(self.spec), self.firings: str(firings)}
        return dataclasses.replace(self.description, prepared={**self.description.prepared, **environment})


_pools: list[ZygotePool] = []
#: What PyTorch without a backend came to in cells that were tried before.
_controls: dict[tuple[str, str, str, int], Outcome] = {}


def start() -> None:
    """Make the process ready for mutants."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    ignore_missing_numpy()
    _pools.append(ZygotePool(LIMITS))


def try_mutant(task: Task) -> dict[str, Any]:
    """The row of a mutant: what its probe saw, and what killed it. Where the harness failed, ``errors`` say so."""
    row = {**_unprobed(task), "kill": None, "written": None, "fired_in_trial": 0, "errors": []}
    with private_folder("mutant") as folder:
        try:
            row |= _probed(task, Path(folder))
            if row["active"]:
                _try(task, Path(folder), row)
        except HarnessError as error:
            row["errors"].append(f"{type(error).__name__}: {' '.join(without_paths(str(error)).split())[:300]}")
    survived = row["active"] and row["kill"] is None
    return row if survived or not row["active"] else {**row, "witness": ""}


def has_no_verdict(row: Mapping[str, Any]) -> bool:
    """Whether the harness failed before a probe could tell whether the mutant does anything wrong."""
    return bool(row["errors"]) and not row["active"]


def _try(task: Task, folder: Path, row: dict[str, Any]) -> None:
    """Try the contract on an active mutant, and put into its row what comes of it."""
    file = folder / "trial"
    description = task.described(file)
    row["kill"] = _killed(task, file, _generated(description, task), row["errors"])
    row["fired_in_trial"] = _size(file)
    if task.written:
        row["written"] = {"kill": _killed(task, folder / "written", _written(description, task), row["errors"])}


def _size(file: Path) -> int:
    return file.stat().st_size if file.is_file() else 0


# The probe.


def _unprobed(task: Task) -> dict[str, Any]:
    return {
        "toolchain": task.toolchain,
        "number": task.number,
        "spec": task.spec,
        "active": False,
        "fired": 0,
        "differences": [],
        "witness": "",
    }


def _probed(task: Task, folder: Path) -> dict[str, Any]:
    row = _unprobed(task)
    for number, source in enumerate(task.witnesses):
        fired, differences = _played(task, number, folder / f"probe-{number}")
        row["fired"] = max(row["fired"], fired)
        if fired and differences:
            return {**row, "active": True, "differences": differences[:4], "witness": source}
    return row


def _played(task: Task, number: int, file: Path) -> tuple[int, list[str]]:
    """How often a mutant fired in a witness, and what was different there."""
    toolchain = toolchain_named(task.toolchain)
    kind = DeviceKind(task.toolchain, "probe", task.probe, toolchain.zygote("host"), toolchain.run_folders)
    description = task.described(file)
    pool = _pools[0]
    device = Device("probe", lambda: pool.fork(kind, description.subject(), description.prepared), Ledger())
    try:
        seen = device.call("play", spec=task.spec, number=number) or {"fired": 0, "differences": []}
        device.release()
    except DeviceEnded as error:
        return _size(file), [without_paths(str(error).splitlines()[0])]
    except SubjectError as error:
        raise HarnessError(f"the probe of {task.toolchain} {task.number} failed by itself: {error.text}") from error
    finally:
        device.end()
    return int(seen["fired"]), without_paths(list(seen["differences"]))


# The contract.


def _generated(description: Description, task: Task) -> Iterator[tuple[Cell, int]]:
    """Generated cells with how many programs each is to try: few of all first, then as many as the run allows."""
    cells = [
        cell
        for each in shipped_clauses()
        if each.speaks_of is SpeaksOf.GENERATED
        for cell in cells_of(each, description)
    ]
    cells.sort(key=_patience)
    for programs in dict.fromkeys((min(_FIRST_PROGRAMS, task.programs), task.programs)):
        yield from ((cell, programs) for cell in cells)


def _patience(cell: Cell) -> int:
    """Programs come first, then single operators, then scenarios, which take longest."""
    themes = set(cell.clause.cases)
    return 2 if themes & set(THEMES_OF_SCENARIOS) else 0 if themes <= set(THEMES) else 1


def _written(description: Description, task: Task) -> Iterator[tuple[Cell, int]]:
    """Every cell of a written clause; one of each clause first."""
    clauses = [each for each in shipped_clauses() if each.speaks_of not in (SpeaksOf.GENERATED, SpeaksOf.OPERATORS)]
    by_clause = [cells_of(each, description) for each in clauses]
    for turn in range(max(map(len, by_clause))):
        yield from ((cells[turn], 0) for cells in by_clause if turn < len(cells))


def _killed(task: Task, firings: Path, cells: Iterable[tuple[Cell, int]], errors: list[str]) -> dict[str, Any] | None:
    """The first breach after the mutant has done something, and how long it took; None where it survives.

    What the harness got wrong is told in ``errors``.
    """
    description = task.described(firings)
    began = time.monotonic()
    # Fewer programs are others: their cells have a seed of their own.
    runs = {programs: _run(task, description, programs) for programs in (0, _FIRST_PROGRAMS, task.programs)}
    try:
        for cell, programs in cells:
            for result in results(runs[min(programs, task.programs)], cell.clause, [cell]):
                outcome = result.outcome
                if outcome.verdict is Verdict.HARNESS_ERROR:
                    errors.append(f"{cell.id}: {without_paths(outcome.message)[:300]}")
                elif not (outcome.verdict.is_breach or outcome.verdict is Verdict.FLAKY):
                    continue
                elif not _size(firings):
                    # Nothing was wrong yet: whatever failed, such as a machine that is too busy, kills nobody.
                    errors.append(
                        f"false alarm, {cell.id}: {outcome.verdict.value}: {without_paths(outcome.message)[:300]}"
                    )
                else:
                    return {
                        "clause": cell.clause.id,
                        "cell": cell.id,
                        "verdict": outcome.verdict.value,
                        "phase": outcome.phase,
                        "message": without_paths(outcome.message)[:300],
                        "seconds": round(time.monotonic() - began, 2),
                        "programs": programs,
                    }
        return None
    finally:
        for run in runs.values():
            run.laboratory(description.source.name).close()
            run.operators(description.source.name).close()


def _run(task: Task, description: Description, programs: int) -> RunContext:
    run = RunContext(
        _pools[0],
        task.seed + programs,
        {description.source.name: description},
        generated=Budget(programs),
        first_finding_only=True,
    )
    run.controls = _controls
    return run
