"""The states of availability that a host and a target can be in (pytorch/pytorch#53068)."""

from __future__ import annotations

import enum

#: Separates the outcomes that are allowed for one step of a behaviour table, as in "ok or nothing".
EITHER = " or "
#: The outcome of a step that is not reached, because a step before it failed.
NOTHING = "nothing"


class Availability(enum.Enum):
    """Whether the backend can compile and whether it can execute, in that order.

    The value is how reports write it.
    """

    NONE = "no/no"
    EXECUTE_ONLY = "no/yes"
    COMPILE_ONLY = "yes/no"
    FULL = "yes/yes"

    @property
    def attribute(self) -> str:
        """The attribute of :class:`conformance.Backend` that says how a process gets into this state."""
        return _ATTRIBUTES[self]

    @property
    def prose(self) -> str:
        """The state in words: "compile yes, execute no"."""
        compile_word, execute_word = self.value.split("/")
        return f"compile {compile_word}, execute {execute_word}"


_ATTRIBUTES = {
    Availability.NONE: "unavailable",
    Availability.EXECUTE_ONLY: "execute_only",
    Availability.COMPILE_ONLY: "compile_only",
    Availability.FULL: "available",
}


def is_as_expected(expected: str | None, observed: str | None) -> bool:
    """Whether a step of a behaviour table had the expected outcome, or one of those that :data:`EITHER` separates.

    None stands for a step that the row does not have.
    """
    if expected is None:
        return observed is None
    return (NOTHING if observed is None else observed) in expected.split(EITHER)
