"""Documents changed at random, in their structure and in their bytes. A seed gives the same changes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

HOSTILE = (
    "a|b `c`\n<script>x</script>\x1b[31m\x1b]0;t\x07 [l](javascript:1) \ud800 **d** \u202e\u2066 \x00\x9b31m {{7*7}}"
)
#: What stands in place of something else.
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2**62, -(2**62), 0.5, 1e308, -1e308, 1e-320),
    *("", "x", "PASS", "FAIL", "LOST", "no/no", "reported", "core", "x" * 5000, "../../x", "/dev/null", HOSTILE),
    *("a" * 80_000, "a." * 40_000, "a/" * 40_000, "`" * 40_000, " \n" * 40_000),  # what bad expressions are slow for
    *([], {}, [[]], [None], {"": ""}, [{}], {HOSTILE: HOSTILE}, {"a": [1, {"b": [HOSTILE]}]}),
]
_INSERTED = (b"NaN", b"1e999", b"9" * 5000, b"{", b'"a":1,', b"\xff\xfe", b"[" * 2000, b"\x00" * 16)
_MOST_DAMAGED = 40


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def at(document: Any, path: tuple[Any, ...]) -> Any:
    """What stands at a path."""
    for part in path:
        document = document[part]
    return document


def changed(random: Random, document: Any, most: int = 3) -> Any:
    """A copy of a document after one change to its structure, or up to so many."""
    document = copy.deepcopy(document)
    for _ in range(random.randint(1, most)):
        found = list(places(document))
        if not found:
            return copy.deepcopy(random.choice(VALUES))
        _change(random, document, found)
    return document


def _change(random: Random, document: Any, found: list[tuple[Any, ...]]) -> None:
    *parents, last = random.choice(found)
    place: Any = at(document, tuple(parents))
    match random.choice(["drop", "replace", "duplicate", "swap"]):
        case "drop":
            del place[last]
        case "replace":
            place[last] = copy.deepcopy(random.choice(VALUES))
        case "duplicate" if isinstance(place, list):
            place.append(copy.deepcopy(place[last]))
        case "duplicate":
            place[f"{last}{random.choice(['', ' ', HOSTILE])}"] = copy.deepcopy(place[last])
        case "swap":
            place[last] = copy.deepcopy(at(document, random.choice(found)))


def damaged(random: Random, content: bytes) -> bytes:
    """Bytes of which some are missing, others put in, and the end perhaps cut off."""
    start = random.randint(0, len(content))
    stop = min(len(content), start + random.randint(0, _MOST_DAMAGED))
    inserted = random.choice([random.randbytes(random.randint(0, 12)), random.choice(_INSERTED)])
    return content[:start] + inserted + (content[stop:] if random.random() < 0.5 else b"")
