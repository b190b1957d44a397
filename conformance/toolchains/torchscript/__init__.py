"""TorchScript delegates: ``torch._C._jit_to_backend``, ``torch.jit.save`` and the lite interpreter.

``_session`` and the modules of verbs run inside a device. ``face`` is what a clause sees of it.
"""

from __future__ import annotations

from typing import Any

from conformance.toolchains.torchscript import (  # noqa: F401  (verbs)
    _artifacts,
    _compose,
    _guards,
    _inspect,
    _lower,
    _operators,
    _probe,
)
from conformance.toolchains.torchscript._session import Session, verb

__all__ = ["open_session", "verb"]


def open_session(subject: dict[str, Any] | None) -> Session:
    """A session for the backend that ``subject`` describes; for plain TorchScript when it is None."""
    return Session(subject)
