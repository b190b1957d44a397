"""What the model of a reproducer computes, in a line: the operators in which a failure may lie."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

#: What makes a module, and does not compute.
_MAKING = ("__init__",)


def model_text(script: str) -> str:
    """The statements of the methods of a reproducer's model, and of the functions that it calls, in their order.

    The model is the last class before the first function that takes nothing, which is a process of the scenario: what
    follows it is the clause's. Empty where a script has none, or is no Python.
    """
    try:
        body = ast.parse(script).body
    except (SyntaxError, ValueError):
        return ""
    defined = list(itertools.takewhile(lambda node: not _is_process(node), body))
    classes = [place for place, node in enumerate(defined) if isinstance(node, ast.ClassDef)]
    model = defined[: classes[-1] + 1] if classes else []
    statements = (each for node in model for method in _methods(node) for each in _statements(method))
    return "; ".join(" ".join(ast.unparse(each).split()) for each in statements)


def _is_process(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and ast.unparse(node.args) == ""


def _methods(node: ast.stmt) -> Iterator[ast.FunctionDef]:
    if isinstance(node, ast.FunctionDef):
        yield node
    elif isinstance(node, ast.ClassDef):
        yield from (each for each in node.body if isinstance(each, ast.FunctionDef) and each.name not in _MAKING)


def _statements(method: ast.FunctionDef) -> list[ast.stmt]:
    return method.body[1:] if ast.get_docstring(method) is not None else method.body
