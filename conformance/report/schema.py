"""The JSON Schema of a report, generated from the model. ``python -m conformance.report.schema`` writes schema.json.

What msgspec generates is said in fewer words: what stands in one place of a report stands there in the schema too, and
only what stands in several has a name of its own.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from conformance._util.files import write_atomically
from conformance.api.availability import Availability
from conformance.api.verdicts import Verdict
from conformance.contract import Level
from conformance.operators.table import Outcome
from conformance.report.model import FORMAT, Report, Sha256
from conformance.report.row_model import CellRow

SCHEMA_FILE = Path(__file__).with_name("schema.json")

#: What has a name in the schema, under ``$defs``.
_DEFINITIONS: Mapping[str, Any] = {
    "sha256": Sha256,
    "state": Annotated[Availability, Meta(description="whether the backend can compile and execute")],
    "verdict": Annotated[Verdict, Meta(description="what a cell came to")],
    "cell": Annotated[
        CellRow,
        Meta(description="one clause, tried on one model in one combination of states and runtime"),
    ],
    "operator_outcome": Annotated[
        Outcome, Meta(description="what an operator came to in a dtype, the gravest of its samples")
    ],
}
#: The types among them that have a name in what msgspec generates too, and the name that they have here.
_NAMES = {"Availability": "state", "Verdict": "verdict", "CellRow": "cell", "Outcome": "operator_outcome"}
#: msgspec sorts the values of an enum, whose order means something here.
_ENUMS: Mapping[str, type[enum.Enum]] = {each.__name__: each for each in (Availability, Level, Outcome, Verdict)}
#: What says all of a value that there is to say.
_DECIDING = ("const", "enum")


def generated_schema() -> dict[str, Any]:
    """The schema of the model, as JSON."""
    kinds = [Report, *_DEFINITIONS.values()]
    (report, *definitions), components = msgspec.json.schema_components(kinds, ref_template="{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:torch-conformance:report:1",
        "title": FORMAT,
        "description": "The compatibility report of one backend. Fields may be added within format 1; "
        "none changes its meaning.",
        **_spelled_out(report, components),
        "$defs": {
            name: _spelled_out(definition, components)
            for name, definition in zip(_DEFINITIONS, definitions, strict=True)
        },
    }


def write_schema(path: Path = SCHEMA_FILE) -> None:
    """Write the schema as it ships. Raises OSError where that fails."""
    write_atomically(path, json.dumps(generated_schema(), indent=2, ensure_ascii=False) + "\n")


def _spelled_out(node: dict[str, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    """What a schema of msgspec says, without its first ``$ref``: the component that it names, in its place."""
    said = {name: value for name, value in node.items() if name not in ("title", "$ref") and value != []}
    if reference := node.get("$ref"):
        component = components[reference]
        own = {name: value for name, value in component.items() if name not in ("title", "description") and value != []}
        if reference in _ENUMS:
            own["enum"] = [each.value for each in _ENUMS[reference]]
        said = {**own, **said}
    for name in _DECIDING:
        if name in said:
            return {key: said[key] for key in ("description", name) if key in said}
    if "anyOf" in said:
        said = _joined(said, [_shortened(each, components) for each in said["anyOf"]])
    if "properties" in said:
        fields = {name: _shortened(each, components) for name, each in said["properties"].items()}
        said = {"additionalProperties": True, **said, "properties": fields}
    for name in ("items", "additionalProperties"):
        if isinstance(said.get(name), dict):
            said[name] = _shortened(said[name], components)
    return {name: said[name] for name in sorted(said, key=_place)}


def _shortened(node: dict[str, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    """A schema of msgspec, where the report has a name for it by that name."""
    name: str = _NAMES.get(node.get("$ref", "")) or node.get("title", "")
    if name not in _DEFINITIONS or "enum" in node:
        return _spelled_out(node, components)
    same = node.get("description") == _DEFINITIONS[name].__metadata__[-1].description
    described = {} if same or "description" not in node else {"description": node["description"]}
    return {"$ref": f"#/$defs/{name}", **described}


def _joined(node: dict[str, Any], options: list[dict[str, Any]]) -> dict[str, Any]:
    """``anyOf`` as a list of types, where the options are that: an integer is a number, and null has no minimum."""
    if any(not isinstance(each.get("type"), str) or each["type"] in ("object", "array") for each in options):
        return {**node, "anyOf": options}
    kinds = dict.fromkeys(each["type"] for each in options)
    if "number" in kinds:
        kinds.pop("integer", None)
    limits = {name: value for each in options for name, value in each.items() if name != "type"}
    rest = {name: value for name, value in node.items() if name != "anyOf"}
    return {"type": list(kinds) if len(kinds) > 1 else next(iter(kinds)), **limits, **rest}


def _place(keyword: str) -> int:
    """What a schema says first: then the first fault that is found is the one that helps most."""
    return _ORDER.index(keyword)


_ORDER = (
    "type",
    "description",
    "pattern",
    "anyOf",
    "minimum",
    "maximum",
    "maxLength",
    "minItems",
    "maxItems",
    "items",
    "properties",
    "propertyNames",
    "required",
    "additionalProperties",
)


if __name__ == "__main__":
    write_schema()
