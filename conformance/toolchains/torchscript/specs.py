"""Compile specs with entries that no backend has heard of, to see that they arrive."""

from __future__ import annotations

from typing import Any


def with_foreign_entries(spec: dict[str, Any]) -> dict[str, Any]:
    """A method compile spec with entries that the author's does not have, different ones for each method.

    What the author has written stays: a dictionary gets one entry more, of the type of its values, since TorchScript
    takes no other. Only an empty value is replaced, by a dictionary with a value of every plain type.
    """
    return {method: _extended(value, 10 * index) for index, (method, value) in enumerate(spec.items())}


def _extended(value: Any, number: int) -> Any:
    if isinstance(value, dict) and value and all(isinstance(key, str) for key in value):
        return {**value, "conformance": _another(next(iter(value.values())), number)}
    if value in ("", None, {}):
        return {
            "conformance": ({"levels": [number + 3, number + 1, number + 2]}, number - 1 / 3, f"ünïcode {number}", True)
        }
    return value


def _another(value: Any, number: int) -> Any:
    """A value of the same TorchScript type, a different one for each ``number``."""
    if isinstance(value, bool):
        return number % 20 == 0
    if isinstance(value, int):
        return 2**40 + number
    if isinstance(value, float):
        return number - 1 / 3
    if isinstance(value, str):
        return f"ünïcode {number}"
    if isinstance(value, list) and value:
        return [_another(value[0], number + step) for step in (3, 1, 2)]
    if isinstance(value, tuple):
        return tuple(_another(item, number) for item in value)
    if isinstance(value, dict):
        return {key: _another(item, number) for key, item in value.items()}
    return value
