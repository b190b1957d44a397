"""Definitions of harness modules, and everything that they need, as text for a script that stands alone.

What is copied is the source as it stands, comments and all, but for three things: decorators that register (``verb``,
``clause``, ``register_case``, ``case``, ``everyday``, and what is called ``..._clause``), blocks of ``with
Subject():``, which tell the subject's exceptions from the harness's own, and methods of the devices' classes that
nobody calls. A module of the harness that is imported as a whole is not copied: a script with one needs the harness.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import importlib
import importlib.util
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from types import MappingProxyType, ModuleType

_REGISTERING = frozenset({"verb", "clause", "register_case", "case", "everyday"})
#: The base of classes of which only those methods are copied that something calls, and those that every one needs.
_CLIENT = "CellDevice"
#: What declares a verb by annotations, which are evaluated.
_DECLARING = "ask"


@dataclasses.dataclass(frozen=True, eq=False)
class Definition:
    """A name at the top level of a harness module: its nodes, and the text of its source."""

    module: str
    name: str
    node: ast.stmt
    lines: tuple[str, ...]

    def text(self, called: Set[str]) -> str:
        """The source as a script has it; ``called`` are the methods that something calls."""
        dropped = _dropped_methods(self.node, called)
        return _source(self.node, self.lines, dropped)


@dataclasses.dataclass(frozen=True)
class _Module:
    definitions: dict[str, Definition]
    #: Name → (harness module, name there), or the statement that imports it from elsewhere.
    imported: dict[str, tuple[str, str] | str]


class Collection:
    """Chosen definitions. ``provided`` are names that the script defines itself; ``substitutes`` those that come from
    another module than the one which imports them."""

    def __init__(self, provided: Iterable[str] = (), substitutes: Mapping[str, str] = MappingProxyType({})) -> None:
        self._provided = frozenset(provided)
        self._substitutes = substitutes
        self._chosen: dict[str, Definition] = {}
        self._called: set[str] = set()
        self._waiting: list[tuple[ast.AST, str]] = []
        self.imports: set[str] = set()

    def add(self, module: str | ModuleType, *names: str) -> None:
        """Choose names of a module, and what they need."""
        for name in names:
            self._choose(module if isinstance(module, str) else module.__name__, name)
        self._settle()

    def add_all(self, module: str) -> None:
        """Choose every definition of a module."""
        self.add(module, *(name for name in _module(module).definitions if name not in self._provided))

    def mention(self, code: str) -> None:
        """Note the methods that code of the script's own calls."""
        self._called |= {node.attr for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Attribute)}
        self._settle()

    def texts(self, *modules: str) -> list[str]:
        """The chosen definitions in an order in which they can be executed; of ``modules`` only, if any are given."""
        chosen = [each for each in self._ordered() if not modules or each.module in modules]
        return [each.text(self._called) for each in chosen]

    def split(self, shown: Callable[[Definition], bool]) -> tuple[list[str], list[str]]:
        """The chosen definitions that are ``shown``, and the others with all that these need, as texts in an order in
        which they can be executed."""
        others = {each.name for each in self._chosen.values() if not shown(each)}
        waiting = list(others)
        while waiting:
            needed = set(self._needs(self._chosen[waiting.pop()])) & self._chosen.keys()
            waiting += needed - others
            others |= needed
        chosen = [(each.name in others, each.text(self._called)) for each in self._ordered()]
        return [text for hidden, text in chosen if not hidden], [text for hidden, text in chosen if hidden]

    @property
    def modules(self) -> set[str]:
        """Where the chosen definitions come from."""
        return {each.module for each in self._chosen.values()}

    def _choose(self, module: str, name: str) -> None:
        if name in self._provided:
            return
        definition = _definition(self._substitutes.get(name, module), name)
        if isinstance(definition, str):
            self.imports.add(definition)
            return
        if name != definition.name:
            raise ValueError(f"{module} calls {definition.name} of {definition.module} {name}: a script cannot")
        known = self._chosen.get(name)
        if known is not None:
            if known.module != definition.module:
                raise ValueError(f"two definitions of {name!r}, in {known.module} and {definition.module}")
            return
        self._chosen[name] = definition
        self._called |= _attributes(definition)

    def _settle(self) -> None:
        """Choose what the chosen need, until nothing is missing."""
        before = -1
        while before != (before := len(self._chosen) + len(self._called)):
            for definition in list(self._chosen.values()):
                for name in self._needs(definition):
                    self._choose(definition.module, name)

    def _needs(self, definition: Definition) -> tuple[str, ...]:
        return _needs(definition, _dropped_methods(definition.node, self._called))

    def _ordered(self) -> Iterator[Definition]:
        done: set[ast.stmt] = set()

        def visit(definition: Definition) -> Iterator[Definition]:
            if definition.node in done:  # one statement may define several names
                return
            done.add(definition.node)
            for name in _needs(definition, _functions_in(definition.node)):
                if name in self._chosen:
                    yield from visit(self._chosen[name])
            yield definition

        for definition in sorted(self._chosen.values(), key=lambda each: (each.module, each.node.lineno)):
            yield from visit(definition)


