"""The certificate of a report: an in-toto statement that a backend reached a level, and the checking of one.

https://github.com/in-toto/attestation: Statement v1, with the predicate "test result" v0.1. Signed, it lies in a DSSE
envelope. What a certificate says is worked out from the cells of the report; it is checked by working it out again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
from msgspec import UNSET

from conformance.api.verdicts import Verdict
from conformance.certificate.dsse import Signed, opened, sign
from conformance.certificate.recompute import expect_consistent, shortfall
from conformance.contract import Level
from conformance.report._certification import shown_of
from conformance.report._json import ReportError, parse, read_bytes
from conformance.report._store import validate
from conformance.report.model import Backend, GeneratedSummary, Report, Run
from conformance.report.row_model import CellRow

_STATEMENT = "https://in-toto.io/Statement/v1"
_PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
_LEVELS = [each.value for each in Level if each is not Level.REPORTED]

_TEXT = {"type": "string"}
_NAMES = {"type": "array", "items": _TEXT}
_DIGEST = {
    "type": "object",
    "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "minProperties": 1,
}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    """Exactly these properties. ``uri``, ``mediaType``, ``options`` and ``generated`` may lack."""
    required = [name for name in properties if name not in ("uri", "mediaType", "options", "generated")]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_COUNT = {"type": "integer", "minimum": 0}
#: How much of the level was shown by PASS, as a report has it.
_SHOWN = ("clauses", "of_clauses", "cells", "of_cells")
#: What generated cells were drawn from and tried; a budget of a run that says none is empty.
_GENERATED = _object(
    {
        "seed": {"type": "integer"},
        "budget": _TEXT,
        "tried": {"type": "object", "additionalProperties": _COUNT},
        "discarded": _COUNT,
        "refused": _COUNT,
    }
)
_SCHEMA = _object(
    {
        "_type": {"const": _STATEMENT},
        "subject": {
            "type": "array",
            "items": _object({"name": _TEXT, "uri": _TEXT, "digest": _DIGEST}),
            "minItems": 1,
        },
        "predicateType": {"const": _PREDICATE},
        "predicate": _object(
            {
                "result": {"enum": ["PASSED", "WARNED"]},
                "configuration": {
                    "type": "array",
                    "prefixItems": [
                        _object(
                            {
                                "name": {"type": "string", "pattern": r"^(?!\.{1,2}$)[^/\x00]{1,255}$"},
                                "digest": _DIGEST,
                                "mediaType": {"const": "application/json"},
                                "annotations": _object(
                                    {
                                        **dict.fromkeys(("format", "run", "started", "harness"), _TEXT),
                                        "environment": {"type": "object", "additionalProperties": _TEXT},
                                        "seed": {"type": "integer"},
                                    }
                                ),
                            }
                        ),
                        _object(
                            {
                                "name": {"const": "contract"},
                                "digest": _DIGEST,
                                "annotations": _object(
                                    {
                                        **dict.fromkeys(("version", "toolchain", "backend", "entry_point"), _TEXT),
                                        "level": {"enum": _LEVELS},
                                        "options": {"type": "object"},
                                    }
                                ),
                            }
                        ),
                        _object(
                            {
                                "name": {"const": "plan"},
                                "digest": _DIGEST,
                                "annotations": _object(
                                    {
                                        "cells": {"type": "integer", "minimum": 1},
                                        "shown": _object(dict.fromkeys(_SHOWN, _COUNT)),
                                        "generated": _GENERATED,
                                    }
                                ),
                            }
                        ),
                    ],
                    "minItems": 3,
                    "items": False,
                },
                "passedTests": _NAMES,
                "warnedTests": _NAMES,
                "failedTests": {"type": "array", "maxItems": 0},
            }
        ),
    }
)


@dataclasses.dataclass(frozen=True)
class ReportFile:
    """A report with the file that it is: its name, and the SHA-256 of its bytes."""

    name: str
    sha256: str
    report: Report


@dataclasses.dataclass(frozen=True)
class Certificate:
    """A statement of the right form, and its signatures (None: it has none). Nothing else is known of it."""

    statement: dict[str, Any]
    signed: Signed | None

    @property
    def level(self) -> Level:
        """The level that it claims."""
        return Level(self._facts["level"])

    @property
    def backend(self) -> str:
        """The name of the backend that it speaks of."""
        return str(self._facts["backend"])

    @property
    def entry_point(self) -> str:
        """What ``--backend`` takes to choose the backend, with the toolchain: others may have one of that name."""
        return f"{self._facts['toolchain']}:{self._facts['entry_point']}"

    @property
    def options(self) -> dict[str, Any] | None:
        """What ``torch.compile(options=...)`` was given; None where that was nothing."""
        return self._facts.get("options")

    @property
    def report_name(self) -> str:
        """The name of the report's file, without folders."""
        return str(self.statement["predicate"]["configuration"][0]["name"])

    @property
    def report_sha256(self) -> str:
        """The SHA-256 of the report's file."""
        return str(self.statement["predicate"]["configuration"][0]["digest"].get("sha256"))

    @property
    def contract_sha256(self) -> str:
        """The digest of the contract."""
        return str(self.statement["predicate"]["configuration"][1]["digest"].get("sha256"))

    @property
    def environment(self) -> dict[str, str]:
        """The versions of what it was certified with."""
        told: dict[str, str] = self.statement["predicate"]["configuration"][0]["annotations"]["environment"]
        return told

    @property
    def seed(self) -> int:
        """The seed of the run, from which everything was drawn that it generated."""
        return int(self.statement["predicate"]["configuration"][0]["annotations"]["seed"])

    @property
    def budget(self) -> str:
        """What generated cells might try; empty where that is not told."""
        plan: dict[str, Any] = self.statement["predicate"]["configuration"][2]["annotations"]
        return str(plan.get("generated", {}).get("budget", ""))

    @property
    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = self.statement["predicate"]["configuration"][1]["annotations"]
        return facts


