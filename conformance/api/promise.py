"""What a graded clause rests on: a promise that somebody has documented."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Promise:
    """Something that is documented, and may be held against a backend.

    ``source`` is where: an issue (``OWNER/REPOSITORY#NUMBER``), or the address of a page. ``says`` is what stands
    there, in a sentence of ours. Raises ValueError where one of them says nothing.
    """

    source: str
    says: str

    def __post_init__(self) -> None:
        if not self.source.strip() or not self.says.strip().endswith("."):
            raise ValueError(f"a promise has a source, and a sentence that says what stands there; found {self!r}")


def sources_of(promises: tuple[Promise, ...]) -> str:
    """Where the promises are found, each place once."""
    return ", ".join(dict.fromkeys(promise.source for promise in promises))
