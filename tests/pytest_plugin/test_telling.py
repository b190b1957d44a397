"""What cells say while they run: at once, from a worker with the row, and nothing with -q."""

from __future__ import annotations

import contextlib
import types
from typing import Any

import pytest

from conformance.pytest_plugin._telling import telling, waiting


class FakeTerminal:
    """Keeps what is written."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def ensure_newline(self) -> None:
        """The letters before it end."""

    def write_line(self, line: str) -> None:
        self.lines.append(line)

    def flush(self) -> None:
        """It is seen at once."""


def config_of(verbose: int = 0, **attributes: Any) -> tuple[Any, FakeTerminal]:
    """What pytest's configuration has of it, and the terminal."""
    terminal = FakeTerminal()
    capturing = types.SimpleNamespace(global_and_fixture_disabled=contextlib.nullcontext)
    plugins = {"terminalreporter": terminal, "capturemanager": capturing}
    config = types.SimpleNamespace(
        option=types.SimpleNamespace(verbose=verbose),
        stash=pytest.Stash(),
        pluginmanager=types.SimpleNamespace(getplugin=plugins.get),
        **attributes,
    )
    return config, terminal


def test_it_is_shown_at_once_in_a_line() -> None:
    config, terminal = config_of()
    telling(config)("views: values: at /home/somebody/x\n2 of 3 differ \x1b[2J" + "y" * 1000)
    (line,) = terminal.lines
    assert line.startswith("views: values: at .../x 2 of 3 differ")
    assert "\x1b" not in line
    assert len(line) < 310
    assert waiting(config) == []


def test_a_worker_keeps_it_for_its_row() -> None:
    config, terminal = config_of(workerinput={})
    tell = telling(config)
    tell("first")
    tell("second")
    assert waiting(config) == ["first", "second"]
    assert waiting(config) == []
    assert not terminal.lines


def test_nothing_is_shown_with_q() -> None:
    config, terminal = config_of(verbose=-1)
    telling(config)("first")
    assert not terminal.lines
