"""The proof that the harness can fail: every saboteur is caught, and the conforming backends pass.

A saboteur is tried on the cells of each clause that its author named, until one of them finds the breach with the
verdict and in the phase that the author expects. The controls run whole. The outcome is a kill matrix, saboteur by
clause, and a list of the clauses that no saboteur trips: unproven, since nothing shows that they can fail.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import as_completed
from typing import Any

from conformance._util.privacy import without_paths
from conformance._util.quiet import ignore_missing_numpy
from conformance.api.errors import HarnessError
from conformance.api.saboteur import REPORTED
from conformance.api.verdicts import Verdict
from conformance.contract import Clause, SpeaksOf, contract_clauses, shipped_clauses, suite_function
from conformance.contract.score import identity
from conformance.devices import Limits, ZygotePool
from conformance.discovery.describing import (
    Candidate,
    Description,
    KnownSaboteur,
    SelectionError,
    examine,
    known_saboteurs,
)
from conformance.discovery.selecting import select
from conformance.generate import DEFAULT_BUDGET
from conformance.generate.budget import Budget
from conformance.run.cell_context import CellContext
from conformance.run.plan import Cell, cells_of
from conformance.run.result import Result
from conformance.run.run_context import RunContext
from conformance.run.running import run_cell
from conformance.selftest.workers import worker_pool
from conformance.targets import LOCAL, NATIVE, open_target
from conformance.targets.native import NativePool
from conformance.toolchains import toolchains

FORMAT = "torch-conformance-selftest/1"
#: Where a saboteur can be tried.
TARGETS = (LOCAL, NATIVE)
#: Seconds for a verb: hangs are part of the test, and each costs this long.
LIMITS = Limits(seconds=6.0)
#: A generated cell tries so many programs on a saboteur.
_PROGRAMS = 300
#: Cells of a control that one task runs.
_CHUNK = 40


@dataclasses.dataclass(frozen=True)
class Found:
    """What a clause made of a saboteur: the first cell that found the breach, or the last that did not."""

    saboteur: str
    clause: str
    caught: bool
    cell: str
    verdict: str
    phase: str
    message: str


@dataclasses.dataclass(frozen=True)
class ControlFailure:
    """What a control came to in a cell that it did not pass."""

    control: str
    cell: str
    verdict: str
    message: str


@dataclasses.dataclass(frozen=True)
class Task:
    """What a worker tries at a time: a saboteur, or cells of a control."""

    name: str
    subject: KnownSaboteur | Description
    cells: Sequence[Cell] = ()


class Selftest:
    """One run, of the contract of a ``toolchain``. Raises SelectionError when the saboteurs or a control cannot be had.

    With ``names`` only these saboteurs are tried, of whichever contract, and no control; without ``controls`` all
    saboteurs alone.
    """

    def __init__(
        self, seed: int, workers: int, names: Sequence[str] = (), *, controls: bool = True, toolchain: str = ""
    ) -> None:
        self.seed = seed
        self.workers = workers
        self.toolchain = toolchain
        self.clauses = contract_clauses(toolchain)
        if toolchain and toolchain not in [each.name for each in toolchains()]:
            known = ", ".join(each.name for each in toolchains())
            raise SelectionError(f"there is no toolchain {toolchain!r}; installed here: {known}")
        meant = {clause.toolchain for clause in self.clauses}
        #: Whether only some saboteurs are tried: nothing is said then about clauses and controls.
        self.partial = bool(names)
        pool = ZygotePool(Limits())  # nothing hangs here that is to be caught, and what a control imports may take long
        try:
            saboteurs = known_saboteurs(pool)
            unknown = sorted(set(names) - {each.source.name for each in saboteurs})
            if unknown:
                raise SelectionError(
                    f"there is no saboteur named {unknown[0]!r}; conformance selftest --list shows all"
                )
            self.saboteurs = [
                each for each in saboteurs if (each.source.name in names if names else each.source.toolchain in meant)
            ]
            self._check_saboteurs()
            asked = conforming_backends(meant) if controls and not names else []
            self.controls = [_description(each) for each in select(asked, None, pool)] if asked else []
        finally:
            pool.close()

    def _check_saboteurs(self) -> None:
        known = {clause.id for clause in shipped_clauses()}
        for saboteur in self.saboteurs:
            wrong = sorted(set(saboteur.caught_by) - known)
            if wrong or not saboteur.caught_by:
                raise SelectionError(f"the saboteur {saboteur.source.name!r} names clauses that are not there: {wrong}")
            if saboteur.target not in TARGETS:
                raise SelectionError(
                    f"the saboteur {saboteur.source.name!r} is for the target {saboteur.target!r}, "
                    f"where one of {', '.join(TARGETS)} was expected"
                )

    def run(self, progress: Callable[[str], None]) -> dict[str, Any]:
        """Try every saboteur and every control. Returns a JSON document; ``progress`` gets a line for each task.

        An interruption, or the end of a worker process, ends it with what was tried until then; the document says how
        many tasks are ``untried``. A task in which the harness fails is one of these, and the document has the
        ``errors``; the others are tried.
        """
        began = time.monotonic()
        found: list[Found] = []
        failing: list[ControlFailure] = []
        # what takes longest is tried first, so that no worker has it left when the others are done
        tasks = [task for each in self.controls for task in _tasks_of(each, self.clauses)]
        tasks += [Task(each.source.name, each) for each in self.saboteurs]
        done: list[Task] = []
        errors: dict[str, str] = {}

        def ended(why: str) -> None:
            progress(f"{why} after {len(done)} of {len(tasks)} tasks")

        with worker_pool(self.workers, _start, self.seed, ended=ended) as pool:
            futures = {pool.submit(_try, each): each for each in tasks}
            for future in as_completed(futures):
                task = futures[future]
                try:
                    results = future.result()
                except HarnessError as error:
                    errors[task.name] = " ".join(without_paths(str(error)).split())
                    progress(f"{task.name}: the harness failed: {errors[task.name]}")
                    continue
                done.append(task)
                found += [each for each in results if isinstance(each, Found)]
                failing += [each for each in results if isinstance(each, ControlFailure)]
                progress(f"[{len(done)}/{len(tasks)}] {task.name}: {_in_a_word(results)}")
        cells = {
            each.source.name: sum(len(task.cells) for task in done if task.subject is each) for each in self.controls
        }
        document = self._document(found, failing, cells, len(tasks) - len(done), time.monotonic() - began)
        return {**document, "errors": errors} if errors else document

    def _document(
        self, found: list[Found], failing: list[ControlFailure], cells: dict[str, int], untried: int, seconds: float
    ) -> dict[str, Any]:
        by_saboteur = {
            each.source.name: [row for row in found if row.saboteur == each.source.name] for each in self.saboteurs
        }
        caught = [name for name, rows in by_saboteur.items() if rows and all(row.caught for row in rows)]
        proven = {row.clause for row in found if row.caught}
        return {
            "format": FORMAT,
            **identity(self.toolchain),
            "seed": self.seed,
            "seconds": round(seconds, 1),
            "untried": untried,
            "score": {"caught": len(caught), "saboteurs": len(self.saboteurs)},
            "partial": self.partial or untried > 0,
            "unproven": []
            if self.partial or untried
            else [clause.id for clause in self.clauses if _can_fail(clause) and clause.id not in proven],
            "controls": [
                {
                    "name": name,
                    "cells": count,
                    "failing": [dataclasses.asdict(each) for each in failing if each.control == name],
                }
                for name, count in cells.items()
            ],
            "saboteurs": [
                {
                    "name": each.source.name,
                    "sabotage": each.sabotage,
                    "target": each.target,
                    "expected": {"verdicts": list(each.verdicts), "phases": list(each.phases)},
                    "clauses": [dataclasses.asdict(row) for row in by_saboteur[each.source.name]],
                }
                for each in self.saboteurs
            ],
        }


def _tasks_of(control: Description, clauses: Sequence[Clause]) -> list[Task]:
    """The cells of a control, as many in each task as one worker tries in a row."""
    planned = [cell for clause in clauses for cell in cells_of(clause, control)]
    tasks = []
    for chunk in _chunks(planned):
        first = planned.index(chunk[0]) + 1
        which = f"{first}-{first + len(chunk) - 1}" if len(chunk) > 1 else f"{first}"
        tasks.append(Task(f"{control.source.name} {which}", control, chunk))
    return tasks


def _chunks(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Cells that one worker tries in a row: each that has a share of the time for what is generated by itself, and
    first; then so many that follow each other."""
    alone: list[list[Cell]] = []
    together: list[list[Cell]] = []
    for is_long, group in itertools.groupby(cells, lambda cell: cell.clause.speaks_of is SpeaksOf.GENERATED):
        of_a_kind = list(group)
        size = 1 if is_long else _CHUNK
        (alone if is_long else together).extend(
            of_a_kind[start : start + size] for start in range(0, len(of_a_kind), size)
        )
    return alone + together


