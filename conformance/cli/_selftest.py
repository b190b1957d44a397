"""``selftest``."""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance.cli._common import Commands, refuse, say, seed
from conformance.report import write_atomically

#: Options that say nothing without mutants, and those that say nothing of them: name → the attribute.
_OF_MUTANTS = {
    "--only": "only",
    "--mutants-programs": "mutants_programs",
    "--mutants-written": "mutants_written",
    "-o": "file",
}
_OF_SABOTEURS = {"--saboteurs-only": "saboteurs_only", "--output": "output", "--list": "list"}


def add(commands: Commands) -> None:
    """``selftest``."""
    selftest = commands.add_parser(
        "selftest",
        help="prove that the harness can fail: every saboteur must be caught (exit code 1: one was not; 10: some were "
        "not tried)",
    )
    selftest.add_argument("names", nargs="*", metavar="SABOTEUR", help="only these (default: all, and the controls)")
    selftest.add_argument("--saboteurs-only", action="store_true", help="leave out the conforming backends")
    selftest.add_argument("-n", type=int, default=1, metavar="WORKERS", help="processes side by side (default: 1)")
    selftest.add_argument("--seed", type=seed, default=0, metavar="N", help="the seed of weights and inputs")
    selftest.add_argument("--output", type=Path, metavar="DIR", help="write selftest.json and selftest.md there")
    selftest.add_argument("--list", action="store_true", help="show the saboteurs and the clauses that must catch them")
    selftest.add_argument("-q", "--quiet", action="store_true", help="no progress, only the result")
    selftest.add_argument(
        "--toolchain",
        action="append",
        default=[],
        metavar="NAME",
        help="the contract of this toolchain, where it has one of its own; of mutants only those of this one",
    )
    _add_mutants(selftest)
    selftest.set_defaults(run=_run)


def _add_mutants(selftest: argparse.ArgumentParser) -> None:
    group = selftest.add_argument_group("mutants", "broken backends that nobody wrote, in place of the saboteurs")
    group.add_argument("--mutants", type=int, metavar="N", help="draw N of them with --seed, and try to kill each")
    group.add_argument("--only", type=int, metavar="K", help="of those that are drawn, number K alone")
    group.add_argument("--mutant", metavar="JSON", help="one mutant by its specification, as survivors are listed")
    group.add_argument("--mutants-programs", type=int, metavar="N", help="programs a theme may try (default: 100)")
    group.add_argument(
        "--mutants-written",
        type=int,
        metavar="N",
        help="hold the first N of each toolchain against the written clauses as well, which takes minutes for each",
    )
    group.add_argument(
        "-o",
        dest="file",
        type=Path,
        metavar="FILE",
        help="keep the result of mutants there, as JSON, after each; one that is there is gone on with",
    )


def _given(options: argparse.Namespace, of: dict[str, str]) -> list[str]:
    values = {name: getattr(options, attribute) for name, attribute in of.items()}
    return [name for name, value in values.items() if value is not None and value is not False]


