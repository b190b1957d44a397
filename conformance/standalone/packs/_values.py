"""Builtin values as JSON and back; bytes lie in files that are named by their digests. Copied into each pack."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any


def to_json(value: Any, store: Callable[[str, bytes], None]) -> Any:
    """``value`` as JSON has it: what JSON does not know is a list, its kind first. ``store`` keeps bytes."""
    if isinstance(value, bytes):
        name = digest_of(value)
        store(name, value)
        return ["bytes", name]
    if isinstance(value, float):
        return ["float", repr(value)]
    if isinstance(value, tuple | list):
        return [type(value).__name__, *(to_json(each, store) for each in value)]
    if isinstance(value, dict):
        return ["dict", *([to_json(key, store), to_json(each, store)] for key, each in value.items())]
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"a pack has no values of type {type(value).__name__}")


def from_json(value: Any, fetch: Callable[[str], bytes]) -> Any:
    """What :func:`to_json` was given. Raises ValueError for JSON that it does not write, and what ``fetch`` raises."""
    if not isinstance(value, list):
        return value
    match value:
        case ["bytes", str(name)]:
            return fetch(name)
        case ["float", str(text)]:
            return float(text)
        case ["tuple", *items]:
            return tuple(from_json(each, fetch) for each in items)
        case ["list", *items]:
            return [from_json(each, fetch) for each in items]
        case ["dict", *pairs] if all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            return {from_json(key, fetch): from_json(each, fetch) for key, each in pairs}
    raise ValueError(f"no value of a pack: {value!r:.100}")


def digest_of(data: bytes) -> str:
    """The name of a value's file."""
    return hashlib.sha256(data).hexdigest()
