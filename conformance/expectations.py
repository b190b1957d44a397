"""Known failures that cannot rot: they still run, and are held against what happens.

A file of expectations is TOML::

    [[expect]]
    clause = "lowering.outputs"
    case = "lstm"              # a pattern (*, ?); every case when left out
    verdict = "FAIL"           # FAIL, CRASH or TIMEOUT
    phase = "run"              # optional
    reason = "aten::lstm with two layers swaps its hidden states"
"""

from __future__ import annotations

import dataclasses
import fnmatch
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jsonschema

from conformance.files import read_bounded
from conformance.verdict import Verdict

_LARGEST = 4 * 2**20
_BREACHES = [verdict.value for verdict in Verdict if verdict.is_breach]
_SCHEMA = {
    "type": "object",
    "properties": {
        "expect": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "clause": {"type": "string", "minLength": 1},
                    "case": {"type": "string", "minLength": 1},
                    "verdict": {"enum": _BREACHES},
                    "phase": {"type": "string"},
                    "reason": {"type": "string", "minLength": 1},
                },
                "required": ["clause", "verdict", "reason"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["expect"],
    "additionalProperties": False,
}


class ExpectationsError(Exception):
    """The file is not what it should be; the text says where and what was expected."""


@dataclasses.dataclass(frozen=True, slots=True)
class Expectation:
    """A failure that is known: where, which, and why."""

    clause: str
    verdict: str
    reason: str
    case: str = "*"
    phase: str = ""

    def covers(self, row: dict[str, Any]) -> bool:
        """Whether it speaks of a cell."""
        return row["clause"] == self.clause and fnmatch.fnmatchcase(row["case"], self.case)


class Expectations:
    """The expectations of a run."""

    def __init__(self, entries: tuple[Expectation, ...]) -> None:
        self._entries = entries

    @classmethod
    def read(cls, path: Path) -> Expectations:
        """The expectations in a TOML file. Raises ExpectationsError, with the place, for anything else."""
        try:
            document = tomllib.loads(read_bounded(path, _LARGEST).decode("utf-8"))
        except OSError as error:
            raise ExpectationsError(f"the expectations {path} cannot be read: {error.strerror}") from error
        except RecursionError as error:
            raise ExpectationsError(f"the expectations {path} are not what is wanted: nested too deep") from error
        except ValueError as error:
            raise ExpectationsError(f"the expectations {path} are not TOML: {error}") from error
        fault = next(iter(jsonschema.Draft202012Validator(_SCHEMA).iter_errors(document)), None)
        if fault is not None:
            place = "".join(f"[{part!r}]" for part in fault.absolute_path) or "the top level"
            raise ExpectationsError(f"the expectations {path} are wrong at {place}: {fault.message}")
        return cls(tuple(Expectation(**entry) for entry in document["expect"]))

    def judge(self, row: dict[str, Any]) -> dict[str, Any]:
        """The row, with its verdict held against the entry that covers it; the same object when none does."""
        entry = next((each for each in self._entries if each.covers(row)), None)
        verdict = Verdict(row["verdict"])
        if entry is None or not (verdict.is_breach or verdict is Verdict.PASS):
            return row
        found = f"{row['verdict']}{' in ' + row['phase'] if row['phase'] else ''}"
        wanted = f"{entry.verdict}{' in ' + entry.phase if entry.phase else ''}"
        if verdict is Verdict.PASS:
            judged, message = Verdict.XPASS, f"expected {wanted} ({entry.reason}), but it passed: remove the entry"
        elif entry.verdict == verdict.value and entry.phase in ("", row["phase"]):
            judged, message = Verdict.XFAIL, f"known: {entry.reason}. {row['message']}"
        else:
            judged, message = (
                Verdict.XFAIL_MISMATCH,
                f"expected {wanted} ({entry.reason}), found {found}: {row['message']}",
            )
        return row | {
            "verdict": judged.value,
            "message": message,
            "expectation": dataclasses.asdict(entry) | {"found": row["verdict"]},
        }

    def unmet(self, rows: Iterable[dict[str, Any]]) -> list[str]:
        """A sentence for each entry that was held against none of these cells."""
        met = [row["expectation"] for row in rows if "expectation" in row]
        return [
            f"an expectation matches no cell of this run: clause {entry.clause!r}, case {entry.case!r} ({entry.reason})"
            for entry in self._entries
            if not any(dataclasses.asdict(entry).items() <= each.items() for each in met)
        ]
