"""What the verbs that are copied into scripts take for a device's session: a module is its own number."""

from __future__ import annotations

import os
import types
from typing import Any

from conformance.standalone.reproducers._process import BACKEND, author


class Session:
    """Stands where the harness has the objects of a device."""

    @property
    def backend(self) -> Any:
        """What the copied functions ask of the backend."""
        libraries = tuple(filter(None, os.environ.get("REPRODUCER_LIBRARIES", "").split(os.pathsep)))
        return types.SimpleNamespace(
            name=BACKEND, libraries=libraries, received_spec=lambda processed: author().received_spec(processed)
        )

    def module(self, module: Any) -> Any:
        """A module."""
        return module

    def keep(self, module: Any) -> Any:
        """A module."""
        return module


session = Session()
