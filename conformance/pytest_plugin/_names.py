"""A backend's name that is misspelt is said before torch is imported."""

from __future__ import annotations

import pytest

from conformance.api.errors import HarnessError
from conformance.devices import ZygoteKind
from conformance.discovery.describing import discovery_kind
from conformance.discovery.names import discovered_by, unknown_text


def expect_known_names(config: pytest.Config) -> None:
    """Raise UsageError for a name of which it is known that nothing provides it.

    The others are looked up where processes can be asked; those of a library are known to nobody else. UsageError as
    well for an extension that cannot be used.
    """
    if config.option.conformance_library or hasattr(config, "workerinput"):
        return
    for name in config.option.conformance_backend:
        try:
            text = unknown_text(name)
        except HarnessError as error:  # an extension that cannot be used
            raise pytest.UsageError(str(error)) from error
        if text:
            raise pytest.UsageError(text)


def zygotes_to_start(config: pytest.Config) -> list[ZygoteKind]:
    """Those that the run will begin with, as far as that is known: of one backend that was asked for by its name, and
    in a worker of pytest-xdist of those that the run has found."""
    if hasattr(config, "workerinput"):
        found = {each["toolchain"] for each in config.workerinput["conformance"]["descriptions"]}
        return [discovery_kind(each).zygote for each in sorted(found)]
    if config.option.conformance_library:
        return []
    names = config.option.conformance_backend
    return discovered_by(names[0]) if len(names) == 1 else []
