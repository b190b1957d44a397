"""The states of availability that a host and a target can be in (pytorch/pytorch#53068)."""

from __future__ import annotations

import enum

#: Stands between the things that a step of a behaviour table may come to, where it may come to several.
EITHER = " or "
#: Among these things: that it is not come to, since a step before it may fail.
NOTHING = "nothing"


class Availability(enum.Enum):
    """Whether the backend can compile and whether it can execute, in that order.

    The value is how reports write it. ``attribute`` names the attribute of the author's class that says how to
    reach the state.
    """

    NONE = "no/no"
    EXECUTE_ONLY = "no/yes"
    COMPILE_ONLY = "yes/no"
    FULL = "yes/yes"

    @property
    def attribute(self) -> str:
        return _ATTRIBUTES[self]

    @property
    def prose(self) -> str:
        compile_word, execute_word = self.value.split("/")
        return f"compile {compile_word}, execute {execute_word}"


_ATTRIBUTES = {
    Availability.NONE: "unavailable",
    Availability.EXECUTE_ONLY: "execute_only",
    Availability.COMPILE_ONLY: "compile_only",
    Availability.FULL: "available",
}


def is_as_expected(expected: str | None, observed: str | None) -> bool:
    """Whether a step of a behaviour table came to what it should, or to one of several that it may come to."""
    if expected is None:
        return observed is None
    return (NOTHING if observed is None else observed) in expected.split(EITHER)
