"""A backend with which nothing works: one addition is tried first, and a run that fails alike everywhere is stopped."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Any

import pytest

from conformance.api.verdicts import Verdict
from conformance.discovery.describing import Description
from conformance.pytest_plugin._run import CELL
from conformance.report.causes import cause_id
from conformance.report.parts import read_part
from conformance.report.row_model import CellRow
from conformance.run.first_addition import first_addition

OPTION = "--conformance-go-on"
#: A run is stopped when so many cells, the addition among them, have failed with one cause, and so many of those that
#: were tried: some clauses hold whatever a backend does. Later it is not stopped any more.
ENOUGH = 8
_SHARE = 0.75
_AT_MOST = 4 * ENOUGH
_NOT_TRIED = (Verdict.UNSUPPORTED, Verdict.NOT_APPLICABLE, Verdict.NOT_EXERCISED, Verdict.LOST)


class AdditionFirst:
    """The plugin that puts the addition of each backend before everything else, in a run of all that is collected."""

    def __init__(self, descriptions: Iterable[Description]) -> None:
        found = {each.source.name: first_addition(each) for each in descriptions}
        self._first = {name: cell.id for name, cell in found.items() if cell is not None}

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, object, object]:
        """Move them once everything else has had its say about the items."""
        collected = len(items)
        result = yield
        if len(items) == collected:
            items.sort(key=lambda item: not self._is_first(item))
        return result

    def _is_first(self, item: pytest.Item) -> bool:
        cell = item.stash.get(CELL, None)
        return cell is not None and self._first.get(cell.backend) == cell.id


class AllAlike:
    """What is known of the first cells of a backend: ``first`` is the id of its addition, if it has one."""

    def __init__(self, first: str | None) -> None:
        self._first = first
        #: Cell → the cause of its failure, empty where it did not fail: of those that were tried.
        self._causes: dict[str, str] = {}
        self._is_over = first is None

    def verdict_on(self, row: Mapping[str, Any]) -> str:
        """Why a run is to be stopped after this row; empty if it is not."""
        if self._is_over or Verdict(row["verdict"]) in _NOT_TRIED:
            return ""
        read = read_part(CellRow, {name: value for name, value in row.items() if name != "operators"})
        self._causes[read.id] = cause_id(read) if read.fails else ""
        cause = self._causes.get(self._first or "")
        if cause is None:
            return ""
        tried = len(self._causes)
        alike = sum(each == cause for each in self._causes.values())
        stops = cause != "" and alike >= ENOUGH and alike >= _SHARE * tried
        self._is_over = stops or cause == "" or tried >= _AT_MOST
        if not stops:
            return ""
        return (
            f"{alike} of the first {tried} cells that were tried, one addition among them, fail alike [{cause}]. "
            f"The run was stopped there; {OPTION} tries the rest"
        )
