"""Whether it matters which kind of target is asked: the verdicts of one backend on each of them, cell by cell.

    python benchmarks/targets.py FOLDER [--backend NAME] [--target-python PYTHON] [--clause PATTERN ...]

All clauses that ask something of a target are run with a local and with a native one, written into a pack, answered by
its script, and judged. ``--target-python`` runs that script: a Python that has torch and nothing of the harness makes
the pack as far away as it gets on one machine. FOLDER keeps the three reports, and what is there already is not done
again. The exit code is 1 where two kinds of target disagree about a cell that both answered.
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabulate import tabulate

from conformance.api.verdicts import Verdict
from conformance.contract import Clause, shipped_clauses
from conformance.devices import Limits, ZygotePool
from conformance.discovery.describing import Description
from conformance.discovery.selecting import select
from conformance.report import read_report
from conformance.report.compare.changes import changes
from conformance.report.parts import read_part
from conformance.report.row_model import CellRow
from conformance.standalone.packs._write import has_target
from conformance.toolchains import toolchain_named

KINDS = ("local", "native", "pack")


def main() -> int:
    """Print where the kinds of target differ, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--backend", default="reference")
    parser.add_argument("--target-python", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--clause", action="append", default=[], metavar="PATTERN")
    options = parser.parse_args()
    clauses = [each for each in shipped_clauses() if has_target(each) and _chosen(each, options.clause)]
    options.folder.mkdir(parents=True, exist_ok=True)
    reports = {kind: _report(kind, clauses, options) for kind in KINDS}
    cells = {kind: {row["id"]: row for row in report["cells"]} for kind, report in reports.items()}
    _print_counts(cells)
    _print_unanswered(cells)
    return _print_differences(cells)


def _chosen(clause: Clause, patterns: list[str]) -> bool:
    return not patterns or any(fnmatch.fnmatch(clause.id, pattern) for pattern in patterns)


def _report(kind: str, clauses: list[Clause], options: argparse.Namespace) -> Mapping[str, Any]:
    folder = options.folder / kind
    report = folder / options.backend / "report.json"
    if not report.exists() and kind == "pack":
        _pack(folder, report, clauses, options)
    elif not report.exists():
        tests = [
            f"{toolchain_named(each.toolchain).suites / f'test_{each.suite}.py'}::{each.function}" for each in clauses
        ]
        arguments = (f"--backend={options.backend}", f"--conformance-target={kind}", f"--conformance-report={folder}")
        _run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, *tests)
    return read_report(report)


def _pack(folder: Path, report: Path, clauses: list[Clause], options: argparse.Namespace) -> None:
    description = _description(options.backend)
    patterns = [f"--clause={each.id}" for each in clauses]
    conformance = (sys.executable, "-m", "conformance.cli")
    _run(*conformance, "pack", str(folder), "--backend", options.backend, *patterns)
    libraries = [part for library in description.libraries for part in ("--library", str(library))]
    _run(options.target_python, str(folder / "run.py"), *libraries)
    report.parent.mkdir()
    local = options.folder / "local" / options.backend / "report.json"
    _run(*conformance, "unpack", str(folder), "--report", str(local), "-o", str(report))


def _description(name: str) -> Description:
    pool = ZygotePool(Limits())
    try:
        (candidate,) = select([name], None, pool)
        assert candidate.description is not None, candidate.problem
        return candidate.description
    finally:
        pool.close()


def _run(*command: str) -> None:
    """Run a command; that cells fail (exit code 1) is for the comparison to say."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command[:4])} ... ended with {done.returncode}:\n{done.stdout[-2000:]}")


def _print_counts(cells: Mapping[str, Mapping[str, Any]]) -> None:
    rows = []
    for kind, found in cells.items():
        counts = collections.Counter(row["verdict"] for row in found.values())
        rows.append({"target": kind, "cells": len(found), **{each.value: counts[each.value] for each in Verdict}})
    shown = [name for name in rows[0] if name in ("target", "cells") or any(row[name] for row in rows)]
    print(tabulate([{name: row[name] for name in shown} for row in rows], headers="keys", tablefmt="github"))
    everywhere = [cell for cell in cells["local"] if all(_answered(cells[kind].get(cell)) for kind in KINDS)]
    print(f"\ncells that every kind of target answered: {len(everywhere)}")


def _answered(row: Mapping[str, Any] | None) -> bool:
    return row is not None and row["verdict"] not in (Verdict.NOT_EXERCISED.value, Verdict.LOST.value)


def _print_unanswered(cells: Mapping[str, Mapping[str, Any]]) -> None:
    for kind in KINDS[1:]:
        reasons: dict[str, list[str]] = collections.defaultdict(list)
        for cell, row in cells[kind].items():
            if not _answered(row) and _answered(cells["local"].get(cell)):
                reasons[row["message"]].append(row["clause"])
        print(f"\nnot answered by {kind}, and by local: {sum(map(len, reasons.values()))}")
        for reason, clauses in sorted(reasons.items(), key=lambda each: -len(each[1])):
            print(f"  {len(clauses):3} {reason} ({', '.join(dict.fromkeys(clauses))})")


def _print_differences(cells: Mapping[str, Mapping[str, Any]]) -> int:
    differences = 0
    for kind in KINDS[1:]:
        both = [cell for cell, row in cells["local"].items() if _answered(row) and _answered(cells[kind].get(cell))]
        before, after = ({cell: read_part(CellRow, cells[each][cell]) for cell in both} for each in ("local", kind))
        found = changes(before, after)
        print(f"\nanswered by local and by {kind}: {len(both)}, of which differ: {len(found)}")
        for each in found:
            assert each.before is not None
            assert each.after is not None
            print(
                f"  {each.cell}: {each.before.verdict.value} {each.before.phase} -> "
                f"{each.after.verdict.value} {each.after.phase}: {each.after.message}"
            )
        differences += len(found)
    return 1 if differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
