"""A backend's name that is misspelt is said before torch is imported."""

from __future__ import annotations

import pytest

from conformance.discovery.names import unknown_text


def expect_known_names(config: pytest.Config) -> None:
    """Raise UsageError for a name of which it is known that nothing provides it.

    The others are looked up where processes can be asked; those of a library are known to nobody else.
    """
    if config.option.conformance_library or hasattr(config, "workerinput"):
        return
    for name in config.option.conformance_backend:
        if text := unknown_text(name):
            raise pytest.UsageError(text)
