"""What the samples of an operator came to, and the rows and counts of the table. Imports no torch."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conformance.api.errors import DeviceEnded
from conformance.operators import DTYPES


class Outcome(enum.Enum):
    """What a sample came to, the gravest first. That of an operator in a dtype is the gravest of its samples."""

    CRASHED = "crashed"
    TIMEOUT = "timeout"
    WRONG = "wrong"
    #: It raised at a run, or at lowering without naming an operator.
    FAILED = "failed"
    #: Lowering raised an error that names an operator, or the run did for a dtype that is declared missing.
    REFUSED = "refused"
    RIGHT = "right"
    #: PyTorch itself cannot do it: the message says what.
    NOT_APPLICABLE = "not_applicable"


@dataclasses.dataclass(frozen=True)
class Errors:
    """How far values were from the expected ones, at the worst place. None: nothing was compared.

    ``max_abs``, and ``max_rel`` where the expected value is not zero; ``ulp`` in units in the last place of the
    expected value (floating point and complex only); ``sqnr_db`` the ratio of signal to error in decibels, infinite
    where there is no error.
    """

    max_abs: float | None = None
    max_rel: float | None = None
    ulp: float | None = None
    sqnr_db: float | None = None

    @classmethod
    def worst(cls, several: Iterable[Errors]) -> Errors:
        """The worst of each: the largest errors, the smallest ratio."""
        rows = list(several)

        def values(name: str) -> list[float]:
            return [value for row in rows if (value := getattr(row, name)) is not None]

        return cls(
            max(values("max_abs"), default=None),
            max(values("max_rel"), default=None),
            max(values("ulp"), default=None),
            min(values("sqnr_db"), default=None),
        )


@dataclasses.dataclass(frozen=True)
class Tried:
    """One sample, tried. ``message`` says what is to be said of it, also where it is right."""

    outcome: Outcome
    message: str = ""
    errors: Errors = Errors()
    #: Of the operators that eager PyTorch executes for the sample's operator, the share that it does not execute with
    #: the backend; None where it executes none that compute.
    delegated: float | None = None
    #: Where it is not right: what is not, in a word, the phase, and how the process ended, if it did.
    observable: str = ""
    phase: str = ""
    ended: DeviceEnded | None = None
    #: Whether it is right in a fresh process alone, and was not in one that had been asked others.
    is_right_alone: bool = False


def row_of(operator: str, dtype: str, tried: Sequence[Tried]) -> dict[str, Any]:
    """The row of an operator in a dtype. Numbers that JSON has no form for, infinities, are null."""
    counts = Counter(each.outcome for each in tried)
    outcome = next(each for each in Outcome if counts[each])
    errors = Errors.worst(each.errors for each in tried)
    shares = [each.delegated for each in tried if each.delegated is not None]
    messages = [each.message for each in tried if each.outcome is outcome and each.message]
    return {
        "operator": operator,
        "dtype": dtype,
        "outcome": outcome.value,
        "samples": len(tried),
        "counts": {each.value: counts[each] for each in Outcome if counts[each]},
        **{name: _published(value) for name, value in dataclasses.asdict(errors).items()},
        **({"delegated": round(sum(shares) / len(shares), 3)} if shares else {}),
        "message": messages[0] if messages else next((each.message for each in tried if each.message), ""),
    }


def _published(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.6g}")


def _place(dtype: str) -> int:
    return DTYPES.index(dtype) if dtype in DTYPES else len(DTYPES)


def table_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The report's ``operators``: how many operators in a dtype came to each outcome, the samples, and the rows."""
    ordered = sorted(rows, key=lambda row: (row["operator"], _place(row["dtype"])))
    counts = Counter(row["outcome"] for row in ordered)
    return {
        "summary": {each.value: counts[each.value] for each in Outcome if counts[each.value]},
        "samples": sum(row["samples"] for row in ordered),
        "rows": ordered,
    }
