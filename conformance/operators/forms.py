"""The ways in which an operator can be written: as a function, a method, in place, by a sign, under another name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: What is written to a tensor that was made for it.
IN_PLACE = "in place"


def forms_of(entry: Any) -> list[tuple[str, Callable[..., Any]]]:
    """The ways to write an operator beside its function: what the axis "form" calls it, and a function of the
    operator's arguments. ``entry`` is the OpInfo; what is in place is done to a copy of the first argument."""
    found: list[tuple[str, Callable[..., Any]]] = []
    if method := _name(entry, "method_variant"):
        found.append(("method", lambda first, *others, **named: getattr(first, method)(*others, **named)))
    if in_place := _name(entry, "inplace_variant"):
        found.append((IN_PLACE, lambda first, *others, **named: getattr(first.clone(), in_place)(*others, **named)))
    if sign := getattr(entry, "operator_variant", None):
        found.append(("sign", sign))
    found.extend(("alias", alias.op) for alias in getattr(entry, "aliases", ()) if alias.op is not None)
    return found


def _name(entry: Any, variant: str) -> str:
    """The name of a method; none where there is no such method, or PyTorch's tests wrap it."""
    name: str = getattr(getattr(entry, variant, None), "__name__", "")
    return "" if name == "<lambda>" else name
