"""``conformance``: what needs no test run."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from conformance.quiet import ignore_missing_numpy

ignore_missing_numpy()  # before any of these imports torch

from conformance.contract import Clause, shipped_clauses  # noqa: E402
from conformance.report import printable, write_atomically  # noqa: E402


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code.

    0; 1 for a self-test that fails, a comparison with a regression, or a merged report that lacks cells; 2 for bad
    input.
    """
    parser = argparse.ArgumentParser(
        prog="conformance", description="The contract of PyTorch backends, and reports about it."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list", help="the backends that can be certified here (as pytest --list-backends)")
    clauses = commands.add_parser("clauses", help="the clauses of the contract, one a line")
    clauses.add_argument("--suite", help="only those of one suite")
    explain = commands.add_parser("explain", help="one clause in full")
    explain.add_argument("clause", help="its id, such as lowering.outputs")
    show = commands.add_parser("show", help="a report as the tables that ended its run")
    show.add_argument("report", type=Path, help="a report.json")
    compare = commands.add_parser("compare", help="what changed from one report to others (exit code 1: a regression)")
    compare.add_argument("first", type=Path, metavar="A.json", help="the report to compare with")
    compare.add_argument("others", type=Path, metavar="B.json", nargs="+", help="what it is compared to, one by one")
    compare.add_argument("--format", choices=("terminal", "markdown"), default="terminal", help="default: terminal")
    compare.add_argument("--all", action="store_true", help="also the rows of behaviour that do not differ")
    merge = commands.add_parser("merge", help="join the reports of the shards of one run (exit code 1: cells lack)")
    merge.add_argument("shards", type=Path, metavar="SHARD.json", nargs="+", help="the report of a part of the run")
    merge.add_argument("-o", "--output", type=Path, metavar="OUT.json", required=True, help="the report of the whole")
    selftest = commands.add_parser("selftest", help="prove that the harness can fail: every saboteur must be caught")
    selftest.add_argument("names", nargs="*", metavar="SABOTEUR", help="only these (default: all, and the controls)")
    selftest.add_argument("-n", type=int, default=1, metavar="WORKERS", help="processes side by side (default: 1)")
    selftest.add_argument("--seed", type=int, default=0, metavar="N", help="the seed of weights and inputs")
    selftest.add_argument("--output", type=Path, metavar="DIR", help="write selftest.json and selftest.md there")
    selftest.add_argument("--list", action="store_true", help="show the saboteurs and the clauses that must catch them")
    selftest.add_argument("-q", "--quiet", action="store_true", help="no progress, only the result")
    options = parser.parse_args(arguments)
    if options.command == "selftest":
        return _selftest(options)
    if options.command == "compare":
        return _compare([options.first, *options.others], options.format, every=options.all)
    if options.command == "merge":
        return _merge(options.shards, options.output)
    if options.command == "list":
        import pytest

        return int(pytest.main(["--list-backends"]))
    if options.command == "clauses":
        return _list_clauses(options.suite)
    if options.command == "explain":
        return _explain(options.clause)
    return _show(options.report)


def _list_clauses(suite: str | None) -> int:
    from tabulate import tabulate

    clauses = shipped_clauses()
    suites = list(dict.fromkeys(each.suite for each in clauses))
    if suite is not None and suite not in suites:
        return _refuse(f"there is no suite {suite!r}; the suites are {', '.join(suites)}")
    rows = [(each.id, each.level.value, _statement(each)) for each in clauses if suite in (None, each.suite)]
    taken = max(len(row[0]) for row in rows) + 10 + 4
    width = max(30, shutil.get_terminal_size().columns - taken)
    body = [(name, level, textwrap.fill(text, width)) for name, level, text in rows]
    print(tabulate(body, headers=["clause", "level", "statement"], tablefmt="simple"))
    return 0


def _explain(clause_id: str) -> int:
    known = {each.id: each for each in shipped_clauses()}
    if clause_id not in known:
        import difflib

        close = difflib.get_close_matches(clause_id, known, n=3)
        hint = f" Close to it: {', '.join(close)}." if close else ""
        return _refuse(f"there is no clause {clause_id!r}.{hint} `conformance clauses` lists all {len(known)}.")
    clause = known[clause_id]
    width = shutil.get_terminal_size().columns
    print(clause.id)
    print(textwrap.fill(" ".join(clause.statement.split()), width, initial_indent="  ", subsequent_indent="  "))
    facts = {
        "level": clause.level.value,
        "source": clause.source,
        "suite": clause.suite,
        "toolchain": clause.toolchain,
        "cases": ", ".join(clause.cases) or "every case of the corpus",
        "runtimes": ", ".join(clause.runtimes),
        "host states": ", ".join(state.value for state in clause.hosts),
        "target states": ", ".join(state.value for state in clause.targets) or "the host alone",
        "control": clause.control.value,
    }
    for name, value in facts.items():
        print(textwrap.fill(f"{name}: {value}", width, initial_indent="  ", subsequent_indent="    "))
    return 0


def _show(path: Path) -> int:
    from conformance.report import ReportError, read_report
    from conformance.report.terminal import summary_text

    try:
        report = read_report(path)
    except ReportError as error:
        return _refuse(str(error))
    print(summary_text(report, shutil.get_terminal_size().columns))
    return 0


def _compare(paths: Sequence[Path], form: str, *, every: bool) -> int:
    from conformance.report import ReportError, read_report
    from conformance.report.compare_text import MarkdownFace, TerminalFace, comparison_text, named

    try:
        reports = named(paths, [read_report(path) for path in paths])
    except ReportError as error:
        return _refuse(str(error))
    face = MarkdownFace() if form == "markdown" else TerminalFace(shutil.get_terminal_size().columns)
    text, regressed = comparison_text(reports, face, every=every)
    print(text)
    return 1 if regressed else 0


def _merge(paths: Sequence[Path], output: Path) -> int:
    from conformance.report import ReportError, read_report, write_report
    from conformance.report.merge import merge

    try:
        report = merge([(str(path), read_report(path)) for path in paths])
        write_report(output, report)
    except ReportError as error:
        return _refuse(str(error))
    except (OverflowError, RecursionError) as error:
        return _refuse(f"the shards hold values that no run has: {error}")
    missing, lost = report["plan"]["deselected"], report["summary"]["verdicts"].get("LOST", 0)
    print(f"{len(paths)} shards, {report['plan']['cells']} cells: {missing} of the contract are missing, {lost} lost")
    print(f"report: {output}")
    return 1 if missing or lost else 0


def _selftest(options: argparse.Namespace) -> int:
    from conformance.catalogue import SelectionError
    from conformance.report.selftest import matrix_markdown, result_text, saboteurs_text
    from conformance.score import remember, succeeded
    from conformance.selftest import Selftest

    if options.n < 1:
        return _refuse(f"-n takes a number of processes, 1 or more; found {options.n}")
    try:
        selftest = Selftest(options.seed, options.n, options.names)
        width = shutil.get_terminal_size().columns
        if options.list:
            print(saboteurs_text(selftest.saboteurs, width))
            return 0
        document = selftest.run((lambda line: None) if options.quiet else _say)
    except SelectionError as error:
        return _refuse(str(error))
    print(result_text(document, width))
    if not options.names:
        remember(document)
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        write_atomically(options.output / "selftest.json", json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        write_atomically(options.output / "selftest.md", matrix_markdown(document))
    return 0 if succeeded(document) else 1


def _say(line: str) -> None:
    print(line, flush=True)


def _statement(clause: Clause) -> str:
    return " ".join(clause.statement.split())


def _refuse(text: str) -> int:
    print(f"conformance: {printable(text)}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
