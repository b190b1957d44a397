"""What isolation costs: a cell in forked processes against the same calls in one process.

    python benchmarks/isolation.py [BACKEND] [ROUNDS]

Both do the same work in turn, round by round: script a model, lower it, save it, load it, run it, compare the results.
The cell does it on a host and a target that are forked for it; the bare calls in one process, where the backend was
loaded once and the JIT is warm. The figures are medians over the rounds, and the ratio that of the medians; the
difference is what isolation costs: two forks, loading the backend twice, a JIT that is cold twice, and messages.
"""

from __future__ import annotations

import dataclasses
import statistics
import sys
import time

from conformance.bench import Bench, Workshop
from conformance.catalogue import Description, select
from conformance.comparison import assert_close
from conformance.contract import shipped_clauses, suite_function
from conformance.devices import Limits, ZygotePool
from conformance.plan import cells_of
from conformance.toolchains.torchscript import open_session
from conformance.values import decode, encode

CLAUSE = "save-load.same-outputs"
CASE = "linear"


def main(name: str = "reference", rounds: str = "60") -> None:
    """Print the medians and their ratio."""
    pool = ZygotePool(Limits())
    try:
        (candidate,) = select([name], None, pool)
        assert candidate.description is not None, candidate.problem
        description = candidate.description
        workshop = Workshop(pool, 0, {description.source.name: description})
        cell_seconds, bare_seconds = [], []
        session = open_session(dataclasses.asdict(description.source))
        session.call("register", {})
        for _ in range(int(rounds) + 5):
            cell_seconds.append(_timed_cell(workshop, description))
            bare_seconds.append(_timed_bare(session, workshop))
    finally:
        pool.close()
    cell, bare = (statistics.median(seconds[5:]) * 1e3 for seconds in (cell_seconds, bare_seconds))
    print(f"{CLAUSE}[{CASE}] on {name}, medians of {rounds} rounds in one run")
    print(f"  a cell, two devices       {cell:7.1f} ms")
    print(f"  the bare calls            {bare:7.1f} ms")
    print(f"  ratio                     {cell / bare:7.2f}")
    print(f"  isolation, a cell         {cell - bare:7.1f} ms")


def _timed_cell(workshop: Workshop, description: Description) -> float:
    (clause,) = (each for each in shipped_clauses() if each.id == CLAUSE)
    (cell,) = (each for each in cells_of(clause, description) if each.case == CASE)
    function, names = suite_function(clause)
    began = time.perf_counter()
    bench = Bench(workshop, cell, description)
    outcome = bench.attempt(function, {name: bench.part(name) for name in names})
    elapsed = time.perf_counter() - began
    assert outcome.verdict.value == "PASS", outcome
    return elapsed


def _timed_bare(session: object, workshop: Workshop) -> float:
    call = session.call  # type: ignore[attr-defined]
    calls = workshop.calls(CASE)
    began = time.perf_counter()
    lowered = call("lower", {"module": call("script", {"case": CASE, "seed": workshop.seed})})
    artifact = call("save", {"module": lowered, "runtime": "full"})
    loaded, _ = call("load", {"artifact": artifact, "runtime": "full"})
    for each in (*calls, *calls):
        (result,) = call("run", {"module": loaded, "method": each.method, "inputs": encode(each.inputs)})
        assert_close(decode(result), each.expected, CASE)
    elapsed = time.perf_counter() - began
    call("release", {})
    return elapsed


if __name__ == "__main__":
    main(*sys.argv[1:])
