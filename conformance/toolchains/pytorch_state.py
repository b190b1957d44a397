"""What of PyTorch itself a process has changed since this module was imported: functions, settings, tables, operators.

It is imported before a backend is: by the zygote that devices are forked from, or by a script at its beginning.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

#: Modules whose settings are looked at, where they are imported.
_CONFIGURED = ("torch._dynamo.config", "torch._functorch.config", "torch._inductor.config", "torch.compiler.config")
#: Tables by which compilers go: a module, and the name of a mapping there.
_TABLES = (
    ("torch._decomp", "decomposition_table"),
    ("torch._decomp", "meta_table"),
    ("torch._dynamo.backends.registry", "_COMPILER_FNS"),
    ("torch._inductor.decomposition", "decompositions"),
    ("torch._inductor.lowering", "lowerings"),
    ("torch._inductor.lowering", "fallbacks"),
)
#: What the JIT asks of itself, and setters that return what was set before, each with something to set.
_JIT_GETTERS = (
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
_JIT_SETTERS: tuple[tuple[str, Any], ...] = (
    ("_jit_set_profiling_executor", True),
    ("_jit_set_profiling_mode", True),
    ("_jit_set_fusion_strategy", [("STATIC", 2)]),
)
_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.GetSetDescriptorType,
    property,
    staticmethod,
    classmethod,
    type,
)
#: What is a backend's own: kernels for the device type that PyTorch keeps free for others.
_OF_OTHERS = "PrivateUse"


def functions() -> dict[str, dict[str, Any]]:
    """The functions of each module of PyTorch that is imported, and of each class that one defines, by their names."""
    found: dict[str, dict[str, Any]] = {}
    for module_name, module in list(sys.modules.items()):
        if module_name != "torch" and not module_name.startswith("torch."):
            continue
        names = found.setdefault(module_name, {})
        for name, value in list(getattr(module, "__dict__", {}).items()):
            # Not isinstance, which asks an object for its class: some of PyTorch's warn of it.
            if not issubclass(type(value), _FUNCTIONS):
                continue
            names[name] = value
            if issubclass(type(value), type) and value.__module__ == module_name:
                inner = list(vars(value).items())
                names |= {f"{name}.{each}": item for each, item in inner if issubclass(type(item), _FUNCTIONS)}
    return found


def settings() -> dict[str, str]:
    """The settings of PyTorch's compilers and of its JIT, by name."""
    found: dict[str, str] = {}
    for module_name in _CONFIGURED:
        module: Any = sys.modules.get(module_name)
        values = module.get_config_copy() if hasattr(module, "get_config_copy") else {}
        found |= {f"{module_name}.{name}": repr(value) for name, value in values.items()}
    found |= {f"torch._C.{name}()": repr(getattr(torch._C, name)()) for name in _JIT_GETTERS if hasattr(torch._C, name)}
    for name, value in _JIT_SETTERS:
        setter: Callable[[Any], Any] = getattr(torch._C, name)
        before = setter(value)
        setter(before)
        found[f"what torch._C.{name} sets"] = repr(before)
    found["torch.jit._state._enabled"] = repr(torch.jit._state._enabled.enabled)
    return found


def tables() -> dict[str, dict[str, Any]]:
    """The tables of PyTorch's compilers that are there."""
    found: dict[str, dict[str, Any]] = {}
    for module_name, name in _TABLES:
        table = getattr(sys.modules.get(module_name), name, None)
        if isinstance(table, Mapping | set):
            entries = table.items() if isinstance(table, Mapping) else ((each, True) for each in table)
            found[f"{module_name}.{name}"] = {str(key): value for key, value in entries}
    return found


def kernels() -> dict[str, dict[str, str]]:
    """For each operator what is registered with the dispatcher, by the key."""
    found: dict[str, dict[str, str]] = {}
    for operator in torch._C._dispatch_get_all_op_names():
        lines = [line.partition(": ") for line in torch._C._dispatch_dump(operator).splitlines()]
        found[operator] = {key: text for key, colon, text in lines if colon and _OF_OTHERS not in key}
    return found


class Before:
    """PyTorch as it was."""

    def __init__(self) -> None:
        self.functions = functions()
        self.settings = settings()
        self.tables = tables()
        self.kernels = kernels()


_BEFORE = Before()


def changes_since(imports: list[str]) -> dict[str, Any]:
    """What has changed since: ``changes``, a sentence for each thing by its name; ``imported``, modules of PyTorch that
    are imported now and were not; and what ``later`` ones have, by which two processes can be compared.

    Imports the modules that another process has imported first. New names are not changes, but for entries for
    operators of PyTorch's in its tables.
    """
    for name in imports:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    now = functions()
    late = sorted(set(now) - set(_BEFORE.functions))
    later = {f"{module}.{name}": _origin(value) for module in late for name, value in now[module].items()}
    before, found = _BEFORE.settings, settings()
    later |= {name: value for name, value in found.items() if name not in before}
    later |= {f"{table}[{key}]": _origin(value) for table, key, value in _new_tables()}
    changed = {name: f"set to {found.get(name, 'nothing')}" for name in before if found.get(name) != before[name]}
    return {"changes": changed | dict(_replaced(now)), "imported": late, "later": later}


def _replaced(now: dict[str, dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for module, names in _BEFORE.functions.items():
        for name, value in names.items():
            if module in now and now[module].get(name) is not value:
                yield f"{module}.{name}", f"replaced by {_origin(now[module].get(name))}"
    for table, entries in tables().items():
        if table not in _BEFORE.tables:
            continue
        known = _BEFORE.tables[table]
        for key in {**known, **entries}:
            if entries.get(key) is not known.get(key) and (key in known or _is_of_pytorch(key)):
                yield f"{table}[{key}]", f"an entry that is {_origin(entries.get(key))}"
    registered = kernels()
    for operator, keys in _BEFORE.kernels.items():
        now_there = registered.get(operator, {})
        for key in {**keys, **now_there}:
            if now_there.get(key) != keys.get(key):
                yield f"the kernel of {operator} for {key}", "another" if key in now_there else "gone"


def _new_tables() -> Iterator[tuple[str, str, Any]]:
    for table, entries in tables().items():
        if table not in _BEFORE.tables:
            yield from ((table, key, value) for key, value in entries.items() if _is_of_pytorch(key))


def _is_of_pytorch(key: str) -> bool:
    return key.startswith(("aten.", "prims.", "quantized.", "inductor."))


def _origin(value: Any) -> str:
    """Where a function comes from, in words that are the same in each process."""
    value = getattr(value, "__func__", value)
    name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    code = getattr(value, "__code__", None)
    return f"{name}, line {code.co_firstlineno}" if isinstance(code, types.CodeType) else name
