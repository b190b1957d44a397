"""Writing the report: the part that only the process has which sees every cell come back."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

import conformance
from conformance._util.privacy import without_paths
from conformance.api.fingerprint import fingerprint
from conformance.api.verdicts import Verdict, row_fails
from conformance.contract import Clause, clause_of, installed_clauses, shipped_clauses
from conformance.discovery.describing import Description
from conformance.expectations import BackendRun, Expectations, ExpectationsFile
from conformance.pytest_plugin._all_alike import AllAlike
from conformance.pytest_plugin._exit_code import exit_code_of
from conformance.pytest_plugin._expectations import conclude
from conformance.pytest_plugin._last_time import last_time
from conformance.pytest_plugin._run import CELL
from conformance.pytest_plugin._selection import Selection, own_name
from conformance.pytest_plugin._short_summary import failed_lines
from conformance.pytest_plugin._telling import show, telling
from conformance.report import (
    ReportError,
    ReportFolder,
    ReproducerFolder,
    RunFacts,
    build_report,
    legible,
    printable,
)
from conformance.report.formats.terminal import summary_text
from conformance.report.model import Report
from conformance.report.parts import read_part
from conformance.run.first_addition import first_addition
from conformance.run.plan import Cell, cells_of

#: Verdict → the letter of a cell, what pytest counts and lists it as, and its colours.
_LETTERS = {
    Verdict.PASS: (".", "passed", {"green": True}),
    Verdict.FAIL: ("F", "failed", {"red": True}),
    Verdict.CRASH: ("C", "failed", {"red": True}),
    Verdict.TIMEOUT: ("T", "failed", {"red": True}),
    Verdict.UNSUPPORTED: ("u", "unsupported", {"yellow": True}),
    Verdict.NOT_APPLICABLE: ("n", "not applicable", {"yellow": True}),
    Verdict.NOT_EXERCISED: ("-", "not exercised", {"yellow": True}),
    Verdict.XFAIL: ("x", "xfailed", {"yellow": True}),
    Verdict.XPASS: ("X", "xpassed", {"red": True}),
    Verdict.XFAIL_MISMATCH: ("M", "failed", {"red": True}),
    Verdict.FLAKY: ("~", "failed", {"red": True}),
    Verdict.HARNESS_ERROR: ("H", "failed", {"red": True}),
    Verdict.LOST: ("l", "left out", {"yellow": True}),
}


class Reporter:
    """Collects rows as they come back, keeps them on disk, and ends the run with the report and the exit code."""

    def __init__(
        self,
        config: pytest.Config,
        run: RunFacts,
        descriptions: list[Description],
        folders: dict[str, ReportFolder],
        expectations: Expectations,
        reproducers: int,
        operators: Sequence[str],
        expectations_file: ExpectationsFile | None,
        selection: Selection,
        part: str,
    ) -> None:
        self._config = config
        self._run = run
        self._began = run.seconds
        self._descriptions = {each.source.name: each for each in descriptions}
        self._folders = folders
        #: Backend → cell → the row that an interrupted run had for it.
        self._kept = {name: dict(folder.went_before.rows) for name, folder in folders.items()}
        self._expectations = expectations
        self._most_reproducers = reproducers
        self._reproducers: dict[str, ReproducerFolder] = {}
        self._operators = tuple(operators)
        self._expectations_file = expectations_file
        self._selection = selection
        #: The folder of a run that is not whole.
        self._part = part
        #: Backend → the item's own name, ``suite::function[...]`` → cell; and those names that were selected to run.
        self._planned: dict[str, dict[str, Cell]] = {name: {} for name in folders}
        self._selected: set[str] = set()
        self._lists_failures = False
        #: Whether pytest's own tracebacks are left out, without anybody having asked for that.
        self._is_quiet = False
        #: The backends whose folder is this run's: those with a cell that was selected, once a cell has started.
        self._opened: list[str] = []
        self._rows: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in folders}
        #: What may stop the run of a backend with which nothing works: those of whole runs.
        self._alike: dict[str, AllAlike] = {}
        self._session: pytest.Session | None = None
        #: Backend → cell → its item, as pytest prints it.
        self._nodeids: dict[str, dict[str, str]] = {name: {} for name in folders}
        #: Backend, by its name in this run → its report.
        self._reports: dict[str, dict[str, Any]] = {}
        self._has_ended = False
        self._lines: list[str] = []
        self._problems: list[str] = []
        self._warnings: list[str] = []
        # Those of extensions too, where no path chooses: with pytest-xdist this process collects nothing.
        named = config.args_source is config.ArgsSource.ARGS
        self._plan(shipped_clauses() if named else installed_clauses())

    # What was planned.

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Leave the telling of failures to the summary at the end."""
        self._session = session
        before = self._config.option.tbstyle
        self._lists_failures = _be_quiet_about_failures(self._config)
        self._is_quiet = self._config.option.tbstyle != before

    def pytest_report_header(self) -> list[str]:
        """What is being certified, and the seed and the budget that reproduce it."""
        names = ", ".join(f"{each.name} ({each.toolchain})" for each in self._descriptions.values())
        target = self._run.target["spec"]
        lines = (
            f"conformance: {conformance.__version__}, backend {names}",
            f"conformance: target {target}, seed {self._run.seed}, generated {self._run.generated}"
            + (f", budget {self._run.budget}" if self._run.budget else ""),
        )
        return list(map(printable, lines))

    def pytest_configure_node(self, node: Any) -> None:
        """Tell a pytest-xdist worker what was found out here."""
        descriptions = [each.as_message() for each in self._descriptions.values()]
        named = self._config.args_source is self._config.ArgsSource.ARGS
        node.workerinput["conformance"] = {
            "seed": self._run.seed,
            "elapsed": time.monotonic() - self._began,  # a worker may be on another machine, with another clock
            "kept": json.dumps(self._kept),
            "descriptions": descriptions,
            "args": [] if named else list(self._config.args),
            "operators": list(self._operators),
            "failed": self._selection.failed,
        }

    pytest_configure_node = pytest.hookimpl(optionalhook=True)(pytest_configure_node)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Of what cannot be collected no summary of ours tells."""
        if report.failed and self._is_quiet:
            self._config.option.tbstyle = "short"

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Plan the clauses of other suites than the shipped ones, before any is deselected."""
        modules = dict.fromkeys(item.module for item in items if isinstance(item, pytest.Function))
        self._plan(clause for module in modules for value in vars(module).values() if (clause := clause_of(value)))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note what was selected, where the items are in this process; UsageError for what no report can have."""
        items = [item for item in session.items if CELL in item.stash]
        for item in items:
            if own_name(item.nodeid) not in self._planned[item.stash[CELL].backend]:
                raise pytest.UsageError(
                    f"{item.nodeid}: a clause is a function of the module where it is collected, and its cells are its "
                    "only parameters; in a class, or parametrized, it has no place in a report"
                )
        self._selected |= {own_name(item.nodeid) for item in items}

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        """Note what was selected, where the items are in the workers."""
        self._selected |= {own_name(nodeid) for nodeid in ids}

    def _plan(self, clauses: Iterable[Clause]) -> None:
        for clause in clauses:
            for name, description in self._descriptions.items():
                cells = cells_of(clause, description, self._operators, generated=not self._run.generated.is_nothing)
                self._planned[name].update((cell.key, cell) for cell in cells)

    # What came back.

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Take the folders over when the first cell starts: until then an earlier report is worth more than none."""
        if self._opened or self._cell_of(nodeid) is None:
            return
        self._opened = [name for name, cells in self._planned.items() if not self._selected.isdisjoint(cells)]
        for name in self._opened:
            folder = self._folders[name]
            whole = self._selected.issuperset(self._planned[name])
            if whole and not self._config.option.conformance_go_on:
                first = first_addition(self._descriptions[name])
                self._alike[name] = AllAlike(first.id if first else None)
            part = "" if whole else self._part
            self._tell_last_time(name, folder.path / part)
            try:
                folder.open(part)
            except ReportError as error:
                raise pytest.UsageError(str(error)) from error
            self._reproducers[name] = ReproducerFolder(folder.path, self._most_reproducers)
            if folder.went_before.runs:
                self._reproducers[name].keep(folder.went_before.rows.values())
            else:
                self._reproducers[name].clear()

    def _tell_last_time(self, backend: str, folder: Path) -> None:
        chosen = (cell.id for name, cell in self._planned[backend].items() if name in self._selected)
        if not self._kept[backend] and (text := last_time(folder, chosen)):
            telling(self._config)(f"conformance: {text}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep a row as soon as it is there."""
        attached = getattr(report, "conformance", None)
        if attached is None:
            if report.failed:
                self._broken(report)
            return
        self._nodeids[attached["backend"]][attached["row"]["id"]] = report.nodeid
        for text in attached.pop("told", ()):
            show(self._config, text)
        self._keep_reproducer(attached)
        self._keep(attached["backend"], attached["row"])
        alike = self._alike.get(attached["backend"])
        if alike is not None and (why := alike.verdict_on(attached["row"])):
            self._stop(f"{attached['backend']}: {why}")

    def _stop(self, why: str) -> None:
        """Start no more cells, here or in workers."""
        self._problem(why)
        workers: Any = self._config.pluginmanager.getplugin("dsession")
        for each in filter(None, (self._session, workers)):
            each.shouldstop = "every cell fails alike"

    def _keep_reproducer(self, attached: dict[str, Any]) -> None:
        """Write the script that came with a row, and tell the row where it lies."""
        message = attached.pop("reproducer", None)  # pytest keeps its reports to the end, and this may be large
        if message is None:
            return
        try:
            script = self._reproducers[attached["backend"]].write(attached["row"], message)
        except ReportError as error:
            self._problem(str(error))
        else:
            attached["row"] |= {"reproducer": {"script": script}} if script else {}

    def _broken(self, report: pytest.TestReport) -> None:
        """A cell that did not come to a verdict: its set-up failed, or its worker died."""
        cell = self._cell_of(report.nodeid)
        if cell is None or cell.id in self._rows[cell.backend]:
            return
        text = report.longreprtext
        verdict, phase = Verdict.HARNESS_ERROR.value, report.when or ""
        message = without_paths(text.strip().splitlines()[-1] if text.strip() else "the test did not come back")
        row = cell.as_row() | {
            "verdict": verdict,
            "phase": phase,
            "message": message,
            "fingerprint": fingerprint(cell.clause.id, verdict, phase, message),
            "seconds": {},
            "error": {"text": without_paths(text)},
        }
        report.conformance = {"backend": cell.backend, "row": row}  # type: ignore[attr-defined]
        self._keep(cell.backend, row)

    def _keep(self, backend: str, row: dict[str, Any]) -> None:
        known = self._rows[backend].get(row["id"])
        if known is not None and row_fails(known) and not row_fails(row):
            return  # somebody else's plugin tries what failed again: once is enough to break a clause
        self._rows[backend][row["id"]] = row
        try:
            self._folders[backend].append(row)
        except ReportError as error:
            self._problem(str(error))

    def _problem(self, text: str) -> None:
        if text not in self._problems:
            self._problems.append(text)

    def _cell_of(self, nodeid: str) -> Cell | None:
        name = own_name(nodeid)
        return next((cells[name] for cells in self._planned.values() if name in cells), None)

    def pytest_report_teststatus(
        self, report: pytest.TestReport
    ) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
        """The letter and the word of a verdict."""
        attached = getattr(report, "conformance", None)
        if attached is None:
            return None
        row = attached["row"]
        verdict = Verdict(row["verdict"])
        letter, word, markup = _LETTERS[verdict]
        if self._has_ended and word == "failed":  # these lines of pytest's are read by programs too
            return word, letter, ("FAILED", markup)
        detail = row["phase"] if verdict.is_breach else printable(row.get("expectation", {}).get("reason", ""))
        return word, letter, (f"{verdict.value}{f' ({detail})' if detail else ''}", markup)

    # The end.

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports and settle the exit code. Where no cell was started, pytest's own says what went wrong."""
        self._has_ended = True
        if not self._selected and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            names = ", ".join(self._descriptions)
            self._warnings.append(
                f"no clause of the contract was among these tests: nothing is certified of {names}. Without a path, "
                "pytest tries the contract"
            )
        if not self._opened or session.exitstatus == pytest.ExitCode.USAGE_ERROR:
            return
        self._run = dataclasses.replace(self._run, seconds=time.monotonic() - self._began)
        for name in self._opened:
            description = self._descriptions[name]
            cells = self._planned[name]
            chosen = [cell for own_name, cell in cells.items() if own_name in self._selected]
            try:
                run = dataclasses.replace(self._run, resumed=self._folders[name].went_before.within(chosen))
                report = build_report(run, description, chosen, len(cells) - len(chosen), self._rows[name])
                self._reports[name] = report
                path = self._folders[name].finish(report)
                self._lines.append(f"report: {path}")
                self._lines += self._reproducers[name].summary()
            except ReportError as error:
                self._problems.append(str(error))
        _write_step_summary(self._reports.values(), self._problems)
        ending = conclude(self._expectations, self._expectations_file, self._plans(), self._config.option.verbose > 0)
        self._problems += ending.problems
        self._warnings += ending.warnings
        self._lines += ending.lines
        session.exitstatus = self._exit_code(int(session.exitstatus))

    def _plans(self) -> list[BackendRun]:
        """The run as expectations are held against it."""
        return [
            BackendRun(name, [cell.as_row() for cell in cells.values()], self._rows[name])
            for name, cells in self._planned.items()
        ]

    def _exit_code(self, status: int) -> int:
        if status in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
            return status
        reports = [read_part(Report, report) for report in self._reports.values()]
        return exit_code_of(reports, status, has_problems=bool(self._problems))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The tables, the level and where the report is."""
        width = min(terminalreporter._tw.fullwidth, 160)
        verbosity = terminalreporter.verbosity
        for name, report in self._reports.items():
            terminalreporter.section(printable(f"conformance of {report['backend']['name']}"), sep="=")
            folder = self._folders[name].path
            terminalreporter.write_line(legible(summary_text(report, width, verbosity=verbosity, folder=folder)))
        terminalreporter.write_line("")
        for problem in self._problems:
            terminalreporter.write_line(legible(f"ERROR: {problem}"), red=True)
        for warning in self._warnings:
            terminalreporter.write_line(legible(f"WARNING: {warning}"), yellow=True)
        for line in self._lines:
            terminalreporter.write_line(legible(line))
        if self._lists_failures:
            for name, report in self._reports.items():
                for line in failed_lines(report, self._nodeids[name], width):
                    terminalreporter.write_line(line, red=True)


def _write_step_summary(reports: Iterable[dict[str, Any]], problems: list[str]) -> None:
    """Append the Markdown of each report where GitHub Actions shows it, if the run is one of theirs."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    from conformance.report.formats.markdown import markdown

    try:
        with open(path, "a", encoding="utf-8") as file:
            file.writelines(f"{markdown(report)}\n" for report in reports)
    except OSError as error:
        problems.append(f"the step summary cannot be written to GITHUB_STEP_SUMMARY: {error.strerror}")


def _be_quiet_about_failures(config: pytest.Config) -> bool:
    """The summary tells each failure once; pytest's own sections would tell it twice more. ``--tb`` and ``-r`` win.

    Returns whether failures are left to be listed.
    """
    if config.option.verbose <= 0 and config.option.tbstyle == "auto":
        config.option.tbstyle = "no"
    terminal: Any = config.pluginmanager.getplugin("terminalreporter")
    if terminal is None or any(str(each).startswith("-r") for each in config.invocation_params.args):
        return False
    terminal.reportchars = ""
    return True
