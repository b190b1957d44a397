"""The page of options: those of the pytest plugin, and of the ``conformance`` command."""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

from conformance import pytest_plugin
from conformance.cli import command_parsers
from reference.words import prose


class Recorder:
    """Stands where pytest's parser stands, and keeps what the plugin registers."""

    def __init__(self) -> None:
        self.options: list[tuple[tuple[str, ...], dict[str, Any]]] = []

    def getgroup(self, name: str, description: str = "") -> Recorder:
        """The one group that there is."""
        return self

    def addoption(self, *names: str, **attributes: Any) -> None:
        """Keep an option."""
        self.options.append((names, attributes))

    def addini(self, name: str, help: str, **attributes: Any) -> None:
        """Settings of an ini file are told with the options that they are the defaults of."""


def plugin_options() -> list[tuple[tuple[str, ...], dict[str, Any]]]:
    """Every option of the pytest plugin, with what argparse is told of it."""
    recorder = Recorder()
    pytest_plugin.pytest_addoption(recorder)  # type: ignore[arg-type]
    return recorder.options


def page() -> str:
    """Options and commands."""
    listed = "\n".join(_option(names, attributes) for names, attributes in plugin_options())
    commands = "\n".join(_command(name, text) for name, text in _helps().items())
    return f"""# Options and commands

## pytest

Given to `pytest` once the harness is installed. `--backend=NAME` is `--conformance-backend=NAME`, wherever no other
plugin and no conftest of the project has an option of that name. Paths, `-k`, `-m`, `-n`, `-x` and `--lf` work as in
any run.

Each option can stand in `pyproject.toml` as well, under its name without the dashes, and the command line wins. What is
repeatable is a list there, and what takes no value is `true`:

```toml
[tool.pytest.ini_options]
conformance_backend = ["mybackend"]
conformance_timeout = "120"
conformance_go_on = true
```

{listed}

## conformance

What needs no test run. Exit code 0; 1 where what a command says is not as it should be; 2 for bad input.

{commands}"""


def _option(names: tuple[str, ...], attributes: dict[str, Any]) -> str:
    value = attributes.get("metavar") or "|".join(attributes.get("choices", ()))
    shown = ", ".join(f"`{name}={value}`" if value else f"`{name}`" for name in names)
    text = attributes["help"].replace("%(default)s", str(attributes.get("default")))
    return f"{shown}\n: {prose(text[0].upper() + text[1:])}.\n"


def _helps() -> dict[str, str]:
    # Written as at a terminal of 80 columns, without colours, wherever the site is built.
    with mock.patch.dict(os.environ, {"COLUMNS": "80", "NO_COLOR": "1"}):
        return {name: parser.format_help() for name, parser in command_parsers().items()}


def _command(name: str, text: str) -> str:
    return f"### conformance {name}\n\n```text\n{text.rstrip()}\n```\n"