@functools.cache
def _needs(definition: Definition, without: frozenset[ast.AST]) -> tuple[str, ...]:
    """The names of its module that a definition needs; parts of it left out of account."""
    module = _module(definition.module)
    found: dict[str, None] = {}
    for name, in_annotation in _names(definition.node, without):
        if name not in module.definitions and name not in module.imported:
            continue
        if name == definition.name or name in _REGISTERING or name == "Subject":
            continue
        if in_annotation and isinstance(module.imported.get(name), tuple):
            continue  # annotations are not evaluated, and the harness's types say nothing to a reader
        found[name] = None
    return tuple(found)


@functools.cache
def _functions_in(node: ast.stmt) -> frozenset[ast.AST]:
    """What is not executed when a definition is: the bodies of functions."""
    functions = [each for each in ast.walk(node) if isinstance(each, ast.FunctionDef)]
    return frozenset(statement for function in functions for statement in function.body)


@functools.cache
def _attributes(definition: Definition) -> frozenset[str]:
    """The names behind a dot in a definition, where all of it is copied."""
    return frozenset(node.attr for node in _body_walk(definition.node) if isinstance(node, ast.Attribute))


def _definition(module: str, name: str) -> Definition | str:
    """The definition that a name of a module refers to, wherever it stands; or the statement that imports it."""
    table = _module(module)
    if name in table.definitions:
        return table.definitions[name]
    origin = table.imported[name]
    return origin if isinstance(origin, str) else _definition(*origin)


@functools.cache
def _module(name: str) -> _Module:
    module = importlib.import_module(name)
    source = inspect.getsource(module)
    lines = tuple(source.splitlines())
    found = _Module({}, {})
    for node in ast.parse(source).body:
        match node:
            case ast.FunctionDef(name=own) | ast.ClassDef(name=own):
                found.definitions[own] = Definition(name, own, node, lines)
            case ast.Assign(targets=[ast.Name(id=own)]) | ast.AnnAssign(target=ast.Name(id=own)):
                found.definitions[own] = Definition(name, own, node, lines)
            case ast.Assign(targets=[ast.Tuple(elts=targets)]):
                for target in targets:
                    if isinstance(target, ast.Name):
                        found.definitions[target.id] = Definition(name, target.id, node, lines)
            case ast.Import(names=aliases):
                for alias in aliases:
                    found.imported[alias.asname or alias.name.partition(".")[0]] = _import(alias)
            case ast.ImportFrom(module=origin, names=aliases) if origin != "__future__":
                for alias in aliases:
                    own = alias.asname or alias.name
                    copied = _is_ours(str(origin)) and not _is_module(f"{origin}.{alias.name}")
                    found.imported[own] = (str(origin), alias.name) if copied else f"from {origin} {_import(alias)}"
            case _:
                pass
    return found


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "conformance"


def _is_module(name: str) -> bool:
    """Whether a name is that of a whole module, which is imported: its names are told from others by its own."""
    with contextlib.suppress(ModuleNotFoundError):
        return importlib.util.find_spec(name) is not None
    return False


def _import(alias: ast.alias) -> str:
    return f"import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")


