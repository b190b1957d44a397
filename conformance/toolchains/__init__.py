"""Lower, save, load and run, once for each PyTorch stack that a backend can plug into.

The part of a toolchain that runs inside a device is a *session*: it answers verbs. What the subject (the backend, or
PyTorch on its behalf) raises is told apart from what the harness gets wrong by where it happens: calls into the
subject stand in a ``with Subject():`` block.
"""

from __future__ import annotations

import importlib
from types import TracebackType
from typing import Any, Protocol

#: Toolchain name → the module whose ``open_session`` makes its session.
TOOLCHAINS = {
    "discovery": "conformance.toolchains.discovery",
    "dynamo": "conformance.toolchains.dynamo",
    "torchscript": "conformance.toolchains.torchscript",
}

#: The environment variable that names the modules which a device must lack, with commas between them.
WITHOUT_MODULES = "CONFORMANCE_WITHOUT_MODULES"


class Session(Protocol):
    """What answers verbs inside a device."""

    def call(self, verb: str, arguments: dict[str, Any]) -> Any: ...


class Subject:
    """A block in which what is under test is at work: an exception that leaves it is the subject's."""

    class Raised(Exception):
        """Carries the exception of the subject to the edge of the device."""

        def __init__(self, original: BaseException) -> None:
            super().__init__(original)  # and not its text, which may raise
            self.original = original

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, Subject.Raised):
            raise Subject.Raised(error) from error


class Leave(BaseException):
    """Raised by a verb that ends its process in the ordinary way."""


def open_session(toolchain: str, subject: dict[str, Any] | None) -> Session:
    """A session of ``toolchain`` for a backend that :mod:`conformance.registry` found; None for the control."""
    session: Session = importlib.import_module(TOOLCHAINS[toolchain]).open_session(subject)
    return session
