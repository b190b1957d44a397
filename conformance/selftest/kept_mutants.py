"""Mutants that were tried in an earlier sitting: a thousand of them take hours, which need not be the same ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from conformance._util.files import read_bounded
from conformance.contract.score import identity

FORMAT = "torch-conformance-mutants/1"
#: A thousand mutants take some two million bytes.
_MOST_BYTES = 1 << 28


class KeptError(Exception):
    """A file that is there, and cannot be gone on with. The text says why, and what to do."""


class _Row(msgspec.Struct):
    """What a row must have for a run to go on with it."""

    toolchain: str
    number: int
    spec: dict[str, Any]
    sentence: str
    active: bool
    kill: dict[str, Any] | None
    written: dict[str, Any] | None
    errors: list[str]
    fired: int
    fired_in_trial: int
    differences: list[str]
    witness: str


class _Document(msgspec.Struct):
    format: str
    seed: int
    programs: int
    seconds: float
    harness: str
    contract: str
    torch: str
    platform: str
    mutants: list[_Row]


def kept(path: Path, seed: int, programs: int) -> dict[str, Any]:
    """The document of an earlier run with this seed and as many programs; one without rows where there is none.

    Raises KeptError for anything else than such a document: of another seed, of another contract, or damaged.
    """
    wanted = {**identity(), "seed": seed, "programs": programs, "format": FORMAT}
    try:
        content = read_bounded(path, _MOST_BYTES)
    except FileNotFoundError:
        return {"seconds": 0.0, "mutants": []}
    except OSError as error:
        raise KeptError(f"{path}: {error.strerror}") from error
    remedy = "name another file, or remove it"
    try:
        document: dict[str, Any] = json.loads(content)
        found = msgspec.structs.asdict(msgspec.convert(document, _Document))
    except (ValueError, RecursionError) as error:
        raise KeptError(f"{path} is there, and holds no result of mutants to go on with ({error}): {remedy}") from error
    for name, value in wanted.items():
        if found[name] != value:
            raise KeptError(f"{path} is there, with {name} {found[name]}, where this run has {value}: {remedy}")
    return document
