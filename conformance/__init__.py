"""A conformance harness for PyTorch backends.

What an author of a backend imports is exported here; everything is loaded on first use, so that a pytest run
without a backend pays nothing for having the plugin installed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance import features as features
    from conformance.backend import Backend as Backend
    from conformance.backend import DynamoBackend as DynamoBackend
    from conformance.backend import Environment as Environment
    from conformance.backend import Tolerance as Tolerance
    from conformance.backend import TorchScriptBackend as TorchScriptBackend
    from conformance.features import Features as Features

__version__ = "0.1.0"

_EXPORTS = {
    "Backend": "conformance.backend",
    "DynamoBackend": "conformance.backend",
    "Environment": "conformance.backend",
    "Features": "conformance.features",
    "Tolerance": "conformance.backend",
    "TorchScriptBackend": "conformance.backend",
}

__all__ = ["Backend", "DynamoBackend", "Environment", "Features", "Tolerance", "TorchScriptBackend", "features"]


def __getattr__(name: str) -> Any:
    if name == "features":
        return importlib.import_module("conformance.features")
    if name in _EXPORTS:
        return getattr(importlib.import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module 'conformance' has no attribute {name!r}")
