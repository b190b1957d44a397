"""``selftest``."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

from conformance.cli._common import Commands, refuse, seed
from conformance.report import write_atomically


def add(commands: Commands) -> None:
    """``selftest``."""
    selftest = commands.add_parser("selftest", help="prove that the harness can fail: every saboteur must be caught")
    selftest.add_argument("names", nargs="*", metavar="SABOTEUR", help="only these (default: all, and the controls)")
    selftest.add_argument("--saboteurs-only", action="store_true", help="leave out the conforming backends")
    selftest.add_argument("-n", type=int, default=1, metavar="WORKERS", help="processes side by side (default: 1)")
    selftest.add_argument("--seed", type=seed, default=0, metavar="N", help="the seed of weights and inputs")
    selftest.add_argument("--output", type=Path, metavar="DIR", help="write selftest.json and selftest.md there")
    selftest.add_argument("--list", action="store_true", help="show the saboteurs and the clauses that must catch them")
    selftest.add_argument("-q", "--quiet", action="store_true", help="no progress, only the result")
    selftest.set_defaults(run=_selftest)


def _selftest(options: argparse.Namespace) -> int:
    from conformance.contract.score import remember, succeeded
    from conformance.discovery.describing import SelectionError
    from conformance.selftest.matrix import matrix_markdown, result_text, saboteurs_text
    from conformance.selftest.trials import Selftest

    if options.n < 1:
        return refuse(f"-n takes a number of processes, 1 or more; found {options.n}")
    try:
        if options.output:  # before the work of minutes
            options.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return refuse(f"--output: {options.output} cannot be made a folder: {error.strerror}")
    try:
        selftest = Selftest(options.seed, options.n, options.names, controls=not options.saboteurs_only)
        width = shutil.get_terminal_size().columns
        if options.list:
            print(saboteurs_text(selftest.saboteurs, width))
            return 0
        document = selftest.run((lambda line: None) if options.quiet else _say)
    except SelectionError as error:
        return refuse(str(error))
    print(result_text(document, width))
    sys.stdout.flush()  # whatever comes of the files, the minutes were not in vain
    try:
        if options.output:
            text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
            write_atomically(options.output / "selftest.json", text)
            write_atomically(options.output / "selftest.md", matrix_markdown(document))
        if not options.names and not options.saboteurs_only:
            remember(document)
    except OSError as error:
        return refuse(f"the result above is not kept: {error.filename or options.output}: {error.strerror}")
    return 0 if succeeded(document) else 1


def _say(line: str) -> None:
    print(line, flush=True)
