"""Operator tables of two reports: compared, and merged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.small_reports import cell, report_of

from conformance.cli import main
from conformance.operators.table import Outcome, Tried, row_of, table_of
from conformance.report import assemble, read_report, write_report
from conformance.report.operators import changes
from conformance.report.parts import read_part
from conformance.report.row_model import OperatorTable


def with_table(*entries: tuple[str, str, str], of: str = "add") -> dict[str, Any]:
    """A small report with a cell for an operator, and rows of operator, dtype and outcome."""
    report = report_of(cell("case"), cell(of) | {"id": f"operators.table[{of}]", "clause": "operators.table"})
    table = [row_of(operator, dtype, [Tried(Outcome(outcome))]) for operator, dtype, outcome in entries]
    head = {name: report[name] for name in ("run", "harness", "environment", "backend")}
    return assemble(head, report["clauses"], report["cells"], 0, None, table)


def test_tables_are_compared_and_merged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = with_table(("add", "float32", "right"), ("add", "bool", "wrong"))
    other = with_table(("add", "bool", "right"), ("mul", "float32", "refused"), of="mul")
    table = read_part(OperatorTable, one["operators"])
    assert changes(table, read_part(OperatorTable, other["operators"])) == [
        "1 of 1 rows of the operator table have another outcome",
        "1 went from wrong to right",
        "1 are gone",
        "1 are new",
    ]
    assert changes(None, None) == []
    assert changes(table, None) == ["only one of the reports has an operator table"]
    paths = [tmp_path / "one.json", tmp_path / "other.json", tmp_path / "out.json"]
    write_report(paths[0], one)
    write_report(paths[1], other)
    assert main(["compare", *map(str, paths[:2])]) == 0
    said = capsys.readouterr().out
    assert "1 went from wrong to right" in said
    assert "0 regressed, 1 unchanged" in said
    assert main(["merge", *map(str, paths[:2]), "-o", str(paths[2])]) == 2
    assert "the operator add in bool is wrong and right" in capsys.readouterr().err
    write_report(paths[1], with_table(("mul", "float32", "refused"), of="mul"))
    assert main(["merge", *map(str, paths[:2]), "-o", str(paths[2])]) == 0
    assert read_report(paths[2])["operators"] == table_of(
        [*one["operators"]["rows"], row_of("mul", "float32", [Tried(Outcome.REFUSED)])]
    )
