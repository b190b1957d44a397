"""Lengths of time, as options are given them: 30s, 5m, 2h."""

from __future__ import annotations

import re

_SECONDS = {"h": 3600, "m": 60, "s": 1}


def seconds_of(text: str) -> float | None:
    """The seconds of a time such as 30s, 5m or 2h; None for any other text."""
    found = re.fullmatch(r"(\d{1,20}(?:\.\d{1,20})?)([smh])", text.strip(), re.ASCII)
    return None if found is None else float(found[1]) * _SECONDS[found[2]]


def time_text(seconds: float) -> str:
    """The text of which :func:`seconds_of` makes as many seconds, in the largest unit that leaves a whole number."""
    unit = next((unit for unit, each in _SECONDS.items() if seconds and not seconds % each), "s")
    return f"{seconds / _SECONDS[unit]:.15g}{unit}"