def _mutants(options: argparse.Namespace) -> int:
    from conformance.discovery.describing import SelectionError
    from conformance.pytest_plugin import EXIT_INCOMPLETE
    from conformance.selftest.kept_mutants import KeptError, kept
    from conformance.selftest.mutants import MutantTest, Wanted
    from conformance.selftest.survivors import survivors_text

    spec: dict[str, Any] | None = None
    if options.mutant is not None:
        try:
            spec = json.loads(options.mutant)
        except ValueError as error:
            return refuse(f"--mutant takes a specification as JSON: {error}")
        if not isinstance(spec, dict) or not {"toolchain", "place", "when", "effect"} <= set(spec):
            return refuse("--mutant takes an object with toolchain, place, when and effect, as survivors are listed")
        if given := _given(options, {"--mutants": "mutants", "--only": "only"}):
            return refuse(f"--mutant names one mutant, and draws none: leave out {' and '.join(given)}")
    if options.names:
        return refuse("saboteurs have names and mutants have none: leave out " + " ".join(options.names))
    if given := _given(options, _OF_SABOTEURS):
        return refuse(f"not for mutants, but for saboteurs: leave out {' '.join(given)}")
    for name, least in (("mutants", 1), ("mutants_programs", 1), ("mutants_written", 0)):
        given = getattr(options, name)
        if given is not None and given < least:
            return refuse(f"--{name.replace('_', '-')} takes a number, {least} or more; found {given}")
    wanted = Wanted(
        options.mutants or 1,
        options.seed,
        tuple(options.toolchain),
        options.only,
        spec,
        100 if options.mutants_programs is None else options.mutants_programs,
        options.mutants_written or 0,
    )
    try:
        went_before = kept(options.file, wanted.seed, wanted.programs) if options.file else None
        document = MutantTest(wanted, options.n, went_before).run(
            (lambda line: None) if options.quiet else _say,
            (lambda document: _keep(options.file, document)) if options.file else (lambda document: None),
        )
        say(survivors_text(document, shutil.get_terminal_size().columns))
        sys.stdout.flush()
        if options.file:
            _keep(options.file, document)
    except (SelectionError, KeptError) as error:
        return refuse(str(error))
    except OSError as error:
        return refuse(f"the result is not kept: {error.filename or options.file}: {error.strerror}")
    if document["untried"]:
        return EXIT_INCOMPLETE
    return 0 if document["score"]["killed"] == document["score"]["active"] > 0 else 1


def _keep(file: Path, document: dict[str, Any]) -> None:
    write_atomically(file, json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def _run(options: argparse.Namespace) -> int:
    if options.n < 1:
        return refuse(f"-n takes a number of processes, 1 or more; found {options.n}")
    with _terminated_as_interrupted():
        return _mutants(options) if options.mutants is not None or options.mutant is not None else _selftest(options)


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM ends what is done here as Ctrl-C does: with what there is until then."""
    former = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def _selftest(options: argparse.Namespace) -> int:
    from conformance.contract import contract_digest
    from conformance.contract.score import remember, succeeded
    from conformance.discovery.describing import SelectionError
    from conformance.pytest_plugin import EXIT_INCOMPLETE
    from conformance.selftest.matrix import matrix_markdown, result_text, saboteurs_text
    from conformance.selftest.trials import Selftest

    if given := _given(options, _OF_MUTANTS):
        return refuse(f"for mutants alone: leave out {' '.join(given)}, or say --mutants N")
    if len(options.toolchain) > 1:
        return refuse("--toolchain names one contract for a self-test; several are for --mutants alone")
    toolchain = "".join(options.toolchain)
    try:
        if options.output:  # before the work of minutes
            options.output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return refuse(f"--output: {options.output} cannot be made a folder: {error.strerror}")
    try:
        selftest = Selftest(
            options.seed, options.n, options.names, controls=not options.saboteurs_only, toolchain=toolchain
        )
        width = shutil.get_terminal_size().columns
        if options.list:
            say(saboteurs_text(selftest.saboteurs, width))
            return 0
        document = selftest.run((lambda line: None) if options.quiet else _say)
    except SelectionError as error:
        return refuse(str(error))
    say(result_text(document, width))
    sys.stdout.flush()  # whatever comes of the files, the minutes were not in vain
    try:
        if options.output:
            text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
            write_atomically(options.output / "selftest.json", text)
            write_atomically(options.output / "selftest.md", matrix_markdown(document))
        is_whole = not (options.names or options.saboteurs_only or document["untried"])
        if is_whole and document["contract"] == contract_digest(toolchain):
            remember(document, toolchain)
    except OSError as error:
        return refuse(f"the result above is not kept: {error.filename or options.output}: {error.strerror}")
    if document["untried"]:
        return EXIT_INCOMPLETE
    return 0 if succeeded(document) else 1


def _say(line: str) -> None:
    say(line)
