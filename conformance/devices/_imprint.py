"""What a device runs of the harness and of PyTorch, as it was before a backend came; and what is another since.

Taken where devices are forked from, and held against what is there when a backend has loaded and when its device ends.
Nothing in the process of a backend can be trusted for good, and neither can this: docs/forgeries.md says what it sees.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import operator
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

from conformance._util.functions import FUNCTION_TYPES

#: What counts in the harness's own modules besides: slots, and what holds a function.
_FUNCTIONS = (
    *FUNCTION_TYPES,
    types.MemberDescriptorType,
    functools.partial,
    functools.cached_property,
    type(functools.lru_cache(abs)),
)
#: The attribute by which a wrapper holds its function.
_AROUND: dict[type, str] = {
    types.MethodType: "__func__",
    staticmethod: "__func__",
    classmethod: "__func__",
    property: "fget",
    functools.partial: "func",
    functools.cached_property: "func",
}
#: The classes of objects that verbs hold and whose methods they call, if they are imported.
_HELD = (
    ("torch", "Tensor"),
    ("torch", "ScriptModule"),
    ("torch.nn", "Module"),
    ("torch.jit", "RecursiveScriptModule"),
    ("torch.fx", "GraphModule"),
    ("torch.fx", "Graph"),
    ("torch.fx", "Node"),
)
#: Modules whose functions anybody may replace: ``warnings.catch_warnings`` does so within a block.
_NOT_LOOKED_AT = ("warnings",)
#: Hooks of Python that anybody may replace, and that nothing here calls.
_HOOKS = {"sys": frozenset({"displayhook", "excepthook", "unraisablehook"}), "threading": frozenset({"excepthook"})}
#: What a function does when it is called.
_PARTS = tuple(operator.attrgetter(name) for name in ("__code__", "__defaults__", "__kwdefaults__", "__closure__"))
#: How a name is looked up in each kind of what has some: None where it is not there.
_LOOK_UPS: dict[type, Callable[[Any, Any], Any]] = {
    dict: dict.get,
    types.MappingProxyType: types.MappingProxyType.get,
    list: lambda now, index: now[index] if index < len(now) else None,
    tuple: operator.getitem,
}
#: How many containers deep functions are looked for in the variables of the harness's modules.
_DEPTH = 2
#: Where the files of PyTorch begin.
_PYTORCH = os.path.join(os.path.dirname(torch.__file__), "")


@dataclasses.dataclass(slots=True)
class _Namespace:
    """The names of a module, a class, an object or a container.

    ``now`` is what they stand for, a live mapping or sequence, and ``then`` the functions that they stood for when this
    was made. Where ``known`` has all names of that time, a new name counts as a difference if it hides another.
    """

    label: str
    owner: Any
    now: Any
    then: dict[Any, Any] = dataclasses.field(default_factory=dict)
    known: frozenset[Any] | None = None

    def replaced(self, name: Any) -> Iterator[str]:
        """What to say of a name that does not stand for what it stood for."""
        now = dict(enumerate(self.now)) if isinstance(self.now, list | tuple) else self.now
        if not _is_pytorchs_own(now.get(name)):
            what = f"was replaced by {_origin(now[name])}" if name in now else "is gone"
            yield f"{self.label}.{name} {what}"

    def new(self) -> Iterator[str]:
        """What to say of the names that are more than those that are known."""
        for name, value in _functions_in(self.now):
            if self.known is not None and name not in self.known and self._hides(name):
                yield f"{self.label}.{name} is new: {_origin(value)}"

    def _hides(self, name: str) -> bool:
        """Whether a name stands before another: in a module before a builtin, in a class before a base's."""
        if isinstance(self.owner, types.ModuleType):
            return name in vars(sys.modules["builtins"])
        return any(name in vars(base) for base in self.owner.__mro__[1:])


