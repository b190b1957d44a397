"""Mutants drawn, probed and tried: how many of the backends that nobody wrote the contract catches.

A mutant is *active* where a probe of its own, which has nothing of the contract, saw it do something wrong; those that
were not are equivalent to the control, as far as anybody can tell, and do not count. An active one is *killed* by the
first cell that is a breach. The clauses that are generated are tried first; those that are written, on request.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, as_completed
from random import Random
from typing import Any

from conformance.api.mutants import ENTRY_POINT_GROUP, Mutants
from conformance.contract.score import identity
from conformance.devices import ZygotePool
from conformance.discovery.describing import Description, SelectionError, examine
from conformance.extensions import resolve
from conformance.selftest.kept_mutants import FORMAT
from conformance.selftest.mutant_trials import Task, has_no_verdict, start, try_mutant
from conformance.selftest.trials import LIMITS
from conformance.selftest.workers import worker_pool
from conformance.toolchains import Source, installed_sources, toolchains

#: The 97.5th percentile of the normal distribution: intervals are of 95 %.
_Z = 1.959964


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What a run of mutants is to try."""

    #: How many are drawn, shared equally by the toolchains.
    number: int
    seed: int
    #: Names of toolchains; empty: all that have mutants.
    toolchains: tuple[str, ...] = ()
    #: Of each toolchain the one with this number alone.
    only: int | None = None
    #: One specification in place of those that are drawn.
    spec: dict[str, Any] | None = None
    #: How many programs each theme may try.
    programs: int = 100
    #: Of each toolchain so many, from the first, are held against the written clauses as well.
    written: int = 0


class MutantTest:
    """One run. Raises SelectionError where there are no such mutants, or their backends cannot be had.

    ``went_before`` is the document of an earlier run with the same seed and number of programs: what it has tried is
    not tried again.
    """

    def __init__(self, wanted: Wanted, workers: int, went_before: Mapping[str, Any] | None = None) -> None:
        self.wanted = wanted
        self.workers = workers
        self._seconds = float(went_before["seconds"]) if went_before else 0.0
        kinds = _kinds(wanted.toolchains)
        pool = ZygotePool(LIMITS)
        try:
            self._tasks = [
                task for place, kind in enumerate(kinds) for task in self._tasks_of(kind, place, len(kinds), pool)
            ]
        finally:
            pool.close()
        # In turn, so that a run which is interrupted has tried as many of each.
        self._tasks.sort(key=lambda task: task.number)
        self._sentences = {kind.toolchain: kind.sentence for kind in kinds}
        self._rows = [dict(row) for row in went_before["mutants"]] if went_before else []
        done = self._done()
        self._left = [task for task in self._tasks if (task.toolchain, task.number) not in done]

    def _done(self) -> set[tuple[str, int]]:
        """The mutants of this run of which earlier rows say all that is asked; a row that says less is dropped."""
        tasks = {(task.toolchain, task.number): task for task in self._tasks}
        done, less = set(), []
        for row in self._rows:
            key = row["toolchain"], row["number"]
            task = tasks.get(key)
            if task is None:
                continue
            if row["spec"] != task.spec:
                raise SelectionError(
                    f"what was tried before has another mutant as number {key[1]} of {key[0]}: keep this one elsewhere"
                )
            if has_no_verdict(row) or (task.written and row["active"] and row["written"] is None):
                less.append(row)
            else:
                done.add(key)
        self._rows = [row for row in self._rows if row not in less]
        return done

    def _tasks_of(self, kind: Mutants, place: int, kinds: int, pool: ZygotePool) -> list[Task]:
        wanted = self.wanted
        if wanted.spec is not None:
            numbered = {0: wanted.spec} if wanted.spec.get("toolchain") == kind.toolchain else {}
        else:
            random = Random(f"{wanted.seed} {kind.toolchain}")
            share = wanted.number // kinds + (place < wanted.number % kinds)
            numbered = {number: kind.draw(random) for number in range(share)}
            if wanted.only is not None:
                numbered = {number: spec for number, spec in numbered.items() if number == wanted.only}
        if not numbered:
            return []
        description = _description(kind, pool)
        return [
            Task(
                kind.toolchain,
                number,
                spec,
                description,
                kind.probe,
                kind.variable,
                kind.firings,
                tuple(_witnesses(kind, spec)),
                wanted.seed,
                wanted.programs,
                number < wanted.written,
            )
            for number, spec in numbered.items()
        ]

    def run(
        self, progress: Callable[[str], None], keep: Callable[[dict[str, Any]], None] = lambda document: None
    ) -> dict[str, Any]:
        """Probe and try every mutant. Returns a JSON document; ``progress`` gets a line for each, and ``keep`` the
        document as it is until then.

        An interruption, or the end of a worker process, ends it with what was tried until then; the document says how
        many are ``untried``.
        """
        began = time.monotonic()
        rows = list(self._rows)
        if not self._tasks:
            raise SelectionError("there is no such mutant: see --mutants, --toolchain and --only")
        total = len(rows) + len(self._left)
        if rows:
            progress(f"{len(rows)} of {total} were tried before")

        def document() -> dict[str, Any]:
            return self._document(rows, total, time.monotonic() - began)

        def ended(why: str) -> None:
            progress(f"{why} after {len(rows)} of {total} mutants")

        with worker_pool(self.workers, start, ended=ended) as pool:
            tasks: dict[Future[dict[str, Any]], Task] = {pool.submit(try_mutant, each): each for each in self._left}
            for future in as_completed(tasks):
                task = tasks[future]
                row = {**future.result(), "sentence": self._sentences[task.toolchain](task.spec)}
                rows.append(row)
                place = f"[{len(rows)}/{total}] {task.toolchain} {task.number}"
                progress(f"{place}: {_in_a_word(row)}: {row['sentence']}")
                for error in row["errors"]:
                    progress(f"    no verdict: {error}")
                keep(document())
        return document()

    def _document(self, rows: Sequence[dict[str, Any]], total: int, seconds: float) -> dict[str, Any]:
        rows = sorted(rows, key=lambda row: (row["toolchain"], row["number"]))
        names = list(dict.fromkeys(row["toolchain"] for row in rows))
        return {
            "format": FORMAT,
            **identity(),
            "seed": self.wanted.seed,
            "programs": self.wanted.programs,
            "seconds": round(self._seconds + seconds, 1),
            "untried": total - len(rows) + sum(map(has_no_verdict, rows)),
            "score": score_of(rows),
            "toolchains": {name: score_of([row for row in rows if row["toolchain"] == name]) for name in names},
            "written": _written_and_generated(rows),
            "mutants": rows,
        }


