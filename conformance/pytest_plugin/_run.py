"""Collecting clauses as cells, and running them: the part that every process of a run has."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import threading
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance.api.errors import ConformanceFailure
from conformance.api.verdicts import NotApplicable, Verdict, row_fails
from conformance.contract import Clause, clause_of, suite_folders
from conformance.expectations import Expectations
from conformance.generate.findings import finding_text
from conformance.pytest_plugin._telling import waiting
from conformance.run.cell_context import PARTS, CellContext
from conformance.run.plan import Cell, cells_of
from conformance.run.result import Result
from conformance.run.run_context import RunContext
from conformance.run.running import run_cell
from conformance.standalone.reproducers import ReproducerWriter

CELL = pytest.StashKey[Cell]()
CONTEXT = pytest.StashKey[CellContext]()
RESULT = pytest.StashKey[Result]()
#: The row that an interrupted run had for a cell, which then is not tried.
KEPT = pytest.StashKey[dict[str, Any]]()
#: The reproducer of a failing cell, as a message for the process that writes the report.
REPRODUCER = pytest.StashKey[dict[str, Any]]()

#: Verdicts that pytest shows as skipped: nothing was found wrong, and nothing was shown either.
_SKIPPED = {Verdict.UNSUPPORTED, Verdict.NOT_APPLICABLE, Verdict.NOT_EXERCISED, Verdict.LOST}


class Runner:
    """Turns clauses into items, one for each cell, and runs them on its devices."""

    def __init__(
        self,
        run: RunContext,
        expectations: Expectations,
        writer: ReproducerWriter,
        *,
        operators: Sequence[str] = (),
        reruns: int = 0,
    ) -> None:
        self._run = run
        self._operators = operators
        self._expectations = expectations
        self._writer = writer
        self._reruns = reruns
        self._ahead: threading.Thread | None = None
        self._suites = {each.folder: each.toolchain for each in suite_folders()}

    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
        """Give the shipped suites the same short node ids wherever they are installed."""
        toolchain = self._suites.get(module_path.parent)
        if toolchain is None:
            return None
        return pytest.Module.from_parent(parent, path=module_path, nodeid=f"suites/{toolchain}/{module_path.name}")

    def pytest_pycollect_makeitem(self, obj: object) -> list[pytest.Item] | None:
        """Leave out the clauses that have no cell here: of another toolchain, or of operators that nobody asked for."""
        clause = clause_of(obj)
        return None if clause is None or self._cells(clause) else []

    def _cells(self, clause: Clause) -> list[Cell]:
        descriptions = self._run.descriptions.values()
        generated = not (self._run.generated and self._run.generated.is_nothing)
        return [cell for each in descriptions for cell in cells_of(clause, each, self._operators, generated=generated)]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One item for each cell of a clause and each backend."""
        clause = clause_of(metafunc.function)
        if clause is None:
            return
        cells = self._cells(clause)
        metafunc.fixturenames.append("cell")
        ids = [f"{cell.backend}-{cell.coordinates}" for cell in cells]
        metafunc.parametrize("cell", cells, ids=ids, indirect=True)

    @pytest.fixture
    def cell(self, request: pytest.FixtureRequest) -> Cell:
        """The cell that is running."""
        cell: Cell = request.param
        return cell

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Tell each item its cell, and mark it so that ``-m`` can choose a level, and ``-k`` a clause or a cell."""
        for item in items:
            cell = getattr(item, "callspec", None) and item.callspec.params.get("cell")  # type: ignore[attr-defined]
            if isinstance(cell, Cell):
                item.stash[CELL] = cell
                item.add_marker(pytest.mark.clause(cell.clause.id))
                item.extra_keyword_matches |= {cell.id, cell.clause.id, _without_toolchain(cell.clause)}
                item.add_marker(cell.clause.level.value)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Share the budget between the generated cells that were selected: each process comes to the same ones."""
        cells = [item.stash[CELL] for item in session.items if CELL in item.stash]
        self._run.share_budget(cells)
        # pytest has its cache from now on, unless that is turned off
        cache = getattr(session.config, "cache", None)
        self._run.kept = None
        if cache is not None:
            with contextlib.suppress(OSError):  # of a cache that cannot be written to pytest warns by itself
                self._run.kept = cache.mkdir("conformance-generated")
        if session.items and not session.config.option.collectonly:
            self._run.get_ready(cells)
            self._ahead = _import_ahead()

    def pytest_sessionfinish(self) -> None:
        """Wait for what is being imported: two threads that begin in different places of hypothesis get halves of it,
        and its own pytest plugin begins in another one when a run ends."""
        if self._ahead is not None:
            self._ahead.join()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        """Put the cell's context where the fixtures find it."""
        cell = item.stash.get(CELL, None)
        if cell is not None:
            item.stash[CONTEXT] = CellContext(self._run, cell, self._run.descriptions[cell.backend])
        return (yield)

    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Run a clause in its cell and keep the result; other tests are pytest's."""
        cell = pyfuncitem.stash.get(CELL, None)
        if cell is None:
            return None
        names = pyfuncitem._fixtureinfo.argnames

        def arguments(context: CellContext) -> dict[str, Any]:
            return {name: context.part(name) if name in PARTS else pyfuncitem.funcargs[name] for name in names}

        clause = _in_our_words(pyfuncitem.obj)
        context = pyfuncitem.stash[CONTEXT]
        result = run_cell(self._run, context, clause, arguments, reruns=self._reruns)
        if context.interrupted:
            # the cell's row says what it had found: the run ends when pytest has it
            pyfuncitem.session.shouldstop = f"interrupted in {cell.id}"
        message = self._writer.write(result, pyfuncitem.obj, names)
        if message is not None:
            pyfuncitem.stash[REPRODUCER] = message
        # The record of a failure holds artifacts, and the item lives as long as the session.
        pyfuncitem.stash[RESULT] = dataclasses.replace(result, failure_record=None)
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the cell's row to pytest's report, where it survives the way from a worker."""
        report = yield
        row = self._row_of(item) if call.when == "call" and call.excinfo is None else None
        if row is not None:
            _attach(report, row, item.stash[CELL])
            if REPRODUCER in item.stash:
                report.conformance["reproducer"] = item.stash[REPRODUCER]
                del item.stash[REPRODUCER]
            if told := waiting(item.config):
                report.conformance["told"] = told
        return report

    def _row_of(self, item: pytest.Item) -> dict[str, Any] | None:
        result = item.stash.get(RESULT, None)
        if result is None:
            return item.stash.get(KEPT, None)
        return self._expectations.judge(result.as_row(), result.cell.backend)

    def pytest_unconfigure(self) -> None:
        """End the zygote and what it forked."""
        self._run.close()


def _import_ahead() -> threading.Thread:
    """Import hypothesis while devices work: generated cells draw with it, and its own pytest plugin, which every
    environment of ours has, imports it when a run ends. Waited for, that takes 0.4 s."""

    def work() -> None:
        with contextlib.suppress(ImportError, RuntimeError):  # of a run that is over, at whose end others import it
            importlib.import_module("hypothesis")

    thread = threading.Thread(target=work, daemon=True, name="conformance-ahead")
    thread.start()
    return thread


def _without_toolchain(clause: Clause) -> str:
    """The name of a suite's file without that of its toolchain: `-k test_operators` means the same for each."""
    return f"test_{clause.suite.removeprefix(f'{clause.toolchain}_')}"


