"""Statements of a program that nothing needs: a compiler may leave them out, with the errors that they would raise."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.generate.program import Line

_NAME = re.compile(r"\b[xv]\d+\b")
#: The names that a statement makes; and what it writes to something by: a method such as ``add_``, ``inplace=True``.
_ASSIGNED = re.compile(r"^[ \t]*(v\d+(?:, v\d+)*),? = ", re.MULTILINE)
_WRITES = re.compile(r"\w_\(|inplace=True|out=")
_CALLS_A_MODULE = re.compile(r"self\.m\d+\(")
#: A statement that makes one value, in memory of its own; and one that writes to a value and does nothing else.
_FRESH = re.compile(r"(v\d+) = (?:v\d+\.clone\(\)|[xv]\d+ [-+*/] [\w.]+)")
_WRITE = re.compile(r"(v\d+)(?:\.\w+_\(|\[.*?\] = |\[.*?\]\.\w+_\(| [-+*/]= )[^\n]*")


def names_used(lines: Sequence[Line]) -> set[str]:
    """The names of values that a statement uses and does not make itself."""
    return {name for line in lines for name in set(_NAME.findall(line.text)) - made_by(line)}


def needed(lines: Sequence[Line], result: str, *, modules_write: bool = True) -> tuple[Line, ...]:
    """The statements that a result needs, and those that write to something that is more than a value of the program's
    own, which nothing reads. Submodules write to their state where ``modules_write``, as norms do in training."""
    kept = _read(lines, result, modules_write)
    while (fewer := _read(_without_unread(kept, result), result, modules_write)) != kept:
        kept = fewer
    return kept


def made_by(line: Line) -> set[str]:
    """The names of the values that a statement makes."""
    return {name for each in _ASSIGNED.findall(line.text) for name in _NAME.findall(each)}


def _read(lines: Sequence[Line], result: str, modules_write: bool) -> tuple[Line, ...]:
    """The statements that a result needs, and those that write."""
    read = set(_NAME.findall(result))
    kept: list[Line] = []
    for line in reversed(lines):
        made = made_by(line)
        writes = _WRITES.search(line.text) or (modules_write and _CALLS_A_MODULE.search(line.text))
        if made and not made & read and not writes:
            continue
        read.update(_NAME.findall(line.text))
        kept.append(line)
    return tuple(reversed(kept))


def _without_unread(lines: Sequence[Line], result: str) -> list[Line]:
    """Without what makes a value in memory of its own, and writes to it, where no other statement names that."""
    fresh = {found[1] for line in lines if (found := _FRESH.fullmatch(line.text))} - set(_NAME.findall(result))
    own = {id(line): target for line in lines if (target := _about(line)) in fresh}
    elsewhere = {name for line in lines for name in _NAME.findall(line.text) if own.get(id(line)) != name}
    return [line for line in lines if own.get(id(line), "") in elsewhere | {""}]


def _about(line: Line) -> str:
    """The value that a statement makes, or does nothing but write to; empty where it does more."""
    found = _FRESH.fullmatch(line.text) or _WRITE.fullmatch(line.text)
    return found[1] if found else ""
