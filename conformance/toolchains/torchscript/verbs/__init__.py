"""What a TorchScript device can be asked."""

from __future__ import annotations

from typing import Any

from conformance.toolchains.torchscript.verbs import (  # noqa: F401  (each adds to the table)
    artifacts,
    composition,
    generated,
    guards,
    inspection,
    lowering,
    operators,
    probing,
    pytorch,
)
from conformance.toolchains.torchscript.verbs.session import Session, verb

__all__ = ["open_session", "verb"]


def open_session(subject: dict[str, Any] | None) -> Session:
    """A session for the backend that ``subject`` describes; for plain TorchScript when it is None."""
    return Session(subject)
