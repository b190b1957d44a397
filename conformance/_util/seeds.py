"""Seeds, as a run, a pack, a golden set and a self-test are given them."""

from __future__ import annotations

_BITS = 32


def seed_of(text: str) -> int:
    """The seed that a text asks for. Raises ValueError, which says what is taken, for any other text.

    No more than 32 bits, which every device and every reader of a report takes; what generators are given is mixed from
    it in any case.
    """
    most = 2 ** (_BITS - 1)
    try:
        seed = int(text)
    except ValueError:
        raise ValueError(f"a whole number is taken, found {text!r:.80}") from None
    if not -most <= seed < most:
        raise ValueError(f"a whole number from {-most} to {most - 1} is taken, found {text:.80}")
    return seed
