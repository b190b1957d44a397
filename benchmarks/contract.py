"""What a run of the contract costs, against the bare calls of the same cells in one warm process.

    python benchmarks/contract.py [BACKEND ...] [--rounds N] [--select PATTERN]

For each backend (by default reference, eager and aot_eager), without generated cells:

1. Every cell is tried once in devices of its own, and what each device was asked is kept, with its arguments.
2. The same requests are answered in one process, in the order in which they were made: the backend is loaded, PyTorch
   is warm, nothing is forked and nothing is sent. These are the *bare calls*: what is left of a cell without isolation.
   What would end the process or take modules away from it, and what programs without Python are asked, is left
   out, and counted.
3. The contract is run by pytest in one process, and by two workers of pytest-xdist.

The table has wall and CPU seconds of each, medians over the rounds, with all processes of a run, and both as ratios to
the bare calls. Below it stand the verbs that the bare calls spend their time in.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import functools
import importlib
import itertools
import json
import os
import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from tabulate import tabulate

from conformance._util.processes import adopt_orphans, end_children, set_environment
from conformance.api.clause import SpeaksOf
from conformance.compare.comparison import comparing
from conformance.contract import shipped_clauses, suite_function
from conformance.devices import Limits, Session, Step, Subject, ZygotePool
from conformance.devices._zygote import PINNED_ENVIRONMENT
from conformance.devices.protocol import WITHOUT_MODULES
from conformance.discovery.describing import Description
from conformance.discovery.selecting import select
from conformance.extensions import resolve
from conformance.run.cell_context import CellContext
from conformance.run.plan import Cell, cells_of
from conformance.run.run_context import RunContext
from conformance.toolchains import toolchain_named

BACKENDS = ("reference", "eager", "aot_eager")
WORKERS = (1, 2)
#: Verbs that are no part of the work: the backend is loaded, and a process ended.
_NOT_REPLAYED = ("register", "leave")
#: So many verbs are named.
_VERBS_TOLD = 6


@dataclasses.dataclass(frozen=True, slots=True)
class Cost:
    """Seconds on the clock, and of the processors."""

    wall: float
    cpu: float


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """What one of a cell's devices was asked. ``came_to`` is whether it answered with a value, rather than an error."""

    device: str
    session: str
    #: Modules that a device has imported before it is asked anything.
    imports: tuple[str, ...]
    subject: dict[str, Any] | None
    environment: dict[str, str | None]
    verb: str
    arguments: dict[str, Any]
    came_to: bool
    #: Whether the device ended instead.
    ended: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Bare:
    """The bare calls of a backend: their ``cost``, how many were made, and how many ``differed`` from those of the cell
    in whether they raised; ``verbs`` are seconds by verb."""

    cost: Cost
    calls: int
    differed: int
    verbs: dict[str, float]


