"""What isolation costs: a cell in forked processes against the same calls in one process.

    python benchmarks/isolation.py [BACKEND] [ROUNDS]

Both do the same work in turn, round by round, and compare the results. The cell does it in devices that are forked
for it: a host, or a host and a target. The bare calls are made in one process, where the backend was loaded once and
the JIT is warm. The figures are medians over the rounds, and the ratio is that of the medians. The difference is what
isolation costs: forks, loading the backend in each, a JIT that is cold in each, and messages. The last line weighs
the two kinds of cell by how many of each the contract has.
"""

from __future__ import annotations

import dataclasses
import statistics
import sys
import time
from collections.abc import Callable

from conformance.compare.comparison import assert_close
from conformance.compare.values import decode, encode
from conformance.contract import shipped_clauses, suite_function
from conformance.devices import Limits, Session, ZygotePool
from conformance.discovery.describing import Description
from conformance.discovery.selecting import select
from conformance.run.cell_context import CellContext
from conformance.run.plan import Cell, cells_of
from conformance.run.run_context import RunContext
from conformance.toolchains.torchscript.verbs import open_session

CASE = "linear"
#: Devices of a cell → the clause that stands for such cells.
CLAUSES = {1: "lowering.outputs", 2: "save-load.same-outputs"}
_WARM_UP = 5


def main(name: str = "reference", rounds: str = "60") -> None:
    """Print the medians and their ratios."""
    pool = ZygotePool(Limits())
    try:
        (candidate,) = select([name], None, pool)
        assert candidate.description is not None, candidate.problem
        description = candidate.description
        run = RunContext(pool, 0, {description.source.name: description})
        session = open_session(dataclasses.asdict(description.source))
        session.call("register", {})
        print(f"the case {CASE} on {name}, medians of {rounds} rounds in one run")
        costs = {devices: _measure(devices, int(rounds), run, description, session) for devices in CLAUSES}
    finally:
        pool.close()
    cells = [cell for clause in shipped_clauses() for cell in cells_of(clause, description) if cell.decided is None]
    counts = {1: sum(cell.target is None for cell in cells), 2: sum(cell.target is not None for cell in cells)}
    mean = sum(costs[devices] * counts[devices] for devices in costs) / len(cells)
    print(f"isolation, the mean over {counts[1]} cells with one device and {counts[2]} with two: {mean:.1f} ms a cell")


def _measure(devices: int, rounds: int, run: RunContext, description: Description, session: Session) -> float:
    (clause,) = (each for each in shipped_clauses() if each.id == CLAUSES[devices])
    (cell,) = (each for each in cells_of(clause, description) if each.case == CASE)
    isolated, bare = [], []
    for _ in range(rounds + _WARM_UP):
        isolated.append(_seconds(lambda: _run_cell(cell, run, description)))
        bare.append(_seconds(lambda: _run_bare(session, run, through_artifact=devices == 2)))
        session.call("release", {})
    in_cell, in_one = (statistics.median(each[_WARM_UP:]) * 1e3 for each in (isolated, bare))
    print(
        f"{clause.id:24} {devices} device{'s' if devices > 1 else ' '}: cell {in_cell:5.1f} ms, "
        f"bare {in_one:5.1f} ms, ratio {in_cell / in_one:4.2f}, isolation {in_cell - in_one:5.1f} ms"
    )
    return in_cell - in_one


def _seconds(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _run_cell(cell: Cell, run: RunContext, description: Description) -> None:
    function, names = suite_function(cell.clause)
    context = CellContext(run, cell, description)
    outcome = context.attempt(function, {name: context.part(name) for name in names})
    assert outcome.verdict.value == "PASS", outcome


def _run_bare(session: Session, run: RunContext, through_artifact: bool) -> None:
    scripted = session.call("script", {"case": CASE, "seed": run.seed})
    module = session.call("lower", {"module": scripted})
    if through_artifact:
        artifact = session.call("save", {"module": module, "runtime": "full"})
        module, _ = session.call("load", {"artifact": artifact, "runtime": "full"})
    calls = run.calls(CASE, "torchscript")
    for each in (*calls, *calls):
        arguments = {"module": module, "method": each.method, "inputs": encode(each.inputs)}
        assert_close(decode(session.call("run", arguments)[0]), each.expected, CASE)


if __name__ == "__main__":
    main(*sys.argv[1:])
