"""One call in several spellings that mean the same, and that a compiler which looks for one of them may tell apart."""

from __future__ import annotations

import re
from collections.abc import Callable

#: What takes a dimension, or several, behind what it is computed of.
_ALONG = "amax|amin|argmax|argmin|cumprod|cumsum|log_softmax|logsumexp|mean|prod|softmax|softmin|sum"
#: What is found, and what may stand in its place.
_SPELLINGS = (
    # a size, for which TorchScript has two operators
    (re.compile(r"\.shape\[(-?\d+)\]"), r".size(\1)"),
    # a dimension by its name, or by its place
    (re.compile(rf"\b((?:torch|F)\.(?:{_ALONG})\(\w+), dim="), r"\1, "),
    (re.compile(rf"(?<!\btorch)(?<!\bF)\.({_ALONG})\(dim="), r".\1("),
)


def spelt(text: str, chance: Callable[[int], bool]) -> str:
    """A statement in one of its spellings; ``chance(n)`` is true once in n times."""
    for pattern, other in _SPELLINGS:
        if pattern.search(text) and chance(2):
            text = pattern.sub(other, text)
    return text
