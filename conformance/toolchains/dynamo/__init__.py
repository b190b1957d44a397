"""Backends of ``torch.compile``: lowered when Dynamo compiles a frame, guarded by what was assumed then.

``_session`` and the modules of verbs run inside a device; ``watch`` stands between Dynamo and the backend there.
``face`` is what a clause sees of it. Only what runs inside a device imports ``torch._dynamo``, which takes seconds.
"""

from __future__ import annotations

import os
from typing import Any

from conformance.toolchains import WITHOUT_MODULES, Session


def open_session(subject: dict[str, Any] | None) -> Session:
    """A session for the backend that ``subject`` describes; for Dynamo with nothing behind it when it is None."""
    from conformance.toolchains.dynamo import (  # noqa: F401  (verbs)
        _artifacts,
        _inspect,
        _lower,
        _modes,
        _operators,
        _runtime,
        _session,
        _train,
    )

    absent = os.environ.get(WITHOUT_MODULES)
    if absent:
        _runtime.hide(absent.split(","))
    return _session.Session(subject)
