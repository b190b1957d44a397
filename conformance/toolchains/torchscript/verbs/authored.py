"""Lowering as an author's class says: what it gives for a compile spec is told apart from what the backend does."""

from __future__ import annotations

from typing import Any

import torch

from conformance.api.backend import LoweredCase
from conformance.toolchains import PluginError
from conformance.toolchains.torchscript.backend import TorchScriptBackend


def lowered(backend: TorchScriptBackend, module: Any, case: LoweredCase) -> Any:
    """A scripted module, lowered with the compile spec that the author's class gives for the case.

    Raises PluginError, which names ``compile_spec``, where that gave what no backend can be given; whatever else the
    backend raises is left as it is.
    """
    spec = backend.compile_spec(case)
    try:
        return backend.lower(module, spec)
    except Exception as error:
        fault = fault_of(spec)
        if not fault:
            raise
        raise PluginError(f"compile_spec({case.name!r}) {fault}; PyTorch says: {error}") from error


def fault_of(spec: Any) -> str:
    """Why TorchScript cannot take a method compile spec; empty if it can."""
    if not isinstance(spec, dict):
        return f"must give a dictionary, method → compile spec, found {type(spec).__name__}: {spec!r:.80}"
    for method, value in spec.items():
        if not isinstance(method, str):
            return f"must have names of methods for keys, found {type(method).__name__}: {method!r:.80}"
        inferred = torch._C._jit_try_infer_type(value)
        if not inferred.success():
            return f"gives {method!r} a value that TorchScript has no type for, {value!r:.80}: {inferred.reason()}"
    return ""
