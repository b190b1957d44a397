"""``pack`` and ``unpack``."""

from __future__ import annotations

import argparse
import fnmatch
import sys
from pathlib import Path

from conformance.cli._common import Commands, refuse, say, seed


def add(commands: Commands) -> None:
    """``pack`` and ``unpack``."""
    pack = commands.add_parser("pack", help="write what a target is to be asked that cannot be reached from here")
    pack.add_argument("folder", type=Path, metavar="DIR", help="a new folder; run.py in it is run on the target")
    pack.add_argument("--backend", required=True, metavar="NAME", help="as pytest --backend")
    pack.add_argument("--library", type=Path, metavar="PATH", help="see pytest --conformance-library")
    pack.add_argument("--seed", type=seed, default=0, metavar="N", help="the seed of weights and inputs (default: 0)")
    pack.add_argument(
        "--clause", action="append", default=[], metavar="PATTERN", help="only these, such as 'lite.*'; repeatable"
    )
    pack.set_defaults(run=_pack)
    unpack = commands.add_parser(
        "unpack", help="put what a pack's target answered into a report (exit code 1: answers are missing)"
    )
    unpack.add_argument("folder", type=Path, metavar="DIR", help="the pack, as it was written")
    unpack.add_argument("--results", type=Path, metavar="DIR", help="what run.py wrote (default: DIR/results)")
    unpack.add_argument(
        "--report", type=Path, metavar="REPORT", required=True, help="of a run on the host with the same seed"
    )
    unpack.add_argument("-o", "--output", type=Path, metavar="OUT.json", required=True, help="the report of both")
    unpack.set_defaults(run=_unpack)


def _pack(options: argparse.Namespace) -> int:
    from conformance.devices import Limits, ZygotePool
    from conformance.discovery.describing import SelectionError
    from conformance.discovery.selecting import select
    from conformance.standalone.packs import PackError, write_pack
    from conformance.standalone.packs._write import packed_clauses

    clauses = [
        each
        for each in packed_clauses()
        if not options.clause or any(fnmatch.fnmatch(each.id, pattern) for pattern in options.clause)
    ]
    if not clauses:
        return refuse(f"no clause with a target is called {' or '.join(options.clause)}; see conformance clauses")
    pool = ZygotePool(Limits())
    try:
        (candidate,) = select([options.backend], options.library, pool)
        if candidate.description is None or not candidate.usable:
            return refuse(f"the backend {options.backend!r} cannot be used here: {candidate.problem}")
        count = write_pack(pool, options.seed, candidate.description, options.folder, clauses, _say)
    except (SelectionError, PackError) as error:
        return refuse(str(error))
    finally:
        pool.close()
    say(f"pack: {options.folder}, {count} cells; on the target: python run.py --library PATH")
    return 0


def _unpack(options: argparse.Namespace) -> int:
    from conformance.report import ReportError, printable, read_report, write_report
    from conformance.standalone.packs import PackError, unpacked_report

    try:
        report = read_report(options.report)
        results = options.results or options.folder / "results"
        merged, missing = unpacked_report(options.folder, results, report)
        write_report(options.output, merged)
    except (PackError, ReportError) as error:
        return refuse(str(error))
    for name in missing:
        print(f"not answered: {printable(name)}", file=sys.stderr)
    say(f"report: {options.output}")
    return 1 if missing else 0


def _say(clause: str) -> None:
    print(f"packing {clause}", file=sys.stderr, flush=True)
