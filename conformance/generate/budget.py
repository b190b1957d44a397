"""How much generated cells may try: ``--conformance-generated=N|30s|5m|2h|0``, and what of it a single cell has."""

from __future__ import annotations

import dataclasses
import re

from conformance._util.times import seconds_of
from conformance.generate import LEAST_PROGRAMS, LEAST_SCENARIOS, PROGRAMS_OF_A_SCENARIO

#: Where a backend refuses nearly everything, a cell draws this many times as many as it is to try, and then ends.
_DRAWN_FOR_EACH = 20
#: More than anybody waits for, and no more than a report's whole numbers hold.
_MOST_PROGRAMS = 10**9 - 1
_LEAST_SECONDS, _MOST_SECONDS = 0.01, 10**7


@dataclasses.dataclass(frozen=True, slots=True)
class Share:
    """What one cell tries: until it has tried ``most``, or until ``seconds`` are over and it has tried ``least``.

    ``most`` is None where only the time ends it, ``seconds`` where only the number does. What was drawn and not tried,
    since the backend refuses it or it judges nobody, counts for a twentieth: a search ends.
    """

    least: int
    most: int | None
    seconds: float | None

    def is_tried(self, tried: int) -> bool:
        """Whether so many are what the cell is to try, at least."""
        return tried >= (self.least if self.most is None else self.most)

    def is_used_up(self, tried: int, drawn: int, seconds: float) -> bool:
        """Whether a cell that has tried so many of those that were drawn, in so many seconds, is done."""
        enough = max(tried, drawn // _DRAWN_FOR_EACH)
        if self.most is not None and enough >= self.most:
            return True
        return self.seconds is not None and seconds >= self.seconds and enough >= self.least


@dataclasses.dataclass(frozen=True, slots=True)
class Budget:
    """What the generated cells of a backend may try: so many ``programs`` in each, or ``seconds`` for all of them.

    One of the two is None. No programs: the cells are not tried.
    """

    programs: int | None
    seconds: float | None = None

    @classmethod
    def parse(cls, text: str) -> Budget:
        """The budget that a text asks for. Raises ValueError, which says what is taken, for any other text."""
        taken = "a number of programs such as 100, a time such as 30s, 5m or 2h, or 0 is taken"
        number = text.strip()
        if re.fullmatch(r"\d+", number, re.ASCII):
            if len(number) > len(str(_MOST_PROGRAMS)) or int(number) > _MOST_PROGRAMS:
                raise ValueError(f"{taken}, up to {_MOST_PROGRAMS} programs, found {text!r:.80}")
            return cls(int(number))
        seconds = seconds_of(text)
        if seconds is None:
            raise ValueError(f"{taken}, found {text!r:.80}")
        if not _LEAST_SECONDS <= seconds <= _MOST_SECONDS:
            raise ValueError(f"{taken}, a time from {_LEAST_SECONDS}s to {_MOST_SECONDS}s, found {text!r:.80}")
        return cls(None, seconds)

    def __str__(self) -> str:
        """A text that parses as this budget; budgets that are equal have one text."""
        return str(self.programs) if self.seconds is None else f"{self.seconds:.15g}s"

    @property
    def is_nothing(self) -> bool:
        """Whether generated cells are turned off."""
        return self.programs == 0

    @property
    def shows_a_level(self) -> bool:
        """Whether a cell tries so many that a level may rest on them."""
        return self.programs is None or self.programs >= LEAST_PROGRAMS

    def for_programs(self, cells: int) -> Share:
        """The share of a cell of programs, where the backend has so many generated cells together.

        Raises ValueError for less than one cell.
        """
        return self._share(cells, self.programs, LEAST_PROGRAMS)

    def for_scenarios(self, cells: int) -> Share:
        """As :meth:`for_programs`, for a cell of scenarios."""
        number = self.programs and max(1, self.programs // PROGRAMS_OF_A_SCENARIO)
        return self._share(cells, number, LEAST_SCENARIOS)

    def _share(self, cells: int, number: int | None, least: int) -> Share:
        if cells < 1:
            raise ValueError(f"a budget is shared between one cell or more, found {cells}")
        if number is not None:
            return Share(number, number, None)
        assert self.seconds is not None, "a budget is a number or a time"
        return Share(least, None, self.seconds / cells)
