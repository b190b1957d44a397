"""A conformance harness for PyTorch backends.

What an author of a backend imports is exported here; everything is loaded on first use, so that a pytest run
without a backend pays nothing for having the plugin installed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conformance.api import features as features
    from conformance.api.backend import Backend as Backend
    from conformance.api.backend import Environment as Environment
    from conformance.api.backend import Tolerance as Tolerance
    from conformance.api.features import Features as Features
    from conformance.hookspecs import hookimpl as hookimpl
    from conformance.toolchains.dynamo.backend import DynamoBackend as DynamoBackend
    from conformance.toolchains.executorch.backend import ExecuTorchBackend as ExecuTorchBackend
    from conformance.toolchains.torchscript.backend import TorchScriptBackend as TorchScriptBackend

__version__ = "0.2.0.dev0"

_EXPORTS = {
    "Backend": "conformance.api.backend",
    "DynamoBackend": "conformance.toolchains.dynamo.backend",
    "Environment": "conformance.api.backend",
    "ExecuTorchBackend": "conformance.toolchains.executorch.backend",
    "Features": "conformance.api.features",
    "Tolerance": "conformance.api.backend",
    "TorchScriptBackend": "conformance.toolchains.torchscript.backend",
    "hookimpl": "conformance.hookspecs",
}

__all__ = [
    "Backend",
    "DynamoBackend",
    "Environment",
    "ExecuTorchBackend",
    "Features",
    "Tolerance",
    "TorchScriptBackend",
    "features",
    "hookimpl",
]


def __getattr__(name: str) -> Any:
    if name == "features":
        return importlib.import_module("conformance.api.features")
    if name in _EXPORTS:
        return getattr(importlib.import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module 'conformance' has no attribute {name!r}")
