"""What a device for a torch.compile backend can be asked. It imports ``torch._dynamo``, which takes seconds."""

from __future__ import annotations

import os
from typing import Any

from conformance.devices import Session
from conformance.devices.protocol import WITHOUT_MODULES
from conformance.toolchains.dynamo.verbs import (  # noqa: F401  (each adds to the table)
    artifacts,
    generated,
    inspection,
    lowering,
    modes,
    operators,
    pytorch,
    runtime,
    session,
    training,
    varied,
)
from conformance.toolchains.dynamo.verbs.session import verb

__all__ = ["open_session", "verb"]


def open_session(subject: dict[str, Any] | None) -> Session:
    """A session for the backend that ``subject`` describes; for Dynamo with nothing behind it when it is None."""
    absent = os.environ.pop(WITHOUT_MODULES, "")  # a backend finds nothing that tells it what is tried
    if absent:
        runtime.hide(absent.split(","))
    return session.Session(subject)
