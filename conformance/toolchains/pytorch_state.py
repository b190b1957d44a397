"""What of PyTorch itself is changed in a process: functions, settings, tables, kernels of operators."""

from __future__ import annotations

import contextlib
import importlib
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

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


def kernels() -> dict[str, dict[str, str]]:
    """For each operator what is registered with the dispatcher, by the key."""
    found: dict[str, dict[str, str]] = {}
    for operator in torch._C._dispatch_get_all_op_names():
        lines = [line.partition(": ") for line in torch._C._dispatch_dump(operator).splitlines()]
        found[operator] = {key: text for key, colon, text in lines if colon and _OF_OTHERS not in key}
    return found


class PyTorchState:
    """PyTorch as it was when this was made. ``settings`` gives the settings that count, as texts by name; ``tables``
    are mappings by which compilers go: a module, and a name there."""

    def __init__(self, settings: Callable[[], dict[str, str]], tables: Sequence[tuple[str, str]] = ()) -> None:
        self._settings = settings
        self._named_tables = tables
        self._functions_then = functions()
        self._settings_then = settings()
        self._tables_then = self._tables()
        self._kernels_then = kernels()

    def changes(self, imports: list[str]) -> dict[str, Any]:
        """What has changed since: ``changes``, a sentence for each thing by its name; ``imported``, modules of PyTorch
        that are imported now and were not; and what ``later`` ones have, by which two processes can be compared.

        Imports the modules that another process has imported first. New names are not changes, but for entries for
        operators of PyTorch's in its tables.
        """
        for name in imports:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        now, settings, before = functions(), self._settings(), self._settings_then
        late = sorted(set(now) - set(self._functions_then))
        later = {f"{module}.{name}": _origin(value) for module in late for name, value in now[module].items()}
        later |= {name: value for name, value in settings.items() if name not in before}
        later |= {f"{table}[{key}]": _origin(value) for table, key, value in self._new_tables()}
        changed = {name: f"set to {settings.get(name)}" for name in before if settings.get(name) != before[name]}
        changed |= dict(self._replaced(now)) | dict(self._registered())
        return {"changes": changed, "imported": late, "later": later}

    def _replaced(self, now: dict[str, dict[str, Any]]) -> Iterator[tuple[str, str]]:
        for module, names in self._functions_then.items():
            for name, value in names.items():
                if module in now and now[module].get(name) is not value:
                    yield f"{module}.{name}", f"replaced by {_origin(now[module].get(name))}"

    def _registered(self) -> Iterator[tuple[str, str]]:
        tables = self._tables()
        for table, known in self._tables_then.items():
            entries = tables[table]
            for key in {**known, **entries}:
                if entries.get(key) is not known.get(key) and (key in known or _is_of_pytorch(key)):
                    yield f"{table}[{key}]", f"an entry that is {_origin(entries.get(key))}"
        registered = kernels()
        for operator, keys in self._kernels_then.items():
            now_there = registered.get(operator, {})
            for key in {**keys, **now_there}:
                if now_there.get(key) != keys.get(key):
                    yield f"the kernel of {operator} for {key}", "another" if key in now_there else "gone"

    def _tables(self) -> dict[str, dict[str, Any]]:
        """The tables that are there, their keys as texts."""
        found: dict[str, dict[str, Any]] = {}
        for module_name, name in self._named_tables:
            table = getattr(sys.modules.get(module_name), name, None)
            if isinstance(table, Mapping | set):
                entries = table.items() if isinstance(table, Mapping) else ((each, True) for each in table)
                found[f"{module_name}.{name}"] = {str(key): value for key, value in entries}
        return found

    def _new_tables(self) -> Iterator[tuple[str, str, Any]]:
        for table, entries in self._tables().items():
            if table not in self._tables_then:
                yield from ((table, key, value) for key, value in entries.items() if _is_of_pytorch(key))


def _is_of_pytorch(key: str) -> bool:
    return key.startswith(("aten.", "prims.", "quantized.", "inductor."))


def _origin(value: Any) -> str:
    """Where a function comes from, in words that are the same in each process."""
    value = getattr(value, "__func__", value)
    name = f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    code = getattr(value, "__code__", None)
    return f"{name}, line {code.co_firstlineno}" if isinstance(code, types.CodeType) else name
