"""Objects of a report as frozen structs: read from JSON, and written as it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

P = TypeVar("P", bound="Part")


class Part(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """An object of a report. A later version of the harness may add fields to it: they are kept, and written again."""


class ClosedPart(Part, frozen=True, kw_only=True, dict=True, forbid_unknown_fields=True):
    """An object of a report that has no other fields than these."""


def read_part(kind: type[P], document: Mapping[str, Any]) -> P:
    """An object of JSON as a part of a report.

    Raises msgspec.ValidationError for one that the schema refuses, and for an integer that is written as a
    floating-point number of more than 64 bits; UnicodeEncodeError for a field that is not known, and whose name has a
    lone surrogate. Nothing else that the schema accepts is refused.
    """
    # Not strict: to JSON Schema, 1.0 is an integer.
    part = msgspec.convert(document, kind, strict=False)
    _remember(part, document)
    return part


def replaced(part: P, **changes: Any) -> P:
    """The part with other values for some of its fields, and with the fields that are not known here."""
    new = msgspec.structs.replace(part, **changes)
    new.__dict__.update(part.__dict__)
    return new


def as_json(part: Part) -> dict[str, Any]:
    """A part in the types of JSON. What was read has its fields in the order of its document."""
    document: Mapping[str, Any] = part.__dict__.get("document", {})
    known = {name: each for name in part.__struct_fields__ if (each := getattr(part, name)) is not msgspec.UNSET}
    return {
        **{name: _plain(known[name]) if name in known else each for name, each in document.items()},
        **{name: _plain(each) for name, each in known.items() if name not in document},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Part):
        return as_json(value)
    if isinstance(value, Mapping):
        return {_plain(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.value if isinstance(value, enum.Enum) else value


def _remember(part: Part, document: Any) -> None:
    """Keep with every part what it was read from."""
    part.__dict__["document"] = document
    for name in part.__struct_fields__:
        if name not in document:
            continue
        value = getattr(part, name)
        if isinstance(value, Part):
            _remember(value, document[name])
        elif isinstance(value, list) and value and isinstance(value[0], Part):  # a list is of one kind
            for each, one in zip(value, document[name], strict=True):
                _remember(each, one)
