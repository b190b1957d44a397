"""What the model of a reproducer computes, in a line: the operators in which a failure may lie."""

from __future__ import annotations

import ast
from collections.abc import Iterator

#: What makes a module, and does not compute.
_MAKING = ("__init__",)


def model_text(script: str) -> str:
    """The statements of the methods of a reproducer's model, and of the functions that it calls, in their order.

    The model is the script's last class, and what it calls stands before it. Functions that take nothing do not
    compute. Empty where a script has none, or is no Python.
    """
    try:
        body = ast.parse(script).body
    except (SyntaxError, ValueError):
        return ""
    classes = [place for place, node in enumerate(body) if isinstance(node, ast.ClassDef)]
    model = body[: classes[-1] + 1] if classes else []
    statements = (each for node in model for method in _methods(node) for each in _statements(method))
    return "; ".join(" ".join(ast.unparse(each).split()) for each in statements)


def _methods(node: ast.stmt) -> Iterator[ast.FunctionDef]:
    if isinstance(node, ast.FunctionDef) and ast.unparse(node.args):
        yield node
    elif isinstance(node, ast.ClassDef):
        yield from (each for each in node.body if isinstance(each, ast.FunctionDef) and each.name not in _MAKING)


def _statements(method: ast.FunctionDef) -> list[ast.stmt]:
    return method.body[1:] if ast.get_docstring(method) is not None else method.body