def score_of(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How many of the mutants were drawn, active and killed, with the bounds of the share that is killed, in per cent,
    and the median of the seconds that a kill took."""
    active = [row for row in rows if row["active"]]
    killed = [row for row in active if row["kill"] is not None]
    low, high = wilson(len(killed), len(active))
    took = [row["kill"]["seconds"] for row in killed]
    return {
        "drawn": len(rows),
        "active": len(active),
        "killed": len(killed),
        "low": round(100 * low, 1),
        "high": round(100 * high, 1),
        "median_seconds": round(statistics.median(took), 2) if took else None,
    }


def wilson(hits: int, tries: int) -> tuple[float, float]:
    """The bounds between which a share lies with a confidence of 95 %, by Wilson's score; 0 and 1 without any try."""
    if not tries:
        return 0.0, 1.0
    share = hits / tries
    middle = share + _Z**2 / (2 * tries)
    spread = _Z * math.sqrt(share * (1 - share) / tries + _Z**2 / (4 * tries**2))
    whole = 1 + _Z**2 / tries
    return max(0.0, (middle - spread) / whole), min(1.0, (middle + spread) / whole)


def _written_and_generated(rows: Sequence[dict[str, Any]]) -> dict[str, int] | None:
    """Of the active mutants that both kinds of clauses were tried on: who catches them. None where there are none."""
    tried = [row for row in rows if row["active"] and row["written"] is not None]
    if not tried:
        return None
    kinds = [(row["kill"] is not None, row["written"]["kill"] is not None) for row in tried]
    return {
        "tried": len(tried),
        "both": kinds.count((True, True)),
        "generated_alone": kinds.count((True, False)),
        "written_alone": kinds.count((False, True)),
        "neither": kinds.count((False, False)),
    }


def _kinds(names: Sequence[str]) -> list[Mutants]:
    found: list[Mutants] = []
    for point in installed_sources(ENTRY_POINT_GROUP):
        found += resolve(point.value)
    order = [each.name for each in toolchains()]
    found = sorted((each for each in found if each.toolchain in order), key=lambda each: order.index(each.toolchain))
    known = [each.toolchain for each in found]
    unknown = sorted(set(names) - set(known))
    if unknown or not found:
        wanted = repr(unknown[0]) if unknown else "any toolchain"
        raise SelectionError(
            f"no installed distribution has mutants of {wanted}; there are some of: {', '.join(known)}"
        )
    return [each for each in found if not names or each.toolchain in names]


def _description(kind: Mutants, pool: ZygotePool) -> Description:
    source = Source(name=f"{kind.toolchain}_mutant", value=kind.backend, toolchain=kind.toolchain)
    candidate = examine(source, pool, prepare=True)
    if candidate.description is None or not candidate.usable:
        raise SelectionError(f"the mutants of {kind.toolchain} cannot be used here: {candidate.problem}")
    return candidate.description


def _witnesses(kind: Mutants, spec: dict[str, Any]) -> list[str]:
    found: list[str] = []
    while (source := kind.witness(spec, len(found))) is not None:
        found.append(source)
    return found


def _in_a_word(row: dict[str, Any]) -> str:
    if has_no_verdict(row):
        return "not tried"
    if not row["active"]:
        return "equivalent"
    if row["kill"] is None:
        return f"SURVIVED (its conditions were met {row['fired_in_trial']} times)"
    return f"killed by {row['kill']['cell']}"
