"""What a process changes in PyTorch itself: functions, settings, tables, kernels of operators."""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from conformance._util.functions import FUNCTION_TYPES


class _OrderOfImports(importlib.abc.MetaPathFinder):
    """Notes modules in the order in which their imports begin, and finds none. In another order modules that import
    each other fail, and leave behind what is half imported: Inductor's do."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        self._places.setdefault(name, len(self._places))

    def _place(self, name: str) -> int:
        """Which module it was that began; behind all where its beginning was not seen."""
        return self._places.get(name, len(self._places))


class PyTorchState(_OrderOfImports):
    """PyTorch as it was when this was made, to be compared with what it is later.

    ``settings`` returns the settings that count, as texts by name; ``tables`` are mappings that compilers consult, such
    as tables of decompositions, each as a module and a name in it.
    """

    #: The dispatch keys of kernels that are a backend's own: those of the device type that PyTorch leaves free.
    _OF_OTHERS = "PrivateUse"

    def __init__(self, settings: Callable[[], dict[str, str]], tables: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__()
        self._settings = settings
        self._named_tables = tables
        self._functions_then = self._functions()
        self._settings_then = settings()
        self._tables_then = self._tables()
        self._kernels_then = self._kernels()
        sys.meta_path.insert(0, self)

    def changes(self, imports: list[str]) -> dict[str, Any]:
        """What has changed since: ``changes``, a sentence for each thing by its name; ``imported``, the modules of
        PyTorch that were imported since, in the order in which they can be; and ``later``, what these modules contain,
        which two processes can compare.

        Imports the modules ``imports`` first, which another process has imported. A new name is no change, except an
        entry for one of PyTorch's operators in a table.
        """
        for name in imports:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        now, settings, before = self._functions(), self._settings(), self._settings_then
        late = sorted(set(now) - set(self._functions_then), key=lambda name: (self._place(name), name))
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
        registered = self._kernels()
        for operator, keys in self._kernels_then.items():
            now_there = registered.get(operator, {})
            for key in {**keys, **now_there}:
                if now_there.get(key) != keys.get(key):
                    yield f"the kernel of {operator} for {key}", "another" if key in now_there else "gone"

    @classmethod
    def _functions(cls) -> dict[str, dict[str, Any]]:
        """The functions of each imported module of PyTorch, and of each class that one defines, by their names."""
        found: dict[str, dict[str, Any]] = {}
        for module_name, module in list(sys.modules.items()):
            if module_name != "torch" and not module_name.startswith("torch."):
                continue
            names = found.setdefault(module_name, {})
            for name, value in list(getattr(module, "__dict__", {}).items()):
                if not issubclass(type(value), FUNCTION_TYPES):
                    continue
                names[name] = value
                if issubclass(type(value), type) and value.__module__ == module_name:
                    inner = list(vars(value).items())
                    names |= {f"{name}.{each}": item for each, item in inner if issubclass(type(item), FUNCTION_TYPES)}
        return found

    @classmethod
    def _kernels(cls) -> dict[str, dict[str, str]]:
        """For each operator the text of every kernel that is registered with the dispatcher, by its dispatch key."""
        found: dict[str, dict[str, str]] = {}
        for operator in torch._C._dispatch_get_all_op_names():
            lines = [line.partition(": ") for line in torch._C._dispatch_dump(operator).splitlines()]
            found[operator] = {key: text for key, colon, text in lines if colon and cls._OF_OTHERS not in key}
        return found

    def _tables(self) -> dict[str, dict[str, Any]]:
        """Those of the tables that exist in this process, with their keys as texts."""
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
