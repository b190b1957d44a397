"""Golden sets: artifacts that a backend wrote once, with inputs and outputs, held against what it is now.

A set is a folder with a ``manifest.json`` and, for each case, ``CASE.pt`` and ``CASE.ptl`` (the lowered module for the
full JIT and for the lite interpreter) and ``CASE.values`` (the calls, encoded).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema

from conformance._util.files import read_bounded
from conformance.api.case import Call
from conformance.api.errors import GoldensError
from conformance.compare.values import decode
from conformance.toolchains.torchscript.client import Artifact

if TYPE_CHECKING:
    from conformance.discovery.describing import Description
    from conformance.run.run_context import RunContext

FORMAT = "torch-conformance-goldens/1"
MANIFEST = "manifest.json"
#: What a set holds: enough to see a format change, and small enough to be kept for ever.
GOLDEN_CASES = (
    "add",
    "two_methods",
    "several_outputs",
    "parameters",
    "control_flow",
    "linear",
    "conv_net",
    "lstm",
)
#: How an artifact for a runtime is called.
SUFFIXES = {"full": "pt", "lite": "ptl"}
_LARGEST_MANIFEST = 4 * 2**20
_LARGEST_FILE = 256 * 2**20
_DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_FILE = {
    "type": "object",
    "properties": {"name": {"type": "string", "pattern": r"^\w[\w.-]*$", "maxLength": 200}, "sha256": _DIGEST},
    "required": ["name", "sha256"],
}
_SCHEMA = {
    "type": "object",
    "properties": {
        "format": {"const": FORMAT},
        "backend": {
            "type": "object",
            "properties": {name: {"type": "string"} for name in ("name", "distribution", "version")},
            "required": ["name", "distribution", "version"],
        },
        "environment": {"type": "object", "additionalProperties": {"type": "string"}, "required": ["torch"]},
        "seed": {"type": "integer"},
        "tolerances": {
            "type": "object",
            "additionalProperties": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
        },
        "cases": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "values": _FILE,
                    "artifacts": {
                        "type": "object",
                        "additionalProperties": _FILE,
                        "propertyNames": {"enum": list(SUFFIXES)},
                    },
                },
                "required": ["name", "values", "artifacts"],
            },
        },
    },
    "required": ["format", "backend", "environment", "seed", "tolerances", "cases"],
}


@dataclasses.dataclass(frozen=True)
class Golden:
    """An artifact as it was written, and the calls with the outputs that were right then."""

    case: str
    artifact: Artifact
    calls: tuple[Call, ...]


@dataclasses.dataclass(frozen=True)
class GoldenSet:
    """What one version of a backend wrote, with one version of torch."""

    name: str
    backend: str
    tolerances: dict[str, tuple[float, float]]
    goldens: tuple[Golden, ...]

    def goldens_of(self, case: str, runtime: str) -> list[Golden]:
        """Those of a case, for a runtime."""
        return [each for each in self.goldens if each.case == case and each.artifact.runtime == runtime]


def read_goldens(folder: Path) -> tuple[GoldenSet, ...]:
    """The sets in a folder, by name. Raises GoldensError for one that is damaged, and for a folder without any."""
    found = sorted(folder.glob(f"*/{MANIFEST}"))
    if not found:
        raise GoldensError(
            f"{folder} holds no golden set: expected folders with a {MANIFEST}, as `conformance goldens` writes them"
        )
    return tuple(_read_set(path) for path in found)


def _read_set(path: Path) -> GoldenSet:
    name = path.parent.name
    try:
        manifest = json.loads(read_bounded(path, _LARGEST_MANIFEST))
    except OSError as error:
        raise GoldensError(f"the golden set {name}: its {MANIFEST} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise GoldensError(f"the golden set {name}: its {MANIFEST} cannot be read: {error}") from error
    fault = next(iter(jsonschema.Draft202012Validator(_SCHEMA).iter_errors(manifest)), None)
    if fault is not None:
        place = "/".join(str(part) for part in fault.absolute_path) or "the top level"
        raise GoldensError(f"the golden set {name}: its {MANIFEST} is wrong at {place}: {fault.message:.300}")
    return GoldenSet(
        name,
        manifest["backend"]["name"],
        {dtype: (pair[0], pair[1]) for dtype, pair in manifest["tolerances"].items()},
        tuple(golden for case in manifest["cases"] for golden in _read_case(path.parent, case)),
    )


def _read_case(folder: Path, case: dict[str, Any]) -> Iterator[Golden]:
    content = _content(folder, case["values"])
    try:
        calls = tuple(Call(row["method"], row["inputs"], row["expected"]) for row in decode(content))
    except Exception as error:  # PyTorch's reader raises of every kind for what it was not made for
        said = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise GoldensError(
            f"the golden set {folder.name}: {case['values']['name']} holds no calls with their values: {said:.300}"
        ) from error
    for runtime, file in case["artifacts"].items():
        yield Golden(case["name"], Artifact(_content(folder, file), runtime), calls)


def _content(folder: Path, file: dict[str, str]) -> bytes:
    try:
        data = read_bounded(folder / file["name"], _LARGEST_FILE)
    except OSError as error:
        raise GoldensError(f"the golden set {folder.name}: {file['name']} cannot be read: {error.strerror}") from error
    if sha256_of(data) != file["sha256"]:
        raise GoldensError(f"the golden set {folder.name}: {file['name']} is not what {MANIFEST} says (SHA-256)")
    return data


def sha256_of(data: bytes) -> str:
    """The digest of a file's content."""
    return hashlib.sha256(data).hexdigest()


def write_goldens(run: RunContext, description: Description, folder: Path, say: Callable[[str], None]) -> Path:
    """See :func:`conformance.toolchains.torchscript.golden_writer.write_goldens`."""
    from conformance.toolchains.torchscript import golden_writer

    return golden_writer.write_goldens(run, description, folder, say)
