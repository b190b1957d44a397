"""How many failures reproduce: a script for each saboteur, run, and run again with a conforming backend in its place.

    python benchmarks/reproducers.py FOLDER [--workers N] [--all-clauses] [--stand-in] [--toolchain NAME] [SABOTEUR ...]

For each saboteur, the first cell that catches it (of each clause that must, with ``--all-clauses``) gets a reproducer,
as a run of pytest writes it. The script has to end with exit code 1. With ``--stand-in`` a conforming backend takes the
place of the saboteur (the reference backend, or "eager" for torch.compile), and the script has to end with 0.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from conformance._util.quiet import ignore_missing_numpy
from conformance.contract import shipped_clauses, suite_function
from conformance.devices import ZygotePool
from conformance.discovery.describing import KnownSaboteur, examine, known_saboteurs
from conformance.discovery.selecting import select
from conformance.report import ReproducerFolder
from conformance.run.cell_context import CellContext
from conformance.run.plan import cells_of
from conformance.run.run_context import RunContext
from conformance.run.running import run_cell
from conformance.selftest.trials import LIMITS
from conformance.standalone.reproducers import ReproducerWriter


def try_saboteur(saboteur: KnownSaboteur, folder: Path, library: str, every: bool) -> list[dict[str, Any]]:
    """What the scripts of one saboteur end with."""
    ignore_missing_numpy()
    shared = RunContext(ZygotePool(LIMITS), 0, {})
    try:
        candidate = examine(saboteur.source, shared.pool, prepare=True)
        assert candidate.description is not None, candidate.problem
        shared.descriptions[saboteur.source.name] = candidate.description
        writer = ReproducerWriter(shared, 1)
        reproducers = ReproducerFolder(folder / saboteur.source.name, 1)
        reproducers.clear()
        found = []
        for clause in shipped_clauses():
            if clause.id not in (saboteur.caught_by if every else saboteur.caught_by[:1]):
                continue
            function, names = suite_function(clause)
            for cell in cells_of(clause, candidate.description):
                context = CellContext(shared, cell, candidate.description)
                result = run_cell(shared, context, function, lambda each: {name: each.part(name) for name in names})  # noqa: B023
                if result.failure_record is None:
                    continue
                message = writer.write(result, function, names)
                row = result.as_row()
                entry = {
                    "saboteur": saboteur.source.name,
                    "cell": cell.id,
                    "verdict": row["verdict"],
                    "phase": row["phase"],
                }
                script = reproducers.write(row, message) if message else None
                if script is None:
                    found.append(entry | {"script": None, "said": (message or {}).get("problem")})
                else:
                    path = folder / saboteur.source.name / script
                    found.append(entry | {"script": str(path)} | run(path, stand_in(saboteur, library)))
                break
    finally:
        shared.pool.close()
    return found


def stand_in(saboteur: KnownSaboteur, library: str) -> tuple[str, ...]:
    """What lets a script take a conforming backend in the place of a saboteur; nothing where that is not wanted."""
    if not library:
        return ()
    if saboteur.source.toolchain == "dynamo":
        return ("--backend=eager",)
    return ("--backend=reference", f"--library={library}")


def run(script: Path, instead: tuple[str, ...]) -> dict[str, Any]:
    """The exit codes of a script: with its own backend, and with the options that put a conforming one in its place."""

    def end(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, str(script), *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=600, check=False, stdin=subprocess.DEVNULL
        )
        return done.returncode, (done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or [""])[0][:300]

    own, said = end()
    if not instead:
        return {"own": own, "said": said}
    code, said_then = end(*instead)
    return {"own": own, "said": said, "stand_in": code, "said_then": said_then}


def main() -> None:
    """Try them and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("saboteurs", nargs="*")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--all-clauses", action="store_true")
    parser.add_argument("--stand-in", action="store_true", help="run each script with a conforming backend as well")
    parser.add_argument("--toolchain", default="", help="only the saboteurs of this one")
    options = parser.parse_intermixed_args()
    ignore_missing_numpy()
    pool = ZygotePool(LIMITS)
    (reference,) = select(["reference"], None, pool)
    assert reference.description is not None
    library = str(reference.description.prepared["REFERENCE_BACKEND_LIBRARY"]) if options.stand_in else ""
    chosen = [
        each
        for each in known_saboteurs(pool)
        if options.toolchain in ("", each.source.toolchain)
        and (not options.saboteurs or each.source.name in options.saboteurs)
    ]
    pool.close()
    rows: list[dict[str, Any]] = []
    options.folder.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as workers:
        tasks = [workers.submit(try_saboteur, each, options.folder, library, options.all_clauses) for each in chosen]
        for number, task in enumerate(as_completed(tasks), start=1):
            rows += task.result()
            last = task.result()[-1] if task.result() else {}
            print(f"[{number}/{len(tasks)}]", json.dumps({k: last.get(k) for k in ("cell", "own", "stand_in", "said")}))
            sys.stdout.flush()
            (options.folder / "rows.json").write_text(json.dumps(rows, indent=1))
    print(f"{len(rows)} scripts; own backend: {collections.Counter(row.get('own') for row in rows)}")
    if library:
        print(f"a conforming backend instead: {collections.Counter(row.get('stand_in') for row in rows)}")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
