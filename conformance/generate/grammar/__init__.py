"""The grammar of programs: a rule for each kind of statement, in families. It guesses nothing about validity.

Importing this registers every rule.
"""

from __future__ import annotations

from conformance.generate.grammar import (
    algebra,
    dtypes,
    elementwise,
    flow,
    idioms,
    indexing,
    kinks,
    losses,
    matrices,
    networks,
    patterns,
    reductions,
    sequences,
    shapes,
    submodules,
    writes,
)
from conformance.generate.grammar.builder import Abandoned, Builder
from conformance.generate.grammar.rules import RULES, Rule

__all__ = ["RULES", "Abandoned", "Builder", "Rule"]

_ = (
    algebra, dtypes, elementwise, flow, idioms, indexing, kinks, losses, matrices, networks, patterns, reductions,
    sequences, shapes, submodules, writes,
)  # fmt: skip
