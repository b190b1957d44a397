"""The table of rules: a rule appends a statement or two to a program, and belongs to a family of operators."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from conformance.generate.grammar.builder import Builder

RuleFunction = Callable[[Builder], None]


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """One kind of statement. ``needs`` are names of features without which it is not drawn, ``traits`` those that a
    toolchain's models must have (see :class:`conformance.toolchains.ProgramTraits`); ``weight`` says how often it is
    drawn beside others, ``operators`` between about how many operators it chooses."""

    function: RuleFunction
    family: str
    needs: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()
    weight: int = 1
    operators: int = 1


RULES: list[Rule] = []


def rule(
    family: str, *needs: str, traits: tuple[str, ...] = (), weight: int = 1, operators: int = 0
) -> Callable[[RuleFunction], RuleFunction]:
    """Add the decorated function to the table. Where ``operators`` is left out it is the ``weight``."""

    def register(function: RuleFunction) -> RuleFunction:
        RULES.append(Rule(function, family, needs, traits, weight, operators or weight))
        return function

    return register
