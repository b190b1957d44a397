"""What an interrupted run left is taken as far as it can be read, and only by a run that would come to the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.generated_rows import generated
from support.small_reports import cell

from conformance.report import ReportError
from conformance.report.model import EarlierRun
from conformance.report.resuming import Begun, interrupted

FACTS = {"seed": 7, "version of torch": "2.13.0", "files of the backend": ["libtoy.so aa"]}
RUN = EarlierRun(id="one", started="2026-01-01T00:00:00+00:00", argv=["-x"])
CLAUSES = ["toy.works"]


def left(folder: Path, *rows: dict[str, Any], end: str = "", facts: dict[str, Any] = FACTS) -> Path:
    """The folder of a run that was interrupted."""
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_text(Begun((RUN,), facts).as_text())
    (folder / "cells.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows) + end)
    return folder


def test_what_was_finished_is_kept(tmp_path: Path) -> None:
    add, sub, again = cell("add"), cell("sub", "FAIL", "run", "wrong"), cell("add", "FLAKY")
    found = interrupted([left(tmp_path, add, sub, again)], FACTS, CLAUSES)
    assert found.runs == (RUN,)
    assert found.rows == {add["id"]: again, sub["id"]: sub}


@pytest.mark.parametrize(
    "row",
    [
        cell("mul", "LOST"),
        cell("mul", "HARNESS_ERROR", "run", "no memory"),
        cell("mul", generated=generated(interrupted=True)),
        cell("mul") | {"clause": "mine.works"},
        cell("mul") | {"verdict": "FINE"},
    ],
    ids=["lost", "harness-error", "interrupted", "of-another-suite", "no-row"],
)
def test_what_says_nothing_of_the_backend_is_tried_again(tmp_path: Path, row: dict[str, Any]) -> None:
    add = cell("add")
    assert interrupted([left(tmp_path, row, add)], FACTS, CLAUSES).rows == {add["id"]: add}


@pytest.mark.parametrize("end", ['{"id": "toy.works[m', "[]\n", "\x00\n", '{"id": NaN}\n', "\n"])
def test_a_line_that_was_not_written_to_its_end_is_passed_over(tmp_path: Path, end: str) -> None:
    add = cell("add")
    assert interrupted([left(tmp_path, add, end=end)], FACTS, CLAUSES).rows == {add["id"]: add}


def test_another_run_is_refused_with_what_differs(tmp_path: Path) -> None:
    whole = left(tmp_path, cell("add"))
    part = left(tmp_path / "part", cell("add"), facts=FACTS | {"seed": 8, "version of torch": "2.14.0"})
    with pytest.raises(ReportError) as error:
        interrupted([whole, part], FACTS | {"seed": 9}, CLAUSES)
    assert str(error.value) == f"the run in {whole} cannot be gone on with: it differs in the seed: 7, and now 9"
    with pytest.raises(ReportError, match="it differs in the seed: 7, and now 0"):
        interrupted([whole], FACTS | {"seed": 0}, CLAUSES)
    with pytest.raises(ReportError, match=r"in the version of torch: 2.13.0, and now none"):
        interrupted([whole], {name: value for name, value in FACTS.items() if name != "version of torch"}, CLAUSES)
    assert interrupted([whole, part], FACTS | {"seed": 8, "version of torch": "2.14.0"}, CLAUSES).rows


@pytest.mark.parametrize(
    "text", [None, "", "[]", "{}", '{"format": "torch-conformance-run/9", "runs": [], "facts": {}}']
)
def test_where_nothing_was_interrupted_there_is_nothing_to_go_on_with(tmp_path: Path, text: str | None) -> None:
    left(tmp_path, cell("add"))
    if text is None:
        (tmp_path / "run.json").unlink()
    else:
        (tmp_path / "run.json").write_text(text)
    with pytest.raises(ReportError, match=r"there is nothing to go on with: .* has no run that was interrupted"):
        interrupted([tmp_path], FACTS, CLAUSES)