def _in_our_words(clause: Callable[..., None]) -> Callable[..., None]:
    """The clause, with what pytest raises for ``pytest.skip()`` and ``pytest.fail()`` as what a clause may raise."""

    @functools.wraps(clause)
    def function(**arguments: Any) -> None:
        try:
            clause(**arguments)
        except pytest.skip.Exception as skipped:
            raise NotApplicable(str(skipped)) from skipped
        except pytest.fail.Exception as failed:
            raise ConformanceFailure(str(failed)) from failed

    return function


def _attach(report: pytest.TestReport, row: dict[str, Any], cell: Cell) -> None:
    """Make pytest's report say what a row of ours says."""
    verdict = Verdict(row["verdict"])
    report.conformance = {"backend": cell.backend, "row": row}  # type: ignore[attr-defined]
    report.user_properties += [("clause", row["clause"]), ("verdict", verdict.value), ("phase", row["phase"])]
    if row_fails(row):
        report.outcome = "failed"
        report.longrepr = _failure_text(row, cell.clause.statement)
    elif verdict in _SKIPPED:
        report.outcome = "skipped"
        report.longrepr = (row["id"], 0, f"{verdict.value}: {row['message']}")
    elif "expectation" in row:
        report.outcome = "passed" if verdict is Verdict.XPASS else "skipped"
        report.wasxfail = row["message"]


def _failure_text(row: dict[str, Any], statement: str) -> str:
    """A failing cell, for a reader of pytest's own failure section."""
    phase = f" in {row['phase']}" if row["phase"] else ""
    # the first line stands behind the test's name where pytest lists what failed
    parts = [f"{row['verdict']}{phase}: {row['message']}", row["id"], statement]
    error = row.get("error") or {}
    findings = row.get("generated", {}).get("findings", ())
    if findings:
        error = {name: text for name, text in error.items() if name != "text"}  # that says no more than these
    for name in ("text", "stack", "stderr", "stdout"):
        if error.get(name):
            parts.append(f"--- {name}\n{error[name].rstrip()}")
    for place, finding in enumerate(findings, start=1):
        parts.append(f"--- finding {place} of {len(findings)}\n{finding_text(finding)}")
    return "\n\n".join(parts)
