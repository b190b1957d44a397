"""Reading a file of expectations; every fault is one sentence that names the place."""

from __future__ import annotations

import datetime
import difflib
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from conformance._util.files import read_bounded
from conformance.api.availability import Availability
from conformance.api.fingerprint import DIGITS
from conformance.api.verdicts import Verdict
from conformance.expectations._entry import SHORT_ISSUE, Expectation

#: Bytes that a file of expectations may have.
_LARGEST = 4 * 2**20
VERDICTS = (*(verdict.value for verdict in Verdict if verdict.is_breach), Verdict.FLAKY.value)
#: The beginning of an entry, as it stands in a file.
HEADER = re.compile(r"^[ \t]*\[\[[ \t]*(?:expect|\"expect\"|'expect')[ \t]*\]\]", re.MULTILINE)

_TEXT = {"type": "string", "minLength": 1, "description": "a text"}
_DATE = {"type": "date", "description": "a date without quotes, such as 2026-01-31"}
_STATE = {
    "enum": [state.value for state in Availability],
    "description": f"a state of availability: {', '.join(state.value for state in Availability)}",
}
#: JSON Schema with a type of TOML's and two formats of ours; ``description`` is what a complaint says was expected.
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "expect": {
            "type": "array",
            "description": "tables that begin with [[expect]]",
            "items": {
                "type": "object",
                "description": "a table",
                "properties": {
                    "clause": _TEXT | {"description": "the id of a clause, such as lowering.outputs"},
                    "verdict": {"enum": list(VERDICTS), "description": f"one of {', '.join(VERDICTS)}"},
                    "reason": _TEXT | {"pattern": r"\S", "description": "a sentence that says why"},
                    "case": {
                        "type": ["string", "array"],
                        "minLength": 1,
                        "minItems": 1,
                        "items": _TEXT | {"description": "the name of a case, or a pattern of names (*, ?)"},
                        "description": "the name of a case, a pattern of names (*, ?), or an array of them",
                    },
                    "runtime": _TEXT,
                    "host": _STATE,
                    "target": _STATE,
                    "phase": _TEXT | {"description": "a phase, such as lower, save, load or run"},
                    "fingerprint": {
                        "type": "string",
                        "pattern": f"^[0-9a-f]{{{DIGITS}}}$",
                        "description": f"{DIGITS} hexadecimal digits, as reports have them",
                    },
                    "issue": _TEXT | {"format": "issue", "description": "an https address, or owner/repository#number"},
                    "owner": _TEXT,
                    "since": _DATE,
                    "expires": _DATE,
                    "versions": {
                        "type": "object",
                        "description": 'a table of version specifiers, such as {torch = ">=2.13,<2.14"}',
                        "propertyNames": _TEXT | {"description": "the name of a distribution, 'backend' or 'python'"},
                        "additionalProperties": {
                            "type": "string",
                            "format": "specifiers",
                            "description": "a version specifier (PEP 440), such as '>=2.13,<2.14'",
                        },
                    },
                },
                "required": ["clause", "verdict", "reason"],
                "additionalProperties": False,
            },
        }
    },
    "additionalProperties": False,
}
_FORMATS = jsonschema.FormatChecker(formats=())


class ExpectationsError(Exception):
    """Expectations, or what is asked to be done with them, make no sense; the text says where and why."""


@_FORMATS.checks("specifiers", raises=InvalidSpecifier)
def _is_specifier(value: object) -> bool:
    return not isinstance(value, str) or len(SpecifierSet(value)) > 0


@_FORMATS.checks("issue")
def _is_issue(value: object) -> bool:
    if not isinstance(value, str) or SHORT_ISSUE.fullmatch(value):
        return True
    try:
        address = urlsplit(value)
    except ValueError:
        return False
    return address.scheme == "https" and bool(address.netloc) and not re.search(r"\s", value)


def _is_date(_: object, value: object) -> bool:
    return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)


_TYPES = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine("date", _is_date)
_Validator: Any = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
    jsonschema.Draft202012Validator, type_checker=_TYPES
)


def read_text(path: Path) -> str:
    """The text of a file, with the line endings that it has. Raises ExpectationsError."""
    try:
        return read_bounded(path, _LARGEST).decode("utf-8")
    except OSError as error:
        raise ExpectationsError(f"the expectations {path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ExpectationsError(f"the expectations {path} are not TOML: {error}") from error


def read_entries(text: str, name: str) -> tuple[Expectation, ...]:
    """The entries in the text of a file called ``name``. Raises ExpectationsError with the first fault."""
    try:
        document = tomllib.loads(text)
    except RecursionError as error:
        raise ExpectationsError(f"the expectations {name} are not what is wanted: nested too deep") from error
    except ValueError as error:
        raise ExpectationsError(f"the expectations {name} are not TOML: {error}") from error
    fault = next(iter(_Validator(_SCHEMA, format_checker=_FORMATS).iter_errors(document)), None)
    if fault is not None:
        raise ExpectationsError(f"the expectations {name} are wrong at {_place(fault, text)}: {_complaint(fault)}")
    entries = tuple(Expectation(**entry, number=n) for n, entry in enumerate(document.get("expect", ()), start=1))
    for entry in entries:
        complaint = _contradiction(entry)
        if complaint:
            raise ExpectationsError(
                f"the expectations {name} are wrong at {_entry_place(entry.number, text)}: {complaint}"
            )
    return entries


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`` (did you mean ...?)`` with the nearest of the known words; nothing when none is near."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _contradiction(entry: Expectation) -> str:
    if entry.since and entry.expires and entry.expires < entry.since:
        return f"it expires on {entry.expires}, before it began on {entry.since}"
    if entry.verdict == Verdict.FLAKY.value and entry.expires is None:
        return "a FLAKY entry needs 'expires', a date: that its cells pass does not disprove it, so only time can"
    return ""


def _place(fault: jsonschema.ValidationError, text: str) -> str:
    match list(fault.absolute_path):
        case ["expect", int(index), *fields]:
            return ", ".join([_entry_place(index + 1, text), *(repr(field) for field in fields)])
        case [*fields] if fields:
            return ", ".join(repr(field) for field in fields)
        case _:
            return "the top level"


def _entry_place(number: int, text: str) -> str:
    """``entry 3 (line 20)``: the line where its header stands, if each entry has one."""
    headers = list(HEADER.finditer(text))
    line = f" (line {text.count(chr(10), 0, headers[number - 1].start()) + 1})" if number <= len(headers) else ""
    return f"entry {number}{line}"


def _complaint(fault: jsonschema.ValidationError) -> str:
    schema: Any = fault.schema
    instance: Any = fault.instance
    required: Any = fault.validator_value
    if fault.validator == "additionalProperties" and isinstance(fault.validator_value, bool):
        known = schema["properties"]
        unknown = next(name for name in instance if name not in known)
        return f"there is no field {unknown!r}{did_you_mean(unknown, known)}; known are {', '.join(known)}"
    if fault.validator == "required":
        missing = next(name for name in required if name not in instance)
        return f"it has no {missing!r}, which must be {schema['properties'][missing]['description']}"
    return f"expected {schema['description']}, found {_found(instance)}"


def _found(value: object) -> str:
    text = value.isoformat() if isinstance(value, datetime.date | datetime.time) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
