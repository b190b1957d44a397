"""What programs, inputs and steps are drawn with: hypothesis, by a few words; and the sizes and dtypes to draw from."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

#: Sizes of dimensions, the plainest first, which is where shrinking leads. Those below are drawn more often.
SIZES = (2, 3, 1, 4, 5, 0, 7, 8, 9, 16, 17, 31, 33)
#: Sizes beyond a vector's, a tile's and a block's width, of tensors that have no other large dimension.
LARGE_SIZES = (64, 65, 127, 257, 1024, 1025)
#: A size of a tensor of one dimension that is shared out between threads.
HUGE_SIZE = 40003

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")


#: Larger numbers are drawn in parts. In place of some integers hypothesis takes ones that it finds in the modules of a
#: project, from 100 up, and what a seed gives would depend on what is imported.
_MOST_AT_ONCE = 99


class Draw:
    """Choices, each of which hypothesis can make again otherwise. The plainest stands first."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self._draw = draw

    def of(self, *options: T) -> T:
        """One of these."""
        return self.choice(options)

    def choice(self, options: Sequence[T]) -> T:
        """One of a sequence."""
        if len(options) == 1:
            return options[0]
        return options[self.upto(len(options) - 1)]

    def upto(self, most: int) -> int:
        """A whole number from 0."""
        if most > _MOST_AT_ONCE:
            value = 64 * self.upto(most // 64) + self.upto(63)
            return value if value <= most else value % (most + 1)
        drawn: int = self._draw(_integers(most))
        return drawn

    def seed(self) -> int:
        """A number to make tensors from."""
        return self.upto(2**16)

    def chance(self, one_in: int) -> bool:
        """True once in so many times; False is the plainer."""
        return self.upto(one_in - 1) == one_in - 1

    def size(self) -> int:
        """The size of a dimension."""
        return self.choice(SIZES)


@functools.cache
def _integers(most: int) -> st.SearchStrategy[int]:
    return st.sampled_from(range(most + 1))