class _Columns:
    """Some thousand names and bodies side by side, so that they are looked through without a line of Python for each:
    every device does so three times."""

    def __init__(
        self, namespaces: Sequence[_Namespace], bodies: Iterable[tuple[str, types.FunctionType, list[Any]]]
    ) -> None:
        entries: dict[Callable[[Any, Any], Any], list[tuple[_Namespace, Any, Any]]] = collections.defaultdict(list)
        for namespace in namespaces:
            look_up = _LOOK_UPS[type(namespace.now)]
            entries[look_up] += [(namespace, name, value) for name, value in namespace.then.items()]
        self._names = []
        for look_up, found in entries.items():
            if found:
                owners, names, values = zip(*found, strict=True)
                self._names.append((look_up, owners, [each.now for each in owners], names, values))
        self._closed = [each for each in namespaces if each.known is not None]
        self._sizes = [len(each.known or ()) for each in self._closed]
        labels, functions, parts = zip(*bodies, strict=True)
        self._labels: Sequence[str] = labels
        self._functions: Sequence[types.FunctionType] = functions
        self._parts = list(zip(_PARTS, zip(*parts, strict=True), strict=True))

    def replaced(self) -> Iterator[tuple[_Namespace, Any]]:
        """The names that do not stand for what they stood for."""
        for look_up, owners, nows, names, values in self._names:
            differs = map(operator.is_not, map(look_up, nows, names), values)
            yield from itertools.compress(zip(owners, names, strict=True), differs)

    def grown(self) -> Iterator[_Namespace]:
        """The namespaces with other numbers of names than those that were known."""
        sizes = map(len, [each.now for each in self._closed])
        return itertools.compress(self._closed, map(operator.ne, sizes, self._sizes))

    def rewritten(self) -> set[str]:
        """The functions that do something else when they are called."""
        found: set[str] = set()
        for part, then in self._parts:
            found.update(itertools.compress(self._labels, map(operator.is_not, map(part, self._functions), then)))
        return found


class Imprint:
    """The functions of modules and what they call, as they are when this is made.

    Of the harness's own modules every function, class, method and table of functions counts, and new names that hide
    others. Of other modules the functions count that the harness's code names, and of PyTorch's also those that such
    functions of PyTorch name in turn. ``corpus`` are modules of models, whose calls do not count: what models compute
    is compared with a process without a backend anyhow.
    """

    def __init__(self, corpus: Sequence[str] = ()) -> None:
        self._corpus = frozenset(corpus)
        self._namespaces: dict[int, _Namespace] = {}
        self._bodies: dict[int, tuple[str, types.FunctionType, list[Any]]] = {}
        self._names: set[str] = set()
        own = [each for name, each in list(sys.modules.items()) if name.partition(".")[0] == "conformance"]
        for module in own:
            self._add_own(module.__name__, module)
        for code, scope in list(self._code_of_own()):
            self._add_called(code, scope)
        builtins = sys.modules["builtins"]
        self._add("builtins", builtins, _named(vars(builtins), self._names))
        for module_name, name in _HELD:
            held = getattr(sys.modules.get(module_name), name, None)
            if isinstance(held, type):
                special = {name for name in dir(held) if name.startswith("__")}
                self._add_class(held, special | (self._names - set(dir(str))))  # a text's method is hardly a tensor's
                self._namespaces[id(held)].known = frozenset(vars(held))
        self._add_called_in_turn()
        self._columns = _Columns([*self._namespaces.values()], self._bodies.values())

    def differences(self, *objects: Any) -> list[str]:
        """A sentence for each thing that is not what it was.

        ``objects`` are the harness's own; an attribute of theirs that hides a method of their class is a difference.
        """
        found = [each for namespace, name in self._columns.replaced() for each in namespace.replaced(name)]
        found += [each for namespace in self._columns.grown() for each in namespace.new()]
        found += [f"the body of {label} is another" for label in sorted(self._columns.rewritten())]
        for each in objects:
            found += [f"{type(each).__name__}.{name} is {_origin(value)}" for name, value in _shadows(each)]
        return found

    # What is the harness's own.

    def _add_own(self, label: str, module: types.ModuleType) -> None:
        self._add(label, module, _functions_in(vars(module), modules=True), closed=True)
        for name, value in list(vars(module).items()):
            if isinstance(value, type) and value.__module__ == module.__name__:
                self._add_class(value)
            elif not isinstance(value, types.ModuleType):
                self._add_table(f"{label}.{name}", value, _DEPTH)

    def _add_table(self, label: str, value: Any, depth: int) -> None:
        """The functions in a container, or in an object of the harness's, and in what these hold."""
        is_own = type(value).__module__.partition(".")[0] == "conformance" and hasattr(value, "__dict__")
        if depth == 0 or not (is_own or type(value) in (dict, list, tuple)) or label.endswith("__"):
            return
        now = vars(value) if is_own else value
        names = list(enumerate(now) if isinstance(now, list | tuple) else now.items())
        self._add(label, value, _functions_in(dict(names)), now=now)
        for name, item in names:
            self._add_table(f"{label}.{name}", item, depth - 1)

    def _code_of_own(self) -> Iterator[tuple[types.CodeType, dict[str, Any]]]:
        for _, function, _ in list(self._bodies.values()):
            waiting = [] if function.__module__ in self._corpus else [function.__code__]
            while waiting:
                code = waiting.pop()
                self._names.update(code.co_names)
                yield code, function.__globals__
                waiting += [each for each in code.co_consts if isinstance(each, types.CodeType)]

    # What that calls.

    def _add_called(self, code: types.CodeType, scope: dict[str, Any]) -> None:
        """What code names of modules that are not the harness's, and of the classes of these."""
        roots = (scope.get(name, sys.modules.get(name)) for name in code.co_names)
        waiting, seen = [each for each in roots if isinstance(each, types.ModuleType | type)], set()
        while waiting:
            owner = waiting.pop()
            if id(owner) in seen or _is_own(owner) or owner.__name__ in _NOT_LOOKED_AT:
                continue
            seen.add(id(owner))
            if isinstance(owner, type):
                self._add_class(owner, code.co_names)
                continue
            hooks = _HOOKS.get(owner.__name__, frozenset())
            found = dict(_named(vars(owner), [each for each in code.co_names if each not in hooks]))
            self._add(owner.__name__, owner, found.items())
            waiting += [each for each in found.values() if isinstance(each, types.ModuleType | type)]

    def _add_called_in_turn(self) -> None:
        """The functions of PyTorch that functions of PyTorch call, each where its module names it."""
        waiting = [function for _, function, _ in list(self._bodies.values())]
        seen: set[int] = set()
        while waiting:
            function = waiting.pop()
            module = sys.modules.get(function.__module__)
            if id(function) in seen or module is None or module.__name__.partition(".")[0] != "torch":
                continue
            seen.add(id(function))
            found = [(name, value) for name, value in _named(vars(module), function.__code__.co_names)]
            self._add(module.__name__, module, found)
            waiting += [each for _, value in found if (each := _function_in(value)) is not None]

    # How it is kept.

    def _add_class(self, owner: type, names: Iterable[str] | None = None) -> None:
        """The methods of a class; those of these names alone where there are some, in its bases too."""
        if names is None:
            self._add(f"{owner.__module__}.{owner.__qualname__}", owner, _functions_in(vars(owner)), closed=True)
            return
        names = set(names)
        for base in owner.__mro__[:-1]:
            label = f"{base.__module__}.{base.__qualname__}"
            self._add(label, base, ((name, value) for name, value in _functions_in(vars(base)) if name in names))

    def _add(
        self, label: str, owner: Any, found: Iterable[tuple[Any, Any]], closed: bool = False, now: Any = None
    ) -> None:
        now = vars(owner) if now is None else now
        namespace = self._namespaces.setdefault(id(owner), _Namespace(label, owner, now))
        if closed:
            namespace.known = frozenset(now)
        for name, value in found:
            namespace.then[name] = value
            function = _function_in(value)
            if function is not None:
                self._bodies.setdefault(
                    id(function), (f"{label}.{name}", function, [part(function) for part in _PARTS])
                )


