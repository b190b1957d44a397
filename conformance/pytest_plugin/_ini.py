"""Options as settings: each may stand in ``[tool.pytest.ini_options]`` of pyproject.toml, and the command line wins.

Imported by every pytest run of an environment that has the harness: pytest and the standard library only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import pytest

#: What else gives an option on the command line.
_ALIASES = {"--conformance-backend": ("--backend",)}


@dataclasses.dataclass(frozen=True)
class Setting:
    """An option that can be set in a file: ``kind`` is what pytest makes of what stands there."""

    option: str
    kind: Literal["string", "bool", "args"]

    @property
    def name(self) -> str:
        """The name of the setting: ``conformance_timeout`` for ``--conformance-timeout``."""
        return self.option.removeprefix("--").replace("-", "_")

    def arguments(self, value: Any) -> list[str]:
        """The command line that says the same."""
        if self.kind == "bool":
            return [self.option] if value else []
        values = value if isinstance(value, list) else [value]
        return [f"{self.option}={each}" for each in values if each != ""]

    def is_among(self, arguments: Sequence[str]) -> bool:
        """Whether a command line has the option."""
        names = (self.option, *_ALIASES.get(self.option, ()))
        return any(argument.partition("=")[0] in names for argument in arguments)


_settings: dict[str, Setting] = {}


def add_option(parser: pytest.Parser, group: Any, option: str, **attributes: Any) -> None:
    """Register an option, and the setting of the same name."""
    group.addoption(option, **attributes)
    kinds: dict[Any, Literal["string", "bool", "args"]] = {"store_true": "bool", "append": "args"}
    setting = Setting(option, kinds.get(attributes.get("action"), "string"))
    _settings[option] = setting
    parser.addini(setting.name, f"as {option}, which wins over it", type=setting.kind, default=None)


def from_file(config: pytest.Config, arguments: Sequence[str]) -> list[str]:
    """The options that the project's settings give, as arguments, without those that the command line has."""
    found = []
    for setting in _settings.values():
        value = config.getini(setting.name)
        if value and not setting.is_among(arguments):
            found += setting.arguments(value)
    return found
