"""What can be wrong about an expectation, and which of it fails a run."""

from __future__ import annotations

import enum

from conformance.expectations._file import ExpectationsError, did_you_mean


class Kind(enum.Enum):
    """What can be wrong about an expectation. The value is how the option and the ini setting call it."""

    #: It was recorded as a failure, and passed.
    PASSED = "passed"
    #: It failed with another verdict, in another phase, or with another fingerprint than recorded.
    CHANGED = "changed"
    #: No cell of the run is what the entry speaks of.
    UNMATCHED = "unmatched"
    #: The date until which the entry was to hold is over.
    EXPIRED = "expired"
    #: Its reason was written by the harness, and nobody has said yet why.
    UNEXPLAINED = "unexplained"


#: What fails a run unless the user says otherwise. An entry that nobody has explained yet is only told.
DEFAULT = frozenset({Kind.PASSED, Kind.CHANGED, Kind.UNMATCHED, Kind.EXPIRED})


def kinds_of(text: str) -> frozenset[Kind]:
    """The kinds that ``passed,expired`` names; ``all`` and ``none`` too. Raises ExpectationsError for other words."""
    match text.strip():
        case "all":
            return frozenset(Kind)
        case "none":
            return frozenset()
    known = {kind.value: kind for kind in Kind}
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in known:
            raise ExpectationsError(
                f"there is no kind of strictness {word!r}{did_you_mean(word, known)}: expected "
                f"{', '.join(known)} (joined by commas), 'all' or 'none'"
            )
    return frozenset(known[word] for word in words)