def load_report(path: Path) -> ReportFile:
    """A report, valid and consistent with its own cells. Raises ReportError, with the field, for any other."""
    return report_of(path.name, read_bytes(path))


def report_of(name: str, content: bytes) -> ReportFile:
    """As :func:`load_report`, of what is in a file."""
    document = parse(content, name)
    report = validate(document, name)
    expect_consistent(document, name)
    return ReportFile(name, hashlib.sha256(content).hexdigest(), report)


def certify(file: ReportFile, level: Level) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    """The statement that a report reaches a level; None, and why, where it does not or is of nobody knows what."""
    reasons = shortfall(file.report, level)
    if not subjects(file.report.backend):
        nothing = "nothing tells which backend was tested: neither its files nor its distribution have a digest"
        reasons = (*reasons, nothing)
    return (None if reasons else _statement(file, level)), reasons


def subjects(backend: Backend) -> list[dict[str, Any]]:
    """What was tested, as resources with digests: the libraries, and the distribution's files where those are known."""
    found: list[dict[str, Any]] = [{"name": each.name, "digest": {"sha256": each.sha256}} for each in backend.files]
    if backend.distribution_hash:
        name, version = backend.distribution, backend.version
        digest = {"dirHash": backend.distribution_hash}
        found.append({"name": name, "uri": f"pkg:pypi/{name.lower().replace('_', '-')}@{version}", "digest": digest})
    return found


