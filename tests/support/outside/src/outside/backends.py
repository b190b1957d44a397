"""A compiler that keeps the contract, and one that does not."""

from __future__ import annotations

import operator
from collections.abc import Callable

from outside.toolchain import PostfixBackend

_OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


class Postfix(PostfixBackend):
    """Interprets."""

    def compile(self, program: str) -> Callable[..., float]:
        """See the base class."""
        words = program.split()
        names = [word for word in words if word not in _OPERATORS]
        if len(words) != 2 * len(names) - 1:
            raise ValueError(
                f"{program!r} is no program: {len(names)} operands for {len(words) - len(names)} operators"
            )

        def function(*numbers: float) -> float:
            values, stack = iter(numbers), []
            for word in words:
                if word in _OPERATORS:
                    right, left = stack.pop(), stack.pop()
                    stack.append(self.apply(word, left, right))
                else:
                    stack.append(next(values))
            return stack.pop()

        return function

    def apply(self, word: str, left: float, right: float) -> float:
        """One operator."""
        result: float = _OPERATORS[word](left, right)
        return result


class SwapsOperands(Postfix):
    """Takes the operands the wrong way round."""

    def apply(self, word: str, left: float, right: float) -> float:
        """See the class."""
        return super().apply(word, right, left)
