"""The states of availability that a host and a target can be in (pytorch/pytorch#53068)."""

from __future__ import annotations

import enum


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