def conforming_backends(of: Collection[str]) -> list[str]:
    """The names of the backends of these toolchains that must pass everything."""
    return [name for toolchain in toolchains() if toolchain.name in of for name in toolchain.conforming]


def _can_fail(clause: Clause) -> bool:
    """The operator table reports, and is tested by what it says of saboteurs (tests/operators/test_operators.py)."""
    return clause.speaks_of is not SpeaksOf.OPERATORS


def _description(candidate: Candidate) -> Description:
    if candidate.description is None or not candidate.usable:
        raise SelectionError(f"the control {candidate.source.name!r} cannot be used here: {candidate.problem}")
    return candidate.description


# What runs in a worker process.

#: A run for each kind of target, which live as long as the process.
_runs: dict[str, RunContext] = {}


def _start(seed: int) -> None:
    threading.Thread(target=end_with_parent, daemon=True).start()
    ignore_missing_numpy()
    pool = ZygotePool(LIMITS)
    pool.expect_many(seed)
    native = NativePool(pool)
    for target in TARGETS:
        pool_of_targets = open_target(target, pool, native).pool
        budget = Budget.parse(DEFAULT_BUDGET)
        _runs[target] = RunContext(pool, seed, {}, targets=pool_of_targets, native=native, generated=budget)


def end_with_parent() -> None:
    """A self-test that is killed leaves no worker behind that waits for tasks; the zygotes end with the worker."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def _try(task: Task) -> list[Found | ControlFailure]:
    if isinstance(task.subject, KnownSaboteur):
        return _try_saboteur(task.subject)
    return _try_control(task.subject, task.cells)


def _try_saboteur(saboteur: KnownSaboteur) -> list[Found | ControlFailure]:
    run = _runs[saboteur.target]
    # until the first finding, so that a number costs little; enough for an operator among some hundred
    run.generated, run.first_finding_only = Budget(_PROGRAMS), True
    candidate = examine(saboteur.source, run.pool, prepare=True)
    if candidate.description is None:
        nothing = functools.partial(Found, saboteur.source.name, caught=False, cell="", verdict="", phase="")
        return [nothing(clause=clause, message=candidate.problem) for clause in saboteur.caught_by]
    run.descriptions[saboteur.source.name] = candidate.description
    clauses = {clause.id: clause for clause in shipped_clauses()}
    found: list[Found | ControlFailure] = []
    revealing: set[str] = set()
    for name in saboteur.caught_by:
        row, case = _try_clause(saboteur, clauses[name], candidate.description, revealing)
        found.append(row)
        revealing.add(case)
    return found


def _try_clause(
    saboteur: KnownSaboteur, clause: Clause, description: Description, revealing: set[str]
) -> tuple[Found, str]:
    """What a clause makes of a saboteur, and the case that showed it; ``revealing`` cases are tried first."""
    last = None
    case = ""
    cells = sorted(cells_of(clause, description), key=lambda cell: cell.case not in revealing)
    reruns = 1 if Verdict.FLAKY.value in saboteur.verdicts else 0
    for result in results(_runs[saboteur.target], clause, cells, reruns):
        verdict, phase, message = _seen(result, saboteur)
        caught = verdict == REPORTED or (verdict in saboteur.verdicts and phase in saboteur.phases)
        if caught or verdict != Verdict.PASS.value or last is None:
            last = Found(
                saboteur.source.name, clause.id, caught, result.cell.id, verdict, phase, without_paths(message)
            )
            case = result.cell.case
        if caught:
            break
    assert last is not None, "a clause has a cell at least"
    return last, case


def _seen(result: Result, saboteur: KnownSaboteur) -> tuple[str, str, str]:
    """Verdict, phase and message of a cell; what it only reports is a verdict too for who is to be caught so."""
    outcome, reported = result.outcome, result.record.reported
    if outcome.verdict is Verdict.PASS and reported and REPORTED in saboteur.verdicts:
        return REPORTED, "notes", reported[0]
    return outcome.verdict.value, outcome.phase, outcome.message


def _try_control(description: Description, cells: Sequence[Cell]) -> list[Found | ControlFailure]:
    run = _runs[LOCAL]
    run.generated, run.first_finding_only = Budget.parse(DEFAULT_BUDGET), False
    run.descriptions[description.source.name] = description
    failing: list[Found | ControlFailure] = []
    for cell in cells:
        for result in results(run, cell.clause, [cell]):
            if result.outcome.verdict.fails:
                name, outcome = description.source.name, result.outcome
                failing.append(ControlFailure(name, cell.id, outcome.verdict.value, without_paths(outcome.message)))
            elif result.record.reported:
                message = without_paths(result.record.reported[0])
                failing.append(ControlFailure(description.source.name, cell.id, REPORTED, message))
    return failing


def results(run: RunContext, clause: Clause, cells: Iterable[Cell], reruns: int = 0) -> Iterator[Result]:
    """What cells of a clause come to."""
    function, names = suite_function(clause)
    for cell in cells:
        context = CellContext(run, cell, run.descriptions[cell.backend])
        yield run_cell(run, context, function, lambda each: each.parts(names), reruns=reruns)


def _in_a_word(results: list[Found | ControlFailure]) -> str:
    escaped = [each.clause for each in results if isinstance(each, Found) and not each.caught]
    if escaped:
        return f"ESCAPED {', '.join(escaped)}"
    failing = [each.cell for each in results if isinstance(each, ControlFailure)]
    return f"FAILING {', '.join(failing)}" if failing else "ok"
