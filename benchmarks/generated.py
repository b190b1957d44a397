"""How many generated programs a second a backend is tried on, and how the cost grows with their number.

    python benchmarks/generated.py [BACKEND ...] [--programs N] [--workers N]

Each backend (by default reference, eager and inductor) runs the cells of generated programs twice, with N programs a
cell and with four times as many, spread over workers of pytest-xdist. A ratio of 4 between the times says that every
program costs the same; a smaller one, that beginning does. Programs a second are those that were tried, discarded or
refused, by the difference of the two runs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tabulate import tabulate

from conformance.report import read_report

BACKENDS = ("reference", "eager", "inductor")
#: How many times as many programs the second run has.
TIMES = 4


def main() -> int:
    """Print a row for each backend."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("backends", nargs="*", default=BACKENDS)
    parser.add_argument("--programs", type=int, default=25)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    rows = []
    for backend in options.backends:
        few, few_seconds = _run(backend, options.programs, options.workers)
        many, many_seconds = _run(backend, TIMES * options.programs, options.workers)
        rate = (many - few) / (many_seconds - few_seconds)
        rows.append([backend, few, few_seconds, many, many_seconds, many_seconds / few_seconds, rate])
        print(f"{backend}: {rate:.1f} programs a second", flush=True)
    headers = ["backend", "programs", "seconds", "programs", "seconds", "ratio", "programs/s"]
    print(tabulate(rows, headers, floatfmt=".1f"))
    return 0


def _run(backend: str, programs: int, workers: int) -> tuple[int, float]:
    """How many programs the cells of a run tried, discarded or refused, and how long it took."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = (f"--backend={backend}", f"--conformance-generated={programs}", f"--conformance-report={folder}")
        options = ("-q", "-n", str(workers), "-p", "no:cacheprovider", "--conformance-reproducers=0")
        began = time.monotonic()
        subprocess.run(
            [sys.executable, "-m", "pytest", *arguments, *options, "-k", "test_programs"],
            check=False,
            stdout=subprocess.DEVNULL,
            cwd=folder,
        )
        seconds = time.monotonic() - began
        (path,) = Path(folder).rglob("report.json")
        rows = [row["generated"] for row in read_report(path)["cells"] if "generated" in row]
    return sum(row["tried"] + sum(row["discarded"].values()) + sum(row["refused"].values()) for row in rows), seconds


if __name__ == "__main__":
    raise SystemExit(main())
