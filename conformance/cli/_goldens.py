"""``goldens``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from conformance.cli._common import Commands, refuse, say, seed


def add(commands: Commands) -> None:
    """``goldens``."""
    goldens = commands.add_parser(
        "goldens", help="write a golden set: artifacts of today, for later releases to be held against"
    )
    goldens.add_argument("backend", metavar="NAME", help="a backend that `pytest --list-backends` shows")
    goldens.add_argument(
        "folder", type=Path, metavar="DIR", help="where sets are kept; the new one gets its own folder"
    )
    goldens.add_argument("--library", type=Path, metavar="PATH", help="see pytest --conformance-library")
    goldens.add_argument(
        "--seed", type=seed, default=0, metavar="N", help="the seed of weights and inputs (default: 0)"
    )
    goldens.set_defaults(run=_goldens)


def _goldens(options: argparse.Namespace) -> int:
    from conformance.api.errors import GoldensError
    from conformance.devices import Limits, ZygotePool
    from conformance.discovery.describing import SelectionError
    from conformance.discovery.selecting import select
    from conformance.extensions import resolve
    from conformance.run.run_context import RunContext
    from conformance.toolchains import toolchain_named, toolchains

    pool = ZygotePool(Limits())
    try:
        (candidate,) = select([options.backend], options.library, pool)
        if candidate.description is None or not candidate.usable:
            return refuse(f"the backend {options.backend!r} cannot be used here: {candidate.problem}")
        toolchain = toolchain_named(candidate.description.toolchain)
        if not toolchain.goldens:
            having = " and ".join(each.name for each in toolchains() if each.goldens)
            return refuse(f"a golden set holds artifacts of {having}; {options.backend!r} is of {toolchain.name}")
        run = RunContext(pool, options.seed, {candidate.source.name: candidate.description})
        place = resolve(toolchain.goldens).write_goldens(run, candidate.description, options.folder, _say)
    except (SelectionError, GoldensError) as error:
        return refuse(str(error))
    finally:
        pool.close()
    say(f"golden set: {place}")
    return 0


def _say(case: str) -> None:
    print(f"writing {case}", file=sys.stderr, flush=True)
