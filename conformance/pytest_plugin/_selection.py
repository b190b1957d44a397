"""``--conformance-select``: cells by any id that the harness prints, in every process of a run."""

from __future__ import annotations

import collections
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from conformance._util.files import file_name
from conformance.api.fingerprint import DIGITS
from conformance.contract import suite_folders
from conformance.pytest_plugin._run import CELL
from conformance.report import PART, REPORT, ReportError, read_report
from conformance.report.causes import cells_with
from conformance.report.model import Report
from conformance.report.parts import read_part
from conformance.run.plan import Cell

OPTION = "--conformance-select"
_DIGEST = re.compile(rf"[0-9a-f]{{{DIGITS}}}")


def own_name(nodeid: str) -> str:
    """``suite::function[...]`` of a node id, wherever its file lies."""
    path, _, rest = nodeid.partition("::")
    stem = path.replace("\\", "/").rpartition("/")[2].removesuffix(".py").removeprefix("test_")
    return f"{stem}::{rest}"


class Selection:
    """The ids that were asked for.

    ``failed`` are those of failures, each with the cells that reports have for it: backend and id of the cell.
    """

    def __init__(self, terms: Sequence[str], failed: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self.failed = {term: [list(cell) for cell in cells] for term, cells in failed.items()}
        self._names = {_normalised(term): term for term in terms}
        self._failed: dict[tuple[str, ...], list[str]] = collections.defaultdict(list)
        for term, cells in failed.items():
            for cell in cells:
                self._failed[tuple(cell)].append(term)

    def terms_of(self, cell: Cell) -> set[str]:
        """Which of the ids choose a cell."""
        own = {self._names[name] for name in _names_of(cell) if name in self._names}
        return own | set(self._failed.get((cell.backend, cell.id), ()))

    def expect_all_met(self, cells: Iterable[Cell]) -> None:
        """Raise UsageError, with what there is that is close, for an id that chooses none of these cells."""
        known: dict[str, None] = {}
        met: set[str] = set()
        for cell in cells:
            met |= self.terms_of(cell)
            known.update(dict.fromkeys((cell.clause.suite, cell.clause.id, cell.id)))
        unmet = [term for term in self._names.values() if term not in met]
        if unmet:
            raise pytest.UsageError("\n".join(_unmet_text(term, tuple(known)) for term in unmet))


class Selector:
    """The plugin that leaves out every test that was not chosen. ``planned`` says that ids were held against a plan."""

    def __init__(self, selection: Selection, *, planned: bool) -> None:
        self._selection = selection
        self._planned = planned

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Deselect, as ``-k`` does."""
        if not self._planned:
            self._selection.expect_all_met(item.stash[CELL] for item in items if CELL in item.stash)
        chosen = [item for item in items if CELL in item.stash and self._selection.terms_of(item.stash[CELL])]
        kept = set(chosen)
        if left_out := [item for item in items if item not in kept]:
            config.hook.pytest_deselected(items=left_out)
            items[:] = chosen


def failed_cells(terms: Iterable[str], root: Path, backends: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """The cells that the last reports of these backends have for fingerprints and the ids of causes, with the backend.

    Raises UsageError for one that no report has.
    """
    digests = [term for term in terms if _DIGEST.fullmatch(term)]
    found: dict[str, list[tuple[str, str]]] = {term: [] for term in digests}
    if not digests:
        return found
    paths = [(name, root / file_name(name) / part / REPORT) for name in backends for part in ("", PART)]
    for backend, path in paths:
        for term, cells in _failed_in(path, digests):
            found[term] += [(backend, cell) for cell in cells]
    unknown = [term for term, cells in found.items() if not cells]
    if unknown:
        looked = ", ".join(str(path) for _, path in paths)
        raise pytest.UsageError(
            f"{OPTION}: no report has a failure with the fingerprint {', '.join(unknown)}. It is looked for in the "
            f"last reports of this backend ({looked}): run the whole first, or choose by the id of a clause or cell"
        )
    return found


def _failed_in(path: Path, digests: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    if not path.is_file():
        return
    try:
        report = read_part(Report, read_report(path))
    except ReportError as error:
        raise pytest.UsageError(f"{OPTION}: {error}") from error
    yield from cells_with(report, digests).items()


def found_paths(arguments: Sequence[str]) -> list[str]:
    """Arguments of pytest with the files of the installed suites in place of the node ids that are printed for them.

    What is there under the name that was given is taken as it is.
    """
    return [_found(argument) for argument in arguments]


def _found(argument: str) -> str:
    name, separator, rest = argument.partition("::")
    path = Path(name)
    if path.exists() or path.suffix != ".py":
        return argument
    for each in suite_folders():
        file = each.folder / path.name
        if file.is_file() and path.parent.as_posix() in (".", "suites", f"suites/{each.toolchain}"):
            return f"{file}{separator}{rest}"
    return argument


def _normalised(term: str) -> str:
    return own_name(term) if "::" in term or term.endswith(".py") else term


def _names_of(cell: Cell) -> tuple[str, ...]:
    """What chooses a cell: its suite, its clause, itself; and the file, function and item of pytest."""
    clause = cell.clause
    function = f"{clause.suite}::{clause.function}"
    return (clause.suite, clause.id, cell.id, f"{clause.suite}::", function, cell.key)


def _unmet_text(term: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(term, known, n=3, cutoff=0.5)
    hint = f" Close to it: {', '.join(close)}." if close else ""
    return (
        f"{OPTION}={term} chooses nothing.{hint} It takes what the harness prints: a suite, the id of a clause "
        "(`conformance clauses` lists them), of a cell or of a test, or the fingerprint of a failure."
    )
