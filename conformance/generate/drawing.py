"""What programs, inputs and steps are drawn with: hypothesis, by a few words; and the sizes and dtypes to draw from.

Trials are drawn independently of each other, by a backend of hypothesis that does no more than that. Its own makes four
trials of five from one before them, by putting a part of that in another place, keeps the first of a round small, and
takes numbers that it finds in a project's modules in place of some: which finds the bugs of a parser, and costs most of
the variety of programs. What fails is made smaller by hypothesis as ever.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NoReturn, TypeVar

from hypothesis import strategies as st
from hypothesis.internal.conjecture.data import ConjectureData
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, PrimitiveProvider

T = TypeVar("T")

#: Sizes of dimensions, the plainest first, which is where shrinking leads. Those below are drawn more often.
SIZES = (2, 3, 1, 4, 5, 0, 7, 8, 9, 16, 17, 31, 33)
#: Sizes beyond a vector's, a tile's and a block's width, of tensors that have no other large dimension.
LARGE_SIZES = (64, 65, 127, 257, 1024, 1025)
#: A size of a tensor of one dimension that is shared out between threads.
HUGE_SIZE = 40003

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")

#: Under which name hypothesis knows our backend.
_BACKEND = "torch-conformance"


def independent_draws(seed: int) -> str:
    """The name of a backend of hypothesis, for ``settings(backend=...)``, whose draws depend on the seed alone.

    It is good for one function under test at a time: the next call gives the name to another seed.
    """

    class Independent(PrimitiveProvider):
        def __init__(self, _: object) -> None:
            super().__init__(None)
            self._random = Random(seed)

        def draw_integer(
            self,
            min_value: int | None = None,
            max_value: int | None = None,
            *,
            weights: dict[int, float] | None = None,
            shrink_towards: int = 0,
        ) -> int:
            assert min_value is not None, "integers are drawn by upto() alone"
            assert max_value is not None, "integers are drawn by upto() alone"
            return self._random.randint(min_value, max_value)

        def draw_boolean(self, p: float = 0.5) -> bool:
            return self._random.random() < p

        def _refuse(self, *_: object, **__: object) -> NoReturn:
            raise AssertionError("trials are drawn from whole numbers and booleans")

        draw_float = draw_string = draw_bytes = _refuse

    AVAILABLE_PROVIDERS[_BACKEND] = Independent
    return _BACKEND


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
        return self._draw(_upto(most)) if most else 0

    def seed(self) -> int:
        """A number to make tensors from."""
        return self.upto(2**16)

    def chance(self, one_in: int) -> bool:
        """True once in so many times; False is the plainer."""
        return self.upto(one_in - 1) == one_in - 1

    def size(self) -> int:
        """The size of a dimension."""
        return self.choice(SIZES)


class _UpTo(st.SearchStrategy[int]):
    """Whole numbers up to one, straight from hypothesis's choices: trials take a hundred and more of them."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def do_draw(self, data: ConjectureData) -> int:
        return data.draw_integer(0, self._most)


_upto = functools.cache(_UpTo)
