"""The types of verbs' answers that have several named parts, and of what is encoded in some."""

from __future__ import annotations

from typing import Any, TypedDict

from conformance.compare.values import decode
from conformance.toolchains.declarations import expected


def bundled(data: bytes) -> list[tuple[Any, ...]]:
    """Inputs that are bundled for a method, as they were encoded. Raises GarbledValue for anything else."""
    found: list[tuple[Any, ...]] = expected(list[tuple[Any, ...]], decode(data))
    return found


class LiteOperators(TypedDict):
    """What an artifact for the lite interpreter needs, and what of that the process does not have."""

    operators: list[str]
    bytecode_version: int
    unknown: list[str]


class Watched(TypedDict):
    """What calls did to the memory of inputs, by their positions, and of outputs."""

    mutated_inputs: list[int]
    aliased_inputs: list[int]
    shared_outputs: bool
    changed_result: bool


class Signature(TypedDict):
    """A method's arguments with their types, those that have defaults, and the types of what it returns."""

    arguments: list[tuple[str, str]]
    defaults: list[str]
    returns: list[str]


class Graph(TypedDict):
    """The operators of a method, the source lines of each, and the custom methods that it calls."""

    operators: list[str]
    lines: dict[str, list[str]]
    calls: list[str]


class Identity(TypedDict):
    """A process: its id, and the folders that it works with."""

    pid: int
    folders: list[str]


class Claims(TypedDict):
    """What ``is_available()`` answered, and how long the third slowest answer took (0: fewer)."""

    answers: list[bool]
    slow_seconds: float


#: Everything about a process that a backend must leave as it is.
ProcessState = TypedDict("ProcessState", {"open descriptors": Any})
