"""The two files of a reproducer: ``reproduce.py``, which is read, and ``support.py`` beside it, which it imports.

A script shows the model, the steps and the judgement. All else is support: the constants, what the steps and the
judgement need of the harness, and what is the same in each.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import io
import re
import textwrap
import tokenize
from collections.abc import Callable, Iterable, Iterator

from conformance._util.privacy import without_paths
from conformance.report.reproducer_folder import MARK, SCRIPT, SUPPORT
from conformance.standalone.reproducers._sources import Collection, Definition

_WIDTH = 118
#: Python's own exit code for an error is that of a failure which is there; a script that cannot start shows none.
_GUARD = "sys.excepthook = lambda *error: (sys.__excepthook__(*error), os._exit(2))  # cannot start: not tried"
_MAY_BE_USED = ("import gc", "import io", "import os", "import types", "import torch", "from typing import Any")


@dataclasses.dataclass(frozen=True)
class Parts:
    """What the files are put together from; each part is code at the top level."""

    #: What failed, and how the script is called.
    docstring: str
    #: What it needs, and what its exit codes say.
    explanation: str
    #: The script's own functions, after what it shows of the collection.
    own: tuple[str, ...]
    #: The arguments of ``reproduce``, in order.
    arguments: tuple[str, ...]
    #: What support has of its own, before what it takes from the collection.
    constants: tuple[str, ...]
    imports: frozenset[str] = frozenset()


def assembled(parts: Parts, collection: Collection, shown: Callable[[Definition], bool]) -> dict[str, bytes]:
    """Both files; the script has those definitions of the collection that are ``shown``, and not needed by support."""
    models, hidden = collection.split(shown)
    imports = {*collection.imports, *parts.imports, *_MAY_BE_USED}
    constants = _blocks(map(in_double_quotes, parts.constants))
    support = _blocks([constants, *hidden])
    ending = f'if __name__ == "__main__":\n{_call("reproduce", parts.arguments)}'
    script = _blocks([*models, *map(in_double_quotes, (*parts.own, ending))])
    given = _from_support(script, _bound(ast.parse(support)))
    head = ["import os\nimport sys", _GUARD, given]
    files = {
        SCRIPT: _file(f"{MARK}\n{_quoted(parts.docstring)}", imports | {"import os", "import sys"}, head, script),
        SUPPORT: _file(_quoted(parts.explanation), imports, [], support),
    }
    return {name: text.encode() for name, text in files.items()}


def _file(top: str, imports: set[str], head: list[str], body: str) -> str:
    standard, others = used_imports(imports, body)
    if head:
        basics, guard, given = head
        standard = "\n".join(_sorted([*{*standard.splitlines(), *basics.splitlines()}]))
        imported = [standard, guard, "\n".join(filter(None, (others, given)))]
    else:
        imported = [standard, others]
    return "\n\n".join([top, "from __future__ import annotations", *filter(None, imported)]) + f"\n\n\n{body}\n"


def _blocks(parts: Iterable[str]) -> str:
    return "\n\n\n".join(filter(None, parts))


def _call(function: str, arguments: tuple[str, ...]) -> str:
    """A call as an indented statement, on one line where it fits."""
    line = f"    {function}({', '.join(arguments)})"
    if len(line) <= _WIDTH:
        return line
    return "\n".join([f"    {function}(", *(f"        {each}," for each in arguments), "    )"])


def _from_support(script: str, known: set[str]) -> str:
    """The import of what a script uses of support."""
    tree = ast.parse(script)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names = sorted((used & known) - _bound(tree))
    line = f"from {SUPPORT.removesuffix('.py')} import {', '.join(names)}"
    if len(line) <= _WIDTH:
        return line
    wrapped = textwrap.fill(
        f"{', '.join(names)},", _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 4, break_long_words=False
    )
    return f"{line.partition(' import ')[0]} import (\n{wrapped}\n)"


def _bound(tree: ast.Module) -> set[str]:
    """The names that are bound at the top level."""
    bound: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            bound |= {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    return bound


def _quoted(text: str) -> str:
    safe = without_paths(text).replace("\\", "\\\\").replace('"""', "'''")
    return f'"""{safe}\n"""'


def in_double_quotes(text: str) -> str:
    """Code with its strings quoted as people do, where that needs no escape."""
    lines = text.splitlines(keepends=True)
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(text).readline))):
        simple = token.type == tokenize.STRING and re.fullmatch(r"'[^'\"\\\n]*'", token.string)
        if simple:
            (row, start), (_, end) = token.start, token.end
            line = lines[row - 1]
            lines[row - 1] = f'{line[:start]}"{token.string[1:-1]}"{line[end:]}'
    return "".join(lines)


def hanging(name: str, text: str, most: int = 0) -> Iterator[str]:
    """A name with a text that hangs beside it; at most so many lines, if that is not 0."""
    lines = textwrap.wrap(text, _WIDTH, initial_indent=f"{name:<10}", subsequent_indent=" " * 10)
    if most and len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1][: _WIDTH - 4]} ..."]
    yield from lines


def used_imports(imports: set[str], body: str) -> tuple[str, str]:
    """The imports whose names the body uses, sorted as people do: of the standard library, and others."""
    used = {node.id for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)}
    kept = [statement for statement in imports if _bound_by(statement) in used]
    standard = [each for each in kept if "torch" not in each]
    others = [each for each in kept if "torch" in each]
    return "\n".join(_sorted(standard)), "\n".join(_sorted(others))


@functools.cache
def _bound_by(statement: str) -> str:
    """The name that an import binds, which imports a single one: a second would be there or not as the first is."""
    (node,) = ast.parse(statement).body
    assert isinstance(node, ast.Import | ast.ImportFrom)
    (alias,) = node.names
    return alias.asname or alias.name.partition(".")[0]


def _sorted(statements: list[str]) -> list[str]:
    return sorted(statements, key=lambda each: (each.startswith("from"), each))
