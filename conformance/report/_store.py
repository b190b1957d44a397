"""Reports on disk: written as cells end, replaced atomically at the end, and validated on the way in and out."""

from __future__ import annotations

import contextlib
import functools
import json
import tempfile
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import IO, Any

import jsonschema
import msgspec

from conformance._util.files import file_name, write_atomically
from conformance.report._json import ReportError, parse, read_bytes
from conformance.report.model import FORMAT, Report
from conformance.report.parts import read_part
from conformance.report.resuming import BEGUN, CELLS, Begun, Interrupted
from conformance.report.row_model import NO_TRIANGLE, CellRow


@functools.cache
def report_schema() -> dict[str, Any]:
    """The JSON Schema of ``torch-conformance-report/1``, which is generated from :mod:`conformance.report.model`."""
    text = resources.files("conformance.report").joinpath("schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def validate(report: Any, where: str) -> Report:
    """The report that a document is. Raises ReportError, with the first fault and its place, where it is none."""
    if not isinstance(report, dict):
        raise ReportError(f"{where} is not a torch-conformance report: at the top level: {type(report).__name__} found")
    found = report.get("format")
    if found != FORMAT and isinstance(found, str) and found.startswith("torch-conformance-report/"):
        raise ReportError(f"{where} is of the format {found:.100}, and this version of the harness reads {FORMAT}")
    _expect_schema(report, where)
    counted = sum(report["summary"]["verdicts"].values())
    if not counted == report["plan"]["cells"] == len(report["cells"]):
        raise ReportError(
            f"{where} contradicts itself: {report['plan']['cells']} cells planned, {len(report['cells'])} present, "
            f"{counted} counted"
        )
    try:
        read = read_part(Report, report)
    except msgspec.ValidationError as error:  # 1e30 for an integer: JSON Schema takes it for one
        raise ReportError(f"{where} is not a torch-conformance report: {error}") from error
    except UnicodeEncodeError as error:
        raise ReportError(
            f"{where} is not a torch-conformance report: a field's name is no Unicode: {error}"
        ) from error
    tables = {"generated": read.generated, **{f"cells/{place}": row.generated for place, row in enumerate(read.cells)}}
    for place, table in tables.items():
        if table and not table.is_a_triangle:
            raise ReportError(f"{where} is not a torch-conformance report: at {place}: {NO_TRIANGLE}")
    return read


def _expect_schema(report: dict[str, Any], where: str) -> None:
    """ReportError, with the first fault and its place, for what the schema refuses."""
    document = {**report, "cells": []} if _are_plainly_cells(report.get("cells")) else report
    validator = jsonschema.Draft202012Validator(report_schema())
    fault = next(iter(validator.iter_errors(document)), None)
    if fault is not None:
        path = "/".join(str(part) for part in fault.absolute_path) or "the top level"
        raise ReportError(f"{where} is not a torch-conformance report: at {path}: {fault.message:.300}")


def _are_plainly_cells(rows: Any) -> bool:
    """Whether the model takes the rows of cells as they are, and so the schema does, which is generated from it.

    Rows are nearly all of a report, and the schema takes thirty times as long for them. What it takes besides, such as
    1.0 for an integer, and where a fault is, it is asked itself.
    """
    try:
        msgspec.convert(rows, list[CellRow])
    except (msgspec.ValidationError, UnicodeEncodeError):
        return False
    return True


def read_report(path: Path) -> dict[str, Any]:
    """The report in a file. Raises ReportError for one that is missing, too large, truncated, or no report."""
    report = parse(read_bytes(path), path.name)
    validate(report, path.name)
    return report  # type: ignore[no-any-return]


def rows_by_id(report: dict[str, Any], where: str) -> dict[str, dict[str, Any]]:
    """Cell id → row, in the order of the report. Raises ReportError for a cell that stands there twice."""
    rows: dict[str, dict[str, Any]] = {}
    for row in report["cells"]:
        if row["id"] in rows:
            raise ReportError(f"{where} contradicts itself: the cell {row['id']} stands there twice")
        rows[row["id"]] = row
    return rows


def write_report(path: Path, report: dict[str, Any]) -> None:
    """Validate a report and write it as a whole. Raises ReportError, and leaves what was there, where that fails."""
    validate(report, "the report to write")
    try:
        write_atomically(path, _text_of(report))
    except OSError as error:
        raise ReportError(f"{path} cannot be written: {error.strerror}") from error
    except UnicodeEncodeError as error:
        raise ReportError(f"{path} is not written: the report has a text that is no Unicode: {error}") from error
    except ValueError as error:
        raise ReportError(f"{path} is not written: the report has a number that is no JSON: {error}") from error


def _text_of(report: dict[str, Any]) -> str:
    """Each part of a report on lines of its own, and each row of a part on one: what changes in a cell is one line."""
    parts = ",\n".join(f"{json.dumps(name)}: {_part_of(value)}" for name, value in report.items())
    return f"{{\n{parts}\n}}\n"


def _part_of(value: Any) -> str:
    if isinstance(value, dict) and value:
        lines = ",\n".join(f" {json.dumps(name)}: {_rows_of(each)}" for name, each in value.items())
        return f"{{\n{lines}\n}}"
    return _rows_of(value)


def _rows_of(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        lines = ",\n".join(f" {_in_a_line(each)}" for each in value)
        return f"[\n{lines}\n]"
    return _in_a_line(value)


def _in_a_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


#: Below the folder of a backend: where the report of a run that tried a part of the contract lies.
PART = "part"
REPORT = "report.json"


class ReportFolder:
    """``DIR/BACKEND``: cells.jsonl grows while the run goes on, report.json is written at its end.

    What an earlier run left there stays until ``open``, which the first cell asks for. A run of a part of the contract
    has a folder of its own in it, and leaves alone what a whole run left. Raises ReportError for a folder that cannot
    be made or written.

    ``begun`` is what the run notes of itself, for one that goes on with it, and ``went_before`` what it goes on with.
    """

    def __init__(
        self, root: Path, backend: str, begun: Begun | None = None, went_before: Interrupted | None = None
    ) -> None:
        self.path = root / file_name(backend)
        self.went_before = went_before or Interrupted()
        self._begun = begun
        self._cells: IO[str] | None = None
        with _explained(root):
            self.path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.path):  # said before anything runs, and nothing of it stays
                pass

    def open(self, part: str = "") -> None:
        """Begin anew: without the cells of an earlier run, and without its report, which would pass for this one's.

        ``part`` is the folder of a run of a part; empty for a run of the whole contract.
        """
        from conformance.report.formats import formats

        self.path /= part
        with _explained(self.path):
            self.path.mkdir(exist_ok=True)
            for name in (REPORT, *(each.file for each in formats().values())):
                (self.path / name).unlink(missing_ok=True)
            write_atomically(self.path / CELLS, "".join(map(_line_of, self.went_before.rows.values())))
            if self._begun is not None:
                write_atomically(self.path / BEGUN, self._begun.as_text())
            self._cells = (self.path / CELLS).open("a", encoding="utf-8")

    def append(self, row: dict[str, Any]) -> None:
        """Keep one cell, at once; those of the run that it goes on with are there."""
        assert self._cells is not None, "a cell came before the folder was opened"
        if row["id"] in self.went_before.rows:
            return
        with _explained(self.path):
            self._cells.write(_line_of(row))
            self._cells.flush()

    def finish(self, report: dict[str, Any]) -> Path:
        """Validate and write the report in every format; the path of its file."""
        from conformance.report.formats import formats

        if self._cells is not None:
            self._cells.close()
        validate(report, "the report of this run")
        path = self.path / REPORT
        with _explained(self.path):
            write_atomically(path, _text_of(report))
            for each in formats().values():
                write_atomically(self.path / each.file, each.text(report, self.path))
            if report["run"]["complete"]:
                (self.path / BEGUN).unlink(missing_ok=True)
        return path


def _line_of(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ReportError(
            f"the report cannot be written to {folder}: {error.strerror}. "
            "Choose a folder that can, with --conformance-report DIR"
        ) from error
    except UnicodeEncodeError as error:
        raise ReportError(f"the report in {folder} has a text that is no Unicode: {error}") from error