def text_of(statement: dict[str, Any], key: Path | None) -> str:
    """The certificate as its file has it: the statement alone, or signed with the private key in a PEM file."""
    if key is None:
        return json.dumps(statement, indent=1, ensure_ascii=False) + "\n"
    payload = json.dumps(statement, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    return json.dumps(sign(payload, key), indent=1) + "\n"


def load_certificate(path: Path) -> Certificate:
    """A certificate, signed or not. Raises ReportError for what is none; its signatures are not looked at."""
    value = parse(read_bytes(path), path.name)
    signed = None
    if isinstance(value, dict) and "payload" in value:
        signed = opened(value, path.name)
        value = parse(signed.payload, f"the payload of {path.name}")
    fault = next(jsonschema.Draft202012Validator(_SCHEMA).iter_errors(value), None)
    if fault is not None:
        place = "/".join(str(part) for part in fault.absolute_path) or "the top level"
        raise ReportError(f"{path.name} is no certificate of a report: at {place}: {fault.message:.300}")
    return Certificate(value, signed)


def check(certificate: Certificate, content: bytes, name: str) -> tuple[str, ...]:
    """What speaks against a certificate when the file of its report has this content; the level is worked out anew.

    Raises ReportError when the file has the digest that was certified, and is no consistent report all the same.
    """
    if hashlib.sha256(content).hexdigest() != certificate.report_sha256:
        return (f"{name} is not the file that was certified, or was changed since: its digest differs",)
    file = dataclasses.replace(report_of(name, content), name=certificate.report_name)
    statement, reasons = certify(file, certificate.level)
    if statement is not None and statement != certificate.statement:
        place = _first_difference(statement, certificate.statement)
        reasons = (f"the certificate says at {place} what the report does not",)
    return reasons


def _statement(file: ReportFile, level: Level) -> dict[str, Any]:
    report = file.report
    run, harness, backend = report.run, report.harness, report.backend
    passed, warned = _outcomes(report.cells, level)
    return {
        "_type": _STATEMENT,
        "subject": subjects(backend),
        "predicateType": _PREDICATE,
        "predicate": {
            "result": "WARNED" if warned else "PASSED",
            "configuration": [
                {
                    "name": file.name,
                    "digest": {"sha256": file.sha256},
                    "mediaType": "application/json",
                    "annotations": {
                        "format": report.format,
                        "run": run.id,
                        "started": run.started,
                        "seed": run.seed,
                        "harness": harness.version,
                        "environment": report.environment,
                    },
                },
                {
                    "name": "contract",
                    "digest": {"sha256": harness.contract.sha256},
                    "annotations": {
                        "version": harness.contract.version,
                        "toolchain": backend.toolchain,
                        "backend": backend.name,
                        "entry_point": backend.name if backend.entry_point is UNSET else backend.entry_point,
                        "level": level.value,
                        **({"options": backend.options} if backend.options else {}),
                    },
                },
                {
                    "name": "plan",
                    "digest": {"sha256": report.plan.sha256},
                    "annotations": {
                        "cells": report.plan.cells,
                        "shown": msgspec.to_builtins(shown_of(report.cells, level)),
                        **({"generated": _generated(report.run, report.generated)} if report.generated else {}),
                    },
                },
            ],
            "passedTests": passed,
            "warnedTests": warned,
            "failedTests": [],
        },
    }


def _generated(run: Run, summary: GeneratedSummary) -> dict[str, Any]:
    """What generated cells were drawn from, and how much each clause tried."""
    return {
        "seed": run.seed,
        "budget": run.generated or "",
        "tried": {each.clause: each.tried for each in summary.clauses},
        "discarded": sum(sum(each.discarded.values()) for each in summary.clauses),
        "refused": sum(sum(each.refused.values()) for each in summary.clauses),
    }


def _outcomes(cells: Sequence[CellRow], level: Level) -> tuple[list[str], list[str]]:
    """The clauses that the level owes and some cell shows; and those that it owes and no cell shows.

    A clause that applies nowhere is in neither.
    """
    verdicts: dict[str, set[Verdict]] = {}
    for row in cells:
        if level.includes(row.level):
            verdicts.setdefault(row.clause, set()).add(row.verdict)
    passed = [clause for clause, found in verdicts.items() if Verdict.PASS in found]
    nowhere = {Verdict.NOT_APPLICABLE}
    return passed, [clause for clause, found in verdicts.items() if clause not in passed and found != nowhere]


def _first_difference(one: Any, other: Any, place: str = "") -> str:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys((*one, *other)):
            if key not in one or key not in other or one[key] != other[key]:
                return _first_difference(one.get(key), other.get(key), f"{place}/{key}")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            if mine != theirs:
                return _first_difference(mine, theirs, f"{place}/{index}")
    return place.removeprefix("/")
