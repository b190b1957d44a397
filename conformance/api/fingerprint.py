"""What stays the same about a failure when it happens again: on another day, machine, model or seed."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

#: So many hexadecimal digits are enough to tell the failures of one clause apart, and short enough to be copied.
DIGITS = 12

_NUMBER = r"(?:\d++(?:\.\d*+)?+(?:[eE][-+]?\d++)?+|(?:nan|inf)\b)"
#: What varies, with what is written in its place; in this order, since a path may hold numbers.
_VARYING: tuple[tuple[re.Pattern[str], str], ...] = (
    # A path, whole or as reports have it (``.../name``): temporary files and installations are named at will.
    (re.compile(r"(?:\.\.\.(?=/)|(?<![\w./:-])(?=/[^\s/]+/))(?:/[^\s/'\"`,;:()<>\[\]|]*)+"), "PATH"),
    (re.compile(r"___torch_mangle_\d+"), "MANGLED"),
    (re.compile(r"0x[0-9a-fA-F]++|\b(?=[a-f]*+\d)[0-9a-f]{12,}+\b|'[^'\s]'"), "N"),
    # A number that is not part of a name such as float32; a complex one is one number.
    (re.compile(rf"(?<![\w.])[-+]?{_NUMBER}(?:[-+]{_NUMBER}j)?"), "N"),
    # A shape, an index, the first elements of a tensor: how many there are depends on the model.
    (re.compile(r"\[(?:N(?:, N)*+(?:, \.\.\.)?)?\]"), "[N]"),
    (re.compile(r" at \[N\]"), ""),
    # The full JIT wraps what the lite interpreter passes on.
    (re.compile(r"\b(\w+Error: )\1+"), r"\1"),
)


def normalised(message: str) -> str:
    """A message without what varies from run to run: numbers, addresses, paths, mangled names, lengths of lists."""
    for pattern, replacement in _VARYING:
        message = pattern.sub(replacement, message)
    return message


def fingerprint(
    clause: str, verdict: str, phase: str, message: str, error: Mapping[str, Any] | None = None, case: str = ""
) -> str:
    """Twelve hexadecimal digits that the same failure of a clause has each time, and another one hardly ever.

    ``error`` is what a row of a report has under that name: the type of an exception, the signal or the exit code of
    a process are read from it. The case is no part of it, and neither is its name in the words of a clause (in those
    of a backend it may be an operator), so that one cause has one fingerprint in all models.
    """
    ended = [(error or {}).get(name) for name in ("type", "signal", "exit_code")]
    if case and ended[0] == "assertion":
        message = re.sub(rf"\b{re.escape(case)}\b(?:\.\w+)?", "CASE", message)
    parts = [clause, verdict, phase, *ended, normalised(message)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:DIGITS]
