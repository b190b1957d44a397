"""The page of the report's schema: every field, with its type and what it says."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from conformance.report import report_schema
from reference.words import code, prose, table

#: Lists of more values than this are told once, under the definition's name.
_VALUES_SHOWN = 6


def page() -> str:
    """The fields of a report, one section for each at the top."""
    schema = report_schema()
    parts = [
        f"# The report\n\n`report.json`, of format {code(schema['title'])}. {schema['description']}\n",
        "The [JSON Schema](https://json-schema.org/draft/2020-12) ships as `conformance/report/schema.json`; "
        "`conformance.report.read_report` validates against it. A star marks a field that every report has.\n",
    ]
    required = schema["required"]
    for name, field in schema["properties"].items():
        parts.append(f"## {name}\n\n{_type(field)}{_star(name, required)}. {prose(_description(field))}\n")
        if rows := list(_rows(field, "")):
            parts.append(table(("field", "type", "what it says"), rows))
    parts.append("## Definitions\n")
    for name, field in schema["$defs"].items():
        parts.append(f"({_anchor(name)})=\n### {name}\n\n{_type(field)}. {prose(_description(field))}\n")
        if rows := list(_rows(field, "")):
            parts.append(table(("field", "type", "what it says"), rows))
        elif "enum" in field:
            parts.append(" · ".join(code(str(value)) for value in field["enum"]) + "\n")
    return "\n".join(parts)


def undescribed(schema: dict[str, Any], place: str = "") -> Iterator[str]:
    """The places of the schema that say nothing of what they are."""
    for name, field in {**schema.get("properties", {}), **schema.get("$defs", {})}.items():
        where = f"{place}.{name}".lstrip(".")
        if not _described(field):
            yield where
        yield from undescribed(field, where)
        yield from undescribed(field.get("items", {}), f"{where}[]")
        for option in field.get("anyOf", ()):
            yield from undescribed(option, where)


def _described(field: dict[str, Any]) -> bool:
    return bool(field.get("description")) or "$ref" in field or "const" in field


def _rows(field: dict[str, Any], place: str) -> Iterator[tuple[str, str, str]]:
    """A row for each field below one, with its path."""
    required = field.get("required", ())
    for name, inner in field.get("properties", {}).items():
        path = f"{place}{name}"
        yield code(path) + _star(name, required), _type(inner), prose(_description(inner))
        yield from _rows(inner, f"{path}.")
    if isinstance(items := field.get("items"), dict):
        yield from _rows(items, f"{place.rstrip('.')}[].".lstrip("."))
    if isinstance(values := field.get("additionalProperties"), dict):
        yield from _rows(values, f"{place}NAME.")
    for option in field.get("anyOf", ()):
        yield from _rows(option, place)


def _star(name: str, required: Collection[str]) -> str:
    return " \\*" if name in required else ""


def _description(field: dict[str, Any]) -> str:
    text: str = field.get("description", "")
    return text[:1].upper() + text[1:] + ("." if text and not text.endswith(".") else "")


def _type(field: dict[str, Any]) -> str:
    if reference := field.get("$ref"):
        name = reference.rpartition("/")[2]
        return f"[{name}](#{_anchor(name)})"
    if "anyOf" in field:
        return " or ".join(_type(option) for option in field["anyOf"])
    if "const" in field:
        return code(field["const"])
    if "enum" in field:
        values = field["enum"]
        few = len(values) <= _VALUES_SHOWN
        return " or ".join(code("null" if each is None else each) for each in values) if few else "string, one of these"
    kind = field.get("type", "any value")
    if kind == "array":
        return f"list of {_type(field['items'])}" if "items" in field else "list"
    if kind == "object" and isinstance(values := field.get("additionalProperties"), dict):
        return f"object: name → {_type(values)}"
    return str(kind) + (f", {field['minimum']} or more" if "minimum" in field else "")


def _anchor(name: str) -> str:
    return f"report-{name}"