def _names(node: ast.AST, dropped: frozenset[ast.AST]) -> Iterator[tuple[str, bool]]:
    """The names in a definition, and whether each stands in an annotation."""
    evaluated = {each for function in ast.walk(node) if _declares(function) for each in ast.walk(function)}
    pending: list[tuple[ast.AST, bool]] = [(node, False)]
    while pending:
        current, in_annotation = pending.pop()
        if current in dropped:
            continue
        if isinstance(current, ast.Name):
            yield current.id, in_annotation and current not in evaluated
        decorators = set(getattr(current, "decorator_list", ()))
        for field, value in ast.iter_fields(current):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not (child in decorators and _registers(child)):
                    pending.append((child, in_annotation or field in ("annotation", "returns")))


def _body_walk(node: ast.AST) -> Iterator[ast.AST]:
    """Everything in a definition but the methods of a class of which only some are copied."""
    if _is_client(node):
        return iter(())
    return ast.walk(node)


def _dropped_methods(node: ast.stmt, called: Set[str]) -> frozenset[ast.AST]:
    if not isinstance(node, ast.ClassDef) or not _is_client(node):
        return frozenset()
    methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
    kept, wanted = set[str](), {*called, "bind", "call"}
    while new := {name for name in methods if name in wanted and name not in kept}:
        kept |= new
        for name in new:
            wanted |= {each.attr for each in ast.walk(methods[name]) if isinstance(each, ast.Attribute)}
    return frozenset(method for name, method in methods.items() if name not in kept)


def _is_client(node: ast.AST) -> bool:
    """Whether a statement is the class of a toolchain's devices, as clauses see them."""
    bases = node.bases if isinstance(node, ast.ClassDef) else []
    return any(isinstance(base, ast.Name) and base.id == _CLIENT for base in bases)


def _registers(decorator: ast.AST) -> bool:
    name = _name_of(decorator)
    return name in _REGISTERING or name.endswith("_clause")


def _declares(function: ast.AST) -> bool:
    return any(_name_of(each) == _DECLARING for each in getattr(function, "decorator_list", ()))


def _name_of(decorator: ast.AST) -> str:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return target.id if isinstance(target, ast.Name) else ""


def _source(node: ast.stmt, lines: tuple[str, ...], dropped: frozenset[ast.AST]) -> str:
    start, end = node.lineno, node.end_lineno or node.lineno
    decorators = [each for each in getattr(node, "decorator_list", ()) if not _registers(each)]
    text: dict[int, str | None] = {number: lines[number - 1] for number in range(start, end + 1)}
    for block in (each for each in ast.walk(node) if isinstance(each, ast.With)):
        _drop_subject(block, text)
    for method in dropped:
        for number in _span(method, lines):
            text[number] = None
    head = [lines[number - 1] for each in decorators for number in range(each.lineno, (each.end_lineno or 0) + 1)]
    above: list[str] = []
    first = min([start, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    while lines[(first := first - 1) - 1].startswith("#"):
        above.insert(0, lines[first - 1])
    body = [line for line in text.values() if line is not None]
    return "\n".join([*above, *(line if line.startswith("@") else f"@{line}" for line in head), *body]).rstrip()


def _span(method: ast.AST, lines: tuple[str, ...]) -> range:
    """The lines of a method of a class, with its decorators and the empty lines and comments above it."""
    assert isinstance(method, ast.FunctionDef)
    first = min([method.lineno, *(each.lineno for each in method.decorator_list)])
    while not lines[first - 2].strip() or lines[first - 2].strip().startswith("#"):
        first -= 1
    return range(first, (method.end_lineno or first) + 1)


def _drop_subject(block: ast.With, text: dict[int, str | None]) -> None:
    """Take ``Subject()`` out of a with statement; the statement too where nothing is left of it."""
    subjects = [item for item in block.items if _is_subject(item)]
    if not subjects:
        return
    header = text[block.lineno]
    assert header is not None
    if len(subjects) < len(block.items):
        text[block.lineno] = header.replace("Subject(), ", "").replace(", Subject()", "")
        return
    text[block.lineno] = None
    for number in range(block.lineno + 1, (block.end_lineno or block.lineno) + 1):
        line = text[number]
        if line is not None:
            text[number] = line.removeprefix("    ")


def _is_subject(item: ast.withitem) -> bool:
    call = item.context_expr
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "Subject"
