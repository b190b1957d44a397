"""A report in the Common Test Report Format (ctrf.io), which the dashboards and pull request bots of others read."""

from __future__ import annotations

import datetime
import json
import math
import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Any

from conformance._util.escaping import legible
from conformance.api.verdicts import Verdict
from conformance.report.cell_details import number, plain, script_of
from conformance.report.model import Report
from conformance.report.parts import as_json, read_part
from conformance.report.row_model import Attempt, CellRow

SPEC_VERSION = "0.0.0"
#: What is ours in a CTRF document stands under this key of an ``extra``.
EXTRA = "torch-conformance/1"

_STATUSES = ("passed", "failed", "skipped", "pending", "other")
#: Every verdict that fails a run is "failed", and one that an expectation tolerates "other", so that who adds up
#: statuses comes to the same as the exit code. CTRF would call a flaky test "passed"; here it fails, and its ``flaky``
#: says why.
_STATUS = {
    Verdict.PASS: "passed",
    Verdict.UNSUPPORTED: "skipped",
    Verdict.NOT_APPLICABLE: "skipped",
    Verdict.NOT_EXERCISED: "skipped",
    Verdict.XFAIL: "other",
    Verdict.LOST: "pending",
}
_LONGEST_TRACE = 20_000
_EXTRAS = ("notes", "behaviour", "margin", "expectation", "reproducer")


def ctrf(report: dict[str, Any]) -> str:
    """The CTRF document of a report that ``read_report`` has validated, as compact JSON."""
    return json.dumps(_legible(document(read_part(Report, report))), ensure_ascii=False, separators=(",", ":")) + "\n"


def document(report: Report) -> dict[str, Any]:
    """The CTRF document as an object. Each cell is a test, and stands under its clause and suite."""
    run, version = report.run, report.harness.version
    found = {
        "reportFormat": "CTRF",
        "specVersion": SPEC_VERSION,
        "reportId": str(
            uuid.uuid5(uuid.NAMESPACE_URL, legible(f"urn:torch-conformance:{run.id}:{report.backend.name}"))
        ),
        **({"runId": run.id} if run.id else {}),
        "generatedBy": f"torch-conformance {version}",
        "results": {
            "tool": {"name": "torch-conformance", "version": version},
            "summary": _summary(report),
            "tests": [_test(row) for row in report.cells],
            "environment": _environment(report),
        },
    }
    started = _started(report)
    return found | ({"timestamp": started.isoformat()} if started else {})


def _summary(report: Report) -> dict[str, Any]:
    statuses = Counter(map(_status, report.cells))
    began = _started(report)
    start = round(began.timestamp() * 1000) if began else 0
    duration = _milliseconds(report.run.seconds)
    return {
        "tests": report.plan.cells,
        **{status: statuses[status] for status in _STATUSES},
        "flaky": report.summary.verdicts.get(Verdict.FLAKY, 0),
        "suites": len(report.summary.suites),
        "start": start,
        "stop": start + duration,
        "duration": duration,
        "extra": {
            EXTRA: {
                "verdicts": {verdict.value: count for verdict, count in report.summary.verdicts.items()},
                "certification": as_json(report.certification),
                "complete": report.run.complete,
                "deselected": report.plan.deselected,
            }
        },
    }


def _started(report: Report) -> datetime.datetime | None:
    """When the run began, as far as what a report says of it is a time."""
    try:
        started = datetime.datetime.fromisoformat(report.run.started)
        return started.astimezone(datetime.UTC) if started.tzinfo else started.replace(tzinfo=datetime.UTC)
    except (ValueError, OverflowError):
        return None


def _environment(report: Report) -> dict[str, Any]:
    backend, environment, certification = report.backend, report.environment, report.certification
    return {
        "reportName": f"Conformance of {backend.name}",
        "appName": backend.name,
        **({"appVersion": backend.version} if backend.version else {}),
        **({"osPlatform": environment["platform"]} if "platform" in environment else {}),
        "healthy": report.run.complete and (certification.excused or not certification.missing),
        "extra": {
            EXTRA: {
                "toolchain": backend.toolchain,
                "distribution": backend.distribution,
                "files": [as_json(each) for each in backend.files],
                "environment": environment,
                "seed": report.run.seed,
                "contract": as_json(report.harness.contract),
                "selftest": as_json(report.harness.selftest) if report.harness.selftest else None,
            }
        },
    }


def _test(row: CellRow) -> dict[str, Any]:
    error, fields = row.error or {}, as_json(row)
    labels = {
        "clause": row.clause,
        "level": row.level.value,
        "case": row.case,
        "runtime": row.runtime,
        "host": row.host.value,
        "target": row.target.value if row.target else "",
        "verdict": row.verdict.value,
        "phase": row.phase,
    }
    seconds = {verb: spent for verb, spent in row.seconds.items() if number(spent) is not None}
    extra: dict[str, Any] = {name: fields[name] for name in _EXTRAS if fields.get(name)}
    if seconds:
        extra["seconds"] = seconds
    script = script_of(row)
    texts = {
        "message": row.message,
        "trace": "\n".join(plain(error[name]) for name in ("text", "stack") if error.get(name))[:_LONGEST_TRACE],
        "snippet": script.command if script else "",
    }
    lines = {name: plain(error[name]).splitlines() for name in ("stdout", "stderr") if error.get(name)}
    return {
        "testId": row.id or "unnamed",
        "name": row.id or "unnamed",
        "status": _status(row),
        "rawStatus": row.verdict.value,
        "duration": _milliseconds(sum(seconds.values())),
        "suite": [row.suite, row.clause],
        "labels": {name: text for name, text in labels.items() if text},
        "flaky": row.verdict is Verdict.FLAKY,
        **{name: text for name, text in texts.items() if text},
        **lines,
        **_retries(row.attempts or []),
        **({"extra": {EXTRA: extra}} if extra else {}),
    }


def _retries(attempts: Sequence[Attempt]) -> dict[str, Any]:
    if not attempts:
        return {}
    rows = [
        {
            "attempt": place,
            "status": _STATUS.get(each.verdict, "failed"),
            **({"message": each.message} if each.message else {}),
        }
        for place, each in enumerate(attempts, 1)
    ]
    return {"retries": len(attempts) - 1, "retryAttempts": rows}


def _status(row: CellRow) -> str:
    return _STATUS.get(row.verdict, "failed" if row.fails else "other")


def _milliseconds(seconds: float) -> int:
    found = number(seconds)
    return round(found * 1000) if found is not None else 0


def _legible(value: Any) -> Any:
    """The value as every parser takes it: no lone surrogates, no codes that move a cursor, no NaN."""
    if isinstance(value, str):
        return legible(value)
    if isinstance(value, dict):
        return {legible(name): _legible(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_legible(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
