"""How what it costs grows: with the cells of a run, and with the cells of a report.

    python benchmarks/growth.py [cells | reports ...] [--backend NAME]

Each is measured at sizes of 1, 4 and 16 times the first (a report up to 100,000 cells), in one run of this script. The
*slope* is what one unit more costs, by least squares, and the last column is what a unit costs at the largest size
against the smallest one above the fixed part: about 1 where the cost is linear.

- ``cells``: the contract by pytest, without generated cells: a sixteenth of it, a quarter, and all.
- ``reports``: the cells of a report that ships, under other names of cases. It is built, written, read, made a page,
  compared with itself and, where there is a Chromium, opened in it, each size in a process of its own.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tabulate import tabulate

from conformance._util.processes import adopt_orphans, end_children
from conformance.report import assemble, read_report, write_report

ROOT = Path(__file__).resolve().parent.parent
SHARDS = (16, 4, 1)
CELLS_OF_A_REPORT = (6_250, 25_000, 100_000)
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def main() -> int:
    """Print a table for each thing that grows."""
    kinds: dict[str, Callable[[str], None]] = {"cells": _cells, "reports": _reports}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", default=list(kinds), metavar="KIND", help=f"of {', '.join(kinds)}")
    parser.add_argument("--backend", default="reference", help="whose cells; of reports, one of reports/")
    parser.add_argument("--one-report", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one_report:
        print(json.dumps(_one_report(options.one_report, options.backend)))
        return 0
    for kind in options.kinds:
        if kind not in kinds:
            parser.error(f"{kind!r} is none of {', '.join(kinds)}")
        kinds[kind](options.backend)
    return 0


def _print(unit: str, sizes: Sequence[int], costs: Mapping[str, Sequence[float]]) -> None:
    """A row for each cost, with its slope and how straight it is."""
    rows = []
    for what, measured in costs.items():
        slope, fixed = statistics.linear_regression(sizes, measured)
        rows.append([what, *measured, fixed, 1e3 * slope, _straightness(sizes, measured)])
    headers = ["", *(f"{size:,} {unit}s" for size in sizes), "fixed", f"per 1,000 {unit}s", "last/first slope"]
    print("\n" + tabulate(rows, headers, floatfmt=".2f", tablefmt="github"), flush=True)


def _straightness(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """The slope between the last two sizes, by that between the first two."""
    slopes = [(costs[i + 1] - costs[i]) / (sizes[i + 1] - sizes[i]) for i in (0, len(sizes) - 2)]
    return slopes[1] / slopes[0] if slopes[0] else float("nan")


# Cells of a run.


def _cells(backend: str) -> None:
    adopt_orphans()  # so that what every process of a run took is counted when it has ended
    sizes, wall, cpu = [], [], []
    for shards in SHARDS:
        with tempfile.TemporaryDirectory() as folder:
            before, began = _cpu_of_children(), time.perf_counter()
            _run(backend, shards, folder)
            wall.append(time.perf_counter() - began)
            end_children()
            cpu.append(_cpu_of_children() - before)
            (path,) = Path(folder).rglob("report.json")
            sizes.append(sum(bool(row["seconds"]) for row in read_report(path)["cells"]))
    print(f"\nthe contract of {backend} in one process, cells that asked a device something")
    _print("cell", sizes, {"wall s": wall, "CPU s": cpu})


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _run(backend: str, shards: int, folder: str) -> None:
    arguments = [f"--backend={backend}", "--conformance-generated=0", f"--conformance-report={folder}"]
    arguments += ["-q", "-p", "no:cacheprovider", f"--conformance-shard=1/{shards}"]
    done = subprocess.run([sys.executable, "-m", "pytest", *arguments], capture_output=True, text=True, cwd=folder)
    if done.returncode not in (0, 1):
        raise SystemExit(f"the run of {backend} ended with {done.returncode}:\n{done.stdout[-2000:]}")


# Cells of a report.


def _reports(backend: str) -> None:
    rows = []
    for cells in CELLS_OF_A_REPORT:
        command = [sys.executable, __file__, "--backend", backend, "--one-report", str(cells)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f"a report of {cells:,} cells could not be tried")
        rows.append(json.loads(done.stdout))
    print(f"\na report with the cells of {backend}'s: seconds, and MiB")
    _print("cell", CELLS_OF_A_REPORT, {what: [row[what] for row in rows] for what in rows[0]})


def _one_report(cells: int, backend: str) -> dict[str, float]:
    """Seconds of each step and the most memory of this process and of the browser."""
    from conformance.report.compare.html import comparison_html
    from conformance.report.compare.text import named
    from conformance.report.formats.html import html

    shipped = json.loads((ROOT / "reports" / backend / "report.json").read_text(encoding="utf-8"))
    rows = list(_repeated(shipped["cells"], cells))
    took: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with _timed(took, "built"):
            report = assemble(shipped, shipped["clauses"], rows, 0, None)
        with _timed(took, "written"):
            write_report(folder / "report.json", report)
        del report, rows
        with _timed(took, "read"):
            report = read_report(folder / "report.json")
        with _timed(took, "page"):
            page = html(report, folder)
        (folder / "report.html").write_text(page, encoding="utf-8")
        with _timed(took, "compared"):
            paths = [folder / "report.json", folder / "again.json"]
            comparison_html(named(paths, [report, copy.copy(report)]))
        took["MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        took["page MiB"] = len(page) / 2**20
        took |= _opened(folder / "report.html")
    return took


@contextmanager
def _timed(took: dict[str, float], step: str) -> Iterator[None]:
    began = time.process_time()
    yield
    took[step] = time.process_time() - began


def _repeated(rows: list[dict[str, Any]], cells: int) -> Iterator[dict[str, Any]]:
    """So many cells: those that are there, and again and again those of a case, each time of another. Generated cells,
    which hold as much as a hundred others, do not get more where there are more cases."""
    yield from rows
    of_cases = [row for row in rows if "generated" not in row]
    for place in range(cells - len(rows)):
        times, which = divmod(place, len(of_cases))
        row = of_cases[which]
        case = f"{row['case']}{times + 2}"
        yield row | {"case": case, "id": row["id"].replace(f"[{row['case']}", f"[{case}", 1)}


def _opened(page: Path) -> dict[str, float]:
    """Seconds until a browser has laid a page out, and the memory of its processes; nothing where there is none."""
    browser_path = next((path for each in _BROWSERS if (path := shutil.which(each))), None)
    if browser_path is None:
        return {}
    from playwright.sync_api import sync_playwright

    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=[*sandbox, "--disable-dev-shm-usage"])
        tab = browser.new_page()
        tab.set_default_timeout(300_000)
        began = time.perf_counter()
        tab.goto(page.as_uri())
        tab.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        opened = time.perf_counter() - began
        memory = _memory_of_descendants()
        browser.close()
    return {"opened": opened, "browser MiB": memory}


def _memory_of_descendants() -> float:
    """MiB of every process below this one, where what several share is divided between them."""
    todo, total = [os.getpid()], 0
    while todo:
        process = todo.pop()
        for thread in Path(f"/proc/{process}/task").iterdir():
            todo += map(int, (thread / "children").read_text().split())
        if process != os.getpid():
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 2**10


if __name__ == "__main__":
    raise SystemExit(main())
