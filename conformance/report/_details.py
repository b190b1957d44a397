"""What a row may carry beyond its verdict, in a form that no schema has checked: attempts, a margin, a reproducer."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import shlex
import urllib.parse
from typing import Any

from conformance.api.verdicts import Verdict
from conformance.report._rows import Row

#: A relative path whose parts begin with a letter, a digit or _: none is "..", a scheme, an option or the root.
_RELATIVE_PATH = re.compile(r"[A-Za-z0-9_][\w.\[\]+=,@-]*(?:/[A-Za-z0-9_][\w.\[\]+=,@-]*)*", re.ASCII)
_LONGEST_PATH = 300
_TIGHTEST = 8
_EXPECTATION = ("reason", "issue", "owner", "since", "expires")


@dataclasses.dataclass(frozen=True)
class Attempt:
    """One of several runs of a cell."""

    verdict: str
    phase: str
    message: str


@dataclasses.dataclass(frozen=True)
class Reproducer:
    """A script beside the report: the command that runs it, and its address if it lies in a folder below the report."""

    command: str
    address: str


@dataclasses.dataclass(frozen=True)
class Known:
    """A cell with a recorded expectation; what was not recorded is empty."""

    cell: str
    verdict: Verdict
    facts: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Tight:
    """A cell that used much of its tolerance. ``used`` is a share of it: 1 is all."""

    cell: str
    used: float
    absolute: str
    dtype: str
    comparisons: str


def plain(value: Any) -> str:
    """A value of a report in a line."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {plain(each)}" for name, each in value.items() if each != "")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def number(value: Any) -> float | None:
    """The value if it is a finite number, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def attempts_of(row: Row) -> tuple[Attempt, ...]:
    """How a cell that was run several times ended each time."""
    return tuple(
        Attempt(*(plain(each.get(name, "")) for name in ("verdict", "phase", "message")))
        for each in _list(row.get("attempts"))
        if isinstance(each, dict)
    )


def reproducer_of(row: Row) -> Reproducer | None:
    """The script that reproduces a failure, if the row names one by a relative path that stays below the report."""
    named = row.get("reproducer")
    script = named.get("script") if isinstance(named, dict) else None
    if not isinstance(script, str) or len(script) > _LONGEST_PATH or not _RELATIVE_PATH.fullmatch(script):
        return None
    return Reproducer(f"python {shlex.quote(script)}", urllib.parse.quote(script))


def known_failures(report: Row) -> list[Known]:
    """The cells for which a failure was expected, whether it held or not."""
    return [
        Known(
            row["id"],
            Verdict(row["verdict"]),
            tuple(plain(row["expectation"].get(name) or "") for name in _EXPECTATION),
        )
        for row in report["cells"]
        if row.get("expectation")
    ]


def tightest(report: Row) -> list[Tight]:
    """The cells that passed with the least of their tolerance to spare; those that needed none are left out."""
    found = []
    for row in report["cells"]:
        margin = row.get("margin", {})
        used = number(margin.get("used"))
        if row["verdict"] == Verdict.PASS.value and used is not None and used > 0:
            told = (plain(margin.get(name, "")) for name in ("dtype", "comparisons"))
            absolute = number(margin.get("absolute"))
            found.append(Tight(row["id"], used, "" if absolute is None else f"{absolute:.2g}", *told))
    return sorted(found, key=lambda each: -each.used)[:_TIGHTEST]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
