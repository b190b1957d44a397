"""What a run leaves in its folder while it goes on, so that a later one can go on with it where it was interrupted."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from conformance.api.verdicts import Verdict
from conformance.report._json import ReportError, parse, read_bytes
from conformance.report.model import EarlierRun, Resumed
from conformance.report.parts import as_json, read_part
from conformance.report.row_model import CellRow
from conformance.run.plan import Cell

#: Beside cells.jsonl from the first cell of a run on, until the run is complete.
BEGUN = "run.json"
CELLS = "cells.jsonl"
FORMAT = "torch-conformance-run/1"
#: Cells that came to these say nothing of the backend, and are tried again.
_UNFINISHED = (Verdict.LOST, Verdict.HARNESS_ERROR)


@dataclasses.dataclass(frozen=True)
class Begun:
    """A run that has begun, with those that it went on with before it, and what another has to share with it.

    ``facts`` are values of JSON by what they are: two runs whose facts are equal would come to the same cells.
    """

    runs: tuple[EarlierRun, ...]
    facts: Mapping[str, Any]

    def as_text(self) -> str:
        """The content of its file."""
        runs = [as_json(run) for run in self.runs]
        document = {"format": FORMAT, "runs": runs, "facts": self.facts}
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


@dataclasses.dataclass(frozen=True)
class Interrupted:
    """What an interrupted run left: itself, and the rows of the cells that it finished, by id."""

    runs: tuple[EarlierRun, ...] = ()
    rows: Mapping[str, dict[str, Any]] = dataclasses.field(default_factory=dict)

    def within(self, cells: Iterable[Cell]) -> Resumed | None:
        """What a run of these cells has of it; None where there was no such run."""
        kept = sum(cell.id in self.rows for cell in cells)
        return Resumed(cells=kept, runs=list(self.runs)) if self.runs else None


def interrupted(folders: Sequence[Path], facts: Mapping[str, Any], clauses: Iterable[str]) -> Interrupted:
    """The run that was interrupted in one of the folders, with its finished cells of these clauses.

    Raises ReportError where there is none, and where none has these facts: with what differs, and how.
    """
    found = [(folder, begun) for folder in folders if (begun := _read(folder / BEGUN)) is not None]
    if not found:
        raise ReportError(
            f"there is nothing to go on with: {' and '.join(map(str, folders))} has no run that was interrupted"
        )
    differences = [_differences(begun.facts, facts) for _, begun in found]
    closest = min(range(len(found)), key=lambda place: len(differences[place]))
    folder, begun = found[closest]
    if differences[closest]:
        raise ReportError(
            f"the run in {folder} cannot be gone on with: it differs in {'; in '.join(differences[closest])}"
        )
    known = frozenset(clauses)
    rows = {id: row for id, row in _finished(folder / CELLS).items() if row["clause"] in known}
    return Interrupted(begun.runs, rows)


def _read(path: Path) -> Begun | None:
    """None for what is not there, or is none."""
    if not path.is_file():
        return None
    try:
        document = parse(read_bytes(path), path.name)
        if document["format"] != FORMAT:
            return None
        return Begun(tuple(read_part(EarlierRun, run) for run in document["runs"]), dict(document["facts"]))
    except (ReportError, LookupError, TypeError, ValueError):
        return None


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    names = [name for name in dict.fromkeys((*before, *now)) if before.get(name) != now.get(name)]
    return [f"the {name}: {_shown(before.get(name))}, and now {_shown(now.get(name))}" for name in names]


def _shown(value: Any) -> str:
    if value in (None, "", [], {}):
        return "none"
    return f"{value if isinstance(value, str) else json.dumps(value):.80}"


def _is_finished(row: CellRow) -> bool:
    return row.verdict not in _UNFINISHED and not (row.generated and row.generated.interrupted is True)


def _finished(path: Path) -> dict[str, dict[str, Any]]:
    """The rows of a file to which a run that may have been killed appended them; what is none is passed over."""
    found = {}
    for line in read_bytes(path).splitlines():
        try:
            row = parse(line, path.name)
            read = read_part(CellRow, {name: value for name, value in row.items() if name != "operators"})
        except (ReportError, AttributeError, msgspec.ValidationError, UnicodeEncodeError):
            continue
        if _is_finished(read):
            found[read.id] = row
    return found
