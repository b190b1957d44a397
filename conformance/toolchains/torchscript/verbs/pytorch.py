"""Verbs about PyTorch itself, which a backend leaves as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from conformance.toolchains.pytorch_state import PyTorchState
from conformance.toolchains.torchscript.verbs.session import Session, verb

#: What the JIT says of itself, and setters that return what was set before, each with something to set.
_GETTERS = (
    "_get_graph_executor_optimize",
    "_jit_can_fuse_on_cpu",
    "_jit_can_fuse_on_cpu_legacy",
    "_jit_get_inline_everything_mode",
    "_jit_get_num_profiled_runs",
    "_jit_get_te_must_use_llvm_cpu",
    "_jit_llga_enabled",
    "_jit_texpr_fuser_enabled",
    "_jit_texpr_reductions_enabled",
    "_jit_texpr_dynamic_shape_enabled",
)
_SETTERS: tuple[tuple[str, Any], ...] = (
    ("_jit_set_profiling_executor", True),
    ("_jit_set_profiling_mode", True),
    ("_jit_set_fusion_strategy", [("STATIC", 2)]),
)


def _settings(getters: Sequence[str] = _GETTERS, setters: Sequence[tuple[str, Any]] = _SETTERS) -> dict[str, str]:
    """The settings of the JIT, and whether there is one."""
    found = {f"torch._C.{name}()": repr(getattr(torch._C, name)()) for name in getters if hasattr(torch._C, name)}
    for name, value in setters:
        setter: Callable[[Any], Any] = getattr(torch._C, name)
        before = setter(value)
        setter(before)
        found[f"what torch._C.{name} sets"] = repr(before)
    found["torch.jit._state._enabled"] = repr(torch.jit._state._enabled.enabled)
    return found


#: Taken before any backend is loaded: in the zygote that devices are forked from, or at the beginning of a script.
_AT_FIRST = PyTorchState(_settings)


@verb
def pytorch_changes(session: Session, imports: list[str]) -> dict[str, Any]:
    """What of PyTorch itself has changed in this process since it began; the modules are imported first."""
    return _AT_FIRST.changes(imports)
