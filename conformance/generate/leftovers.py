"""What a trial leaves otherwise for everybody in its process, and does not in plain PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.generate.observe import ABSENT, FUNCTIONS
from conformance.toolchains.assertions import is_variable_of_others
from conformance.toolchains.shared_state import NUMPYS_RANDOM_STATE, PYTHONS_RANDOM_STATE, RECURSION_LIMIT


def is_readable(name: str) -> bool:
    """Whether what something is can be read; of the others there is a number, which is another one in each process."""
    return name not in (PYTHONS_RANDOM_STATE, NUMPYS_RANDOM_STATE) and not name.startswith(FUNCTIONS)


def left_by(state: Mapping[str, Sequence[str]], eager: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, str]]:
    """What each thing was before a trial and is after it, where it changed for the backend alone.

    A variable of the environment that is new, and nobody's but its maker's, as Inductor's beneath a backend that
    compiles with it, is left out: the clauses about what surrounds a call report it, and judge nobody by it. So is
    deeper recursion, which Inductor allows itself at its first compilation, and which changes nobody's results.
    """
    return {
        name: (was, now)
        for name, (was, now) in state.items()
        if name not in eager
        and (was != ABSENT or is_variable_of_others(name))
        and not (name == RECURSION_LIMIT and int(now) > int(was))
    }
