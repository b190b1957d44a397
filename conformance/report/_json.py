"""JSON from elsewhere: refused unless it is plain, and read in memory that is bounded whatever it holds."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

from conformance._util.files import read_bounded

#: A report of 100,000 cells must be read, and no real one has more. A cell takes 27 values and 600 bytes, one that
#: failed 10 KB at most, a generated one 3,000 values and 20 KB.
#: The number of values bounds the memory: an empty object takes two bytes of a file, and 64 of memory.
_LARGEST = 96 * 2**20
_MOST_VALUES = 3 * 2**20
_DEEPEST = 32
_LONGEST_INTEGER = 19


class ReportError(Exception):
    """A report, or what belongs to one, cannot be read or written.

    The text says which file, what was expected and what was found.
    """


class _Refused(ValueError):
    """JSON that parsers read differently, or that no report needs."""


def read_bytes(path: Path, most: int = _LARGEST) -> bytes:
    """What is in a file. Raises ReportError for one that cannot be read, is no file, or too large."""
    try:
        return read_bounded(path, most)
    except OSError as error:
        raise ReportError(f"{path.name or path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ReportError(f"{path} cannot be read: {error}") from error


def parse(content: bytes, where: str) -> Any:
    """The value that a text of JSON stands for.

    Raises ReportError for what is no JSON, and for JSON that no report is: with a key twice in one object, with NaN or
    Infinity, with an integer of more than 64 bits, with more than 3 million values, or nested more than 32 deep.
    """
    marks = sum(content.count(mark) for mark in (b",", b"[", b"{"))
    if marks > _MOST_VALUES:
        raise ReportError(f"{where} is refused: it may hold {marks:,} values, and no report has {_MOST_VALUES:,}")
    try:
        value = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_float,
            parse_int=_integer,
        )
        _expect_shallow(value)
    except _Refused as error:
        raise ReportError(f"{where} is refused: {error}") from error
    except RecursionError as error:
        raise ReportError(f"{where} is not JSON that a report is: it is nested too deep") from error
    except ValueError as error:
        raise ReportError(f"{where} is not JSON (is it whole?): {error}") from error
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        counted = Counter(name for name, _ in pairs)
        twice = counted.most_common(1)[0][0]
        raise _Refused(f"the key {twice!r:.100} stands twice in one object")
    return found


def _constant(text: str) -> Any:
    raise _Refused(f"{text} is no number of JSON")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _Refused(f"the number {text:.40} is too large")
    return value


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > _LONGEST_INTEGER:
        raise _Refused(f"the number {text:.40}{'...' if len(text) > 40 else ''} is too large")
    return int(text)


def _expect_shallow(value: Any) -> None:
    depth, level = 0, [value]
    while level:
        depth += 1
        if depth > _DEEPEST:
            raise _Refused(f"it is nested more than {_DEEPEST} deep")
        inner: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                inner += [item for item in each.values() if isinstance(item, dict | list)]
            elif isinstance(each, list):
                inner += [item for item in each if isinstance(item, dict | list)]
        level = inner
