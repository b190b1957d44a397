"""What a cell says while it runs: at once on this process's terminal, from a worker of pytest-xdist with its row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance._util.escaping import legible
from conformance._util.privacy import without_paths

#: What a worker's cells said and nobody has seen yet.
_WAITING = pytest.StashKey[list[str]]()
_MOST_CHARACTERS = 300


def telling(config: pytest.Config) -> Callable[[str], None]:
    """What shows a text while a cell runs; nothing with ``-q``."""
    if config.option.verbose < 0:
        return lambda text: None
    if hasattr(config, "workerinput"):
        return config.stash.setdefault(_WAITING, []).append
    return lambda text: show(config, text)


def waiting(config: pytest.Config) -> list[str]:
    """What cells said in a worker since the last time."""
    texts = config.stash.get(_WAITING, [])
    taken = list(texts)
    texts.clear()
    return taken


def show(config: pytest.Config, text: str) -> None:
    """Write a line of its own, between the letters that pytest writes."""
    terminal: Any = config.pluginmanager.getplugin("terminalreporter")
    if terminal is None:
        return
    line = " ".join(legible(without_paths(text)).split())
    shown = line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]} ..."
    capturing: Any = config.pluginmanager.getplugin("capturemanager")
    if capturing is None:
        _write(terminal, shown)
        return
    with capturing.global_and_fixture_disabled():
        _write(terminal, shown)


def _write(terminal: Any, line: str) -> None:
    terminal.ensure_newline()
    terminal.write_line(line)
    terminal.flush()
