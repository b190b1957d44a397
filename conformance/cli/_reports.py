"""Reports that are there: ``show``, ``operators``, ``compare`` and ``merge``."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from tabulate import tabulate

from conformance.api.verdicts import row_fails
from conformance.cli._common import Commands, refuse, say
from conformance.operators.table import Outcome
from conformance.report import ReportError, ReproducerFolder, printable, read_report, write_atomically, write_report
from conformance.report.formats import formats


def add(commands: Commands) -> None:
    """``show``, ``operators``, ``compare`` and ``merge``."""
    show = commands.add_parser("show", help="a report in any format: the tables of its run, a page, a badge, ...")
    show.add_argument("report", type=Path, help="a report.json")
    show.add_argument("--format", choices=("terminal", *formats()), default="terminal", help="default: terminal")
    _add_output(show)
    show.set_defaults(run=_show)
    operators = commands.add_parser("operators", help="the operator table of a report, row by row")
    operators.add_argument("report", type=Path, help="a report.json")
    outcomes = [outcome.value for outcome in Outcome]
    operators.add_argument("--outcome", choices=outcomes, help="only rows with this outcome")
    operators.set_defaults(run=_operators)
    compare = commands.add_parser("compare", help="what changed from one report to others (exit code 1: a regression)")
    compare.add_argument("first", type=Path, metavar="A.json", help="the report to compare with")
    compare.add_argument("others", type=Path, metavar="B.json", nargs="+", help="what it is compared to, one by one")
    compare.add_argument(
        "--format", choices=("terminal", "markdown", "html"), default="terminal", help="default: terminal"
    )
    _add_output(compare)
    compare.add_argument("--all", action="store_true", help="also the rows of behaviour that do not differ")
    compare.set_defaults(run=_compare)
    merge = commands.add_parser("merge", help="join the reports of the shards of one run (exit code 1: cells lack)")
    merge.add_argument("shards", type=Path, metavar="SHARD.json", nargs="+", help="the report of a part of the run")
    merge.add_argument("-o", "--output", type=Path, metavar="OUT.json", required=True, help="the report of the whole")
    merge.set_defaults(run=_merge)


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="where to write it (default: stdout)")


def _show(options: argparse.Namespace) -> int:
    from conformance._util.escaping import legible
    from conformance.report.formats.terminal import summary_text

    try:
        report = read_report(options.report)
    except ReportError as error:
        return refuse(str(error))
    if options.format == "terminal":
        width, folder = shutil.get_terminal_size().columns, options.report.parent
        return _put(legible(summary_text(report, width, folder=folder)), options.output)
    return _put(formats()[options.format].text(report, options.report.parent), options.output)


def _operators(options: argparse.Namespace) -> int:
    import msgspec

    from conformance.report.compare.text import TerminalLayout
    from conformance.report.operators import groups, headline, lines
    from conformance.report.parts import read_part
    from conformance.report.row_model import OperatorTable

    try:
        report = read_report(options.report)
    except ReportError as error:
        return refuse(str(error))
    if "operators" not in report:
        return refuse(
            f"{options.report} has no operator table: pytest --backend=NAME --conformance-operators=all adds it"
        )
    table = read_part(OperatorTable, report["operators"])
    layout = TerminalLayout(shutil.get_terminal_size().columns)
    rows = [
        msgspec.structs.replace(
            row, operator=printable(row.operator), dtype=printable(row.dtype), message=printable(row.message)
        )
        for row in table.rows
        if options.outcome in (None, row.outcome.value)
    ]
    say(layout.heading(headline(table)))
    headers, body = lines(rows)
    say(tabulate(body, headers, tablefmt="simple", disable_numparse=True) if body else f"No row is {options.outcome}.")
    remarks = [
        f"{each.outcome.value} {each.operator}: {each.message}" for each in groups(rows, tuple(Outcome)) if each.message
    ]
    say(layout.points(remarks))
    return 0


def _compare(options: argparse.Namespace) -> int:
    from conformance.report.compare.html import comparison_html
    from conformance.report.compare.text import MarkdownLayout, TerminalLayout, comparison_text, named

    paths = [options.first, *options.others]
    try:
        reports = named(paths, [read_report(path) for path in paths])
    except ReportError as error:
        return refuse(str(error))
    if options.format == "html":
        text, regressed = comparison_html(reports, every=options.all)
    else:
        width = shutil.get_terminal_size().columns
        layout = MarkdownLayout() if options.format == "markdown" else TerminalLayout(width)
        text, regressed = comparison_text(reports, layout, every=options.all)
    return _put(text, options.output) or (1 if regressed else 0)


def _put(text: str, output: Path | None) -> int:
    """Write a text where it was asked for; the exit code."""
    text = text if text.endswith("\n") else f"{text}\n"
    if output is None:
        say(text.removesuffix("\n"))
        return 0
    try:
        write_atomically(output, text)
    except OSError as error:
        return refuse(f"{output} cannot be written: {error.strerror}")
    return 0


def _merge(options: argparse.Namespace) -> int:
    from conformance.report.merge import merge

    paths = options.shards
    try:
        report = merge([(str(path), read_report(path)) for path in paths])
        write_report(options.output, report)
        reproducers = ReproducerFolder(options.output.parent, 0)
        if options.output.resolve().parent not in {path.resolve().parent for path in paths}:
            reproducers.clear()  # those of an earlier merge
        scripts = reproducers.gather(path.parent for path in paths)
    except ReportError as error:
        return refuse(str(error))
    except (OverflowError, RecursionError) as error:
        return refuse(f"the shards hold values that no run has: {error}")
    missing, lost = report["plan"]["deselected"], report["summary"]["verdicts"].get("LOST", 0)
    say(f"{len(paths)} shards, {report['plan']['cells']} cells: {missing} of the contract are missing, {lost} lost")
    say(f"report: {options.output}")
    if scripts:
        say(f"reproducers: {reproducers.path} ({scripts} script{'s' if scripts > 1 else ''})")
    failing = sum(map(row_fails, report["cells"]))
    certification = report["certification"]
    falls_short = certification["missing"] and not certification["excused"]
    if failing:
        say(f"{failing} {'cells fail' if failing > 1 else 'cell fails'}")
    elif falls_short and not missing:
        say(f"the level {certification['level']} is not reached: {certification['missing'][0]}")
    return 1 if missing or lost or failing or falls_short else 0