def main() -> int:
    """Print the table of each backend."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("backends", nargs="*", default=BACKENDS)
    parser.add_argument("--rounds", type=int, default=1, help="how often everything is measured")
    parser.add_argument("--select", metavar="PATTERN", help="only clauses of which this is a part, as for pytest -k")
    parser.add_argument("--replay", nargs=2, type=Path, metavar=("REQUESTS", "RESULT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.replay:
        _replay_in_this_process(*options.replay)
        return 0
    adopt_orphans()  # so that what every process of a run took is counted when it has ended
    for backend in options.backends:
        _measure(backend, options.rounds, options.select or "")
    return 0


def _measure(backend: str, rounds: int, pattern: str) -> None:
    with tempfile.TemporaryDirectory(prefix="contract-") as folder:
        requests = Path(folder, "requests")
        cells, left_out = _record(backend, pattern, requests)
        bare: list[Bare] = []
        runs: dict[int, list[Cost]] = {workers: [] for workers in WORKERS}
        for _ in range(rounds):
            bare.append(_replay(requests, Path(folder, "result")))
            for workers in WORKERS:
                runs[workers].append(_cost(functools.partial(_run, backend, pattern, workers, folder)))
    floor = _median([each.cost for each in bare])
    costs = {f"{count} worker{'s' if count > 1 else ''}": _median(found) for count, found in runs.items()}
    rows = [
        [name, cost.wall, cost.cpu, cost.wall / floor.wall, cost.cpu / floor.cpu]
        for name, cost in {"the bare calls": floor, **costs}.items()
    ]
    one, *_, most = costs.values()
    print(f"\n{backend}: {cells} cells, {bare[-1].calls} calls; rounds: {rounds}")
    print(tabulate(rows, ["", "wall s", "CPU s", "wall ratio", "CPU ratio"], floatfmt=".2f", tablefmt="github"))
    print(f"{WORKERS[-1]} workers are {one.wall / most.wall:.2f} times as fast as one")
    print(f"left out of the bare calls: {left_out}; came to another end than in its cell: {bare[-1].differed}")
    slowest = sorted(bare[-1].verbs.items(), key=lambda each: -each[1])[:_VERBS_TOLD]
    print("of the bare calls: " + ", ".join(f"{verb} {seconds:.1f} s" for verb, seconds in slowest), flush=True)


def _median(costs: list[Cost]) -> Cost:
    return Cost(statistics.median(each.wall for each in costs), statistics.median(each.cpu for each in costs))


def _cost(work: Callable[[], None]) -> Cost:
    """What it takes until all processes have ended that ``work`` starts."""
    before, began = _cpu_of_children(), time.perf_counter()
    work()
    wall = time.perf_counter() - began
    end_children()
    return Cost(wall, _cpu_of_children() - before)


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


# The run.


def _run(backend: str, pattern: str, workers: int, folder: str) -> None:
    arguments = [f"--backend={backend}", "--conformance-generated=0", f"--conformance-report={folder}"]
    arguments += ["-q", "-p", "no:cacheprovider", *(["-n", str(workers)] if workers > 1 else [])]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, *(["-k", pattern] if pattern else [])],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"the run of {backend} ended with {done.returncode}:\n{done.stdout[-2000:]}")


# What the cells ask.


def _record(backend: str, pattern: str, file: Path) -> tuple[int, int]:
    """Try every cell, and write what its devices were asked to a file. How many cells, and how many requests of them
    can be no bare calls."""
    pool = ZygotePool(Limits())
    cells = left_out = 0
    try:
        (candidate,) = select([backend], None, pool)
        assert candidate.description is not None, candidate.problem
        description = candidate.description
        run = RunContext(pool, 0, {description.source.name: description})
        with file.open("wb") as out:
            for cell in _cells(description, pattern):
                requests = [_request(cell, step, description) for step in _steps(cell, run, description)]
                kept = [each for each in requests if _can_be_bare(each)]
                pickle.dump(kept, out)
                cells, left_out = cells + 1, left_out + len(requests) - len(kept)
    finally:
        pool.close()
    return cells, left_out


def _cells(description: Description, pattern: str) -> Iterator[Cell]:
    for clause in shipped_clauses():
        if clause.speaks_of is not SpeaksOf.GENERATED and pattern in clause.function:
            yield from (cell for cell in cells_of(clause, description) if cell.decided is None)


def _steps(cell: Cell, run: RunContext, description: Description) -> list[Step]:
    """What the devices of a cell were asked; nothing where it was more than a trace holds."""
    function, names = suite_function(cell.clause)
    context = CellContext(run, cell, description)
    with comparing(description.tolerances):
        context.attempt(function, {name: context.part(name) for name in names})
    return [step for step in context.trace.steps if step.verb != "register"]


def _request(cell: Cell, step: Step, description: Description) -> Request:
    machine = step.machine
    kind = toolchain_named(cell.clause.toolchain).device(machine.role)
    return Request(
        device=machine.label,
        session=kind.session,
        imports=kind.zygote.imports,
        subject=description.subject() if machine.has_backend else None,
        environment=machine.environment,
        verb=step.verb,
        arguments=step.arguments,
        came_to=step.returned,
        ended=not step.returned and step.raised is None,
    )


def _can_be_bare(request: Request) -> bool:
    """Whether a process with Python in it can be asked that, and is none the worse for it: it neither ends nor loses
    modules for good."""
    is_native = request.device.startswith("native")
    if is_native or request.ended:
        return False
    return request.verb not in _NOT_REPLAYED and WITHOUT_MODULES not in request.environment


# The bare calls.


def _replay(requests: Path, result: Path) -> Bare:
    """Answer what was asked in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="inductor-") as caches, tempfile.TemporaryFile() as said:
        environment = {**os.environ, **PINNED_ENVIRONMENT, "TORCHINDUCTOR_CACHE_DIR": caches}
        command = [sys.executable, __file__, "--replay", str(requests), str(result)]
        done = subprocess.run(command, env=environment, stdout=said, stderr=subprocess.STDOUT)
        if done.returncode:
            said.seek(0)
            text = said.read().decode(errors="replace")[-2000:]
            raise SystemExit(f"the process of the bare calls ended with {done.returncode}:\n{text}")
    found = json.loads(result.read_text())
    return Bare(Cost(**found.pop("cost")), **found)


def _replay_in_this_process(requests: Path, result: Path) -> None:
    """Answer everything twice: the first time warms PyTorch up, the second is measured. As in a device, the garbage
    collector looks at nothing that was there before."""
    import gc

    import torch

    torch.set_num_threads(1)
    for warm_up in (1, None):
        _Replay().answer(requests, warm_up)
        gc.collect()
        gc.freeze()
    replay = _Replay()
    replay.answer(requests)
    cost = Cost(sum(replay.wall.values()), replay.cpu)
    bare = Bare(cost, replay.calls, replay.differed, dict(replay.wall))
    result.write_text(json.dumps(dataclasses.asdict(bare)))


def _pickled(file: IO[bytes]) -> Iterator[list[Request]]:
    while True:
        try:
            yield pickle.load(file)
        except EOFError:
            return


class _Replay:
    """Answers the requests of cells, and adds up what that takes."""

    def __init__(self) -> None:
        self.wall: dict[str, float] = collections.defaultdict(float)
        self.cpu = 0.0
        self.calls = self.differed = 0

    def answer(self, requests: Path, most: int | None = None) -> None:
        """All cells of a file, or so many, each with sessions of its own."""
        with requests.open("rb") as file:
            for cell in itertools.islice(_pickled(file), most):
                self._answer_cell(cell)
                if dynamo := sys.modules.get("torch._dynamo"):
                    dynamo.reset()  # else the next cells would find what this one compiled

    def _answer_cell(self, cell: list[Request]) -> None:
        sessions: dict[str, Session] = {}
        for request in cell:
            if request.device not in sessions:
                for module in request.imports:
                    importlib.import_module(module)
                session: Session = resolve(request.session)(request.subject)
                session.call("register", {})
                sessions[request.device] = session
            before = {name: os.environ.get(name) for name in request.environment}
            set_environment(request.environment)
            returned = self._answer(sessions[request.device], request)
            set_environment(before)
            self.calls += 1
            self.differed += returned != request.came_to

    def _answer(self, session: Session, request: Request) -> bool:
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            with warnings.catch_warnings(record=True):
                warnings.simplefilter("always")
                session.call(request.verb, request.arguments)
            return True
        except Subject.Raised:
            return False
        finally:
            self.wall[request.verb] += time.perf_counter() - wall
            self.cpu += time.process_time() - cpu


if __name__ == "__main__":
    raise SystemExit(main())