def _functions_in(namespace: Mapping[Any, Any], modules: bool = False) -> list[tuple[Any, Any]]:
    kinds = (*_FUNCTIONS, types.ModuleType) if modules else _FUNCTIONS
    return [(name, value) for name, value in list(namespace.items()) if issubclass(type(value), kinds)]


def _named(namespace: Mapping[str, Any], names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    for name in names:
        if name in namespace and issubclass(type(namespace[name]), (*_FUNCTIONS, types.ModuleType)):
            yield name, namespace[name]


def _function_in(value: Any) -> types.FunctionType | None:
    """The function in Python that a name stands for, if it does."""
    while type(value) in _AROUND:
        value = getattr(value, _AROUND[type(value)])
    return value if isinstance(value, types.FunctionType) else None


def _is_pytorchs_own(value: Any) -> bool:
    """Whether a function is one that PyTorch has made of another while it ran, as Dynamo does when it is imported."""
    function = _function_in(value)
    if function is None or "<locals>" not in function.__code__.co_qualname:
        return False
    return function.__code__.co_filename.startswith(_PYTORCH)


def _is_own(owner: Any) -> bool:
    name = owner.__name__ if isinstance(owner, types.ModuleType) else owner.__module__
    return bool(name.partition(".")[0] == "conformance")


def _shadows(owner: Any) -> list[tuple[str, Any]]:
    """The functions that an object has in place of its class's."""
    return [(name, value) for name, value in vars(owner).items() if callable(value) and hasattr(type(owner), name)]


def _origin(value: Any) -> str:
    """Where a function comes from."""
    value = _function_in(value) or value
    qualified = getattr(value, "__qualname__", type(value).__qualname__)
    return f"{getattr(value, '__module__', '')}.{qualified}"
