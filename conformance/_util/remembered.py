"""Answers that took seconds to find, kept for this user on this machine until what they depend on changes."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import platformdirs

from conformance._util.files import read_bounded, write_atomically

_MOST_BYTES = 2**20


def recall(kind: str, key: str) -> Any:
    """What was remembered under the key; None where nothing was, or what was kept is damaged."""
    try:
        kept = json.loads(read_bounded(_path(kind, key), _MOST_BYTES))
        return kept["value"] if kept["key"] == key else None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def remember(kind: str, key: str, value: Any) -> None:
    """Keep a value of JSON, where there is a place for it."""
    path = _path(kind, key)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps({"key": key, "value": value}))


def state_of_package(module: str) -> str:
    """What changes when a file of the package does that a module is in: without importing any of it. Empty where it
    cannot be found, or is no Python on disk. A file of which nothing can be known, such as a link that leads nowhere,
    is none of it."""
    try:
        found = importlib.util.find_spec(module.partition(".")[0])
    except (ImportError, ValueError):
        return ""
    if found is None or found.origin is None:
        return ""
    folders = found.submodule_search_locations
    files = [path for folder in folders for path in Path(folder).rglob("*.py")] if folders else [Path(found.origin)]
    states = []
    for path in sorted(files):
        with contextlib.suppress(OSError):
            facts = path.stat()
            states.append(f"{path}\0{facts.st_mtime_ns}\0{facts.st_size}\0")
    return hashlib.sha256(_bytes("".join(states))).hexdigest() if states else ""


def _path(kind: str, key: str) -> Path:
    name = f"{kind}-{hashlib.sha256(_bytes(key)).hexdigest()[:16]}.json"
    return platformdirs.user_cache_path("torch-conformance") / "remembered" / name


def _bytes(text: str) -> bytes:
    """Text in which there may be a path, which need not be UTF-8."""
    return text.encode(errors="surrogatepass")
