"""How wrong the results of a trial may be, however stable it is."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.compare.comparison import DEFAULT_TOLERANCES
from conformance.generate.steps import Trial

#: Of each dtype the relative and the absolute error that every computation in it may have.
_FLOORS: Mapping[str, tuple[float, float]] = {
    **DEFAULT_TOLERANCES,
    "float64": (1e-10, 1e-12),
    "complex128": (1e-10, 1e-12),
    "float32": (4e-6, 1e-6),
    "complex64": (4e-6, 1e-6),
    "float16": (4e-3, 1e-3),
}
#: In autocast, and where a program has 16-bit numbers between others, everything has their precision.
_COARSE = {"bfloat16": 3e-2, "float16": 6e-3}


def coarseness(trial: Trial, number: int | None = None) -> float:
    """The relative error of what a step computes in 16 bits, or any step where none is named; 0 where none does."""
    return _COARSE.get(trial.coarsest(number), 0.0)


def tolerances_of(
    trial: Trial, declared: Mapping[str, tuple[float, float]], number: int | None = None
) -> dict[str, tuple[float, float]]:
    """Of each dtype the relative and absolute error that a result of a step may have, or of any step where none is
    named, however stable it is."""
    coarse = coarseness(trial, number)
    return {
        name: (max(rtol, coarse, declared.get(name, (0, 0))[0]), max(atol, coarse / 10, declared.get(name, (0, 0))[1]))
        for name, (rtol, atol) in _FLOORS.items()
    }
