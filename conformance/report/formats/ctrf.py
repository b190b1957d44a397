"""A report in the Common Test Report Format (ctrf.io), which the dashboards and pull request bots of others read."""

from __future__ import annotations

import datetime
import json
import math
import uuid
from collections import Counter
from typing import Any

from conformance.api.verdicts import Verdict
from conformance.report._details import attempts_of, number, plain, reproducer_of
from conformance.report._escape import legible
from conformance.report._rows import Row

SPEC_VERSION = "0.0.0"
#: What is ours in a CTRF document stands under this key of an ``extra``.
EXTRA = "torch-conformance/1"

_STATUSES = ("passed", "failed", "skipped", "pending", "other")
#: Every verdict that fails a run is "failed", so that who adds up statuses comes to the same as the exit code. CTRF
#: would call a flaky test "passed"; here it fails, and its ``flaky`` says why.
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
    return json.dumps(_legible(document(report)), ensure_ascii=False, separators=(",", ":")) + "\n"


def document(report: dict[str, Any]) -> dict[str, Any]:
    """The CTRF document as an object. Each cell is a test, and stands under its clause and suite."""
    run, harness = report["run"], report["harness"]
    found = {
        "reportFormat": "CTRF",
        "specVersion": SPEC_VERSION,
        "reportId": str(
            uuid.uuid5(uuid.NAMESPACE_URL, legible(f"urn:torch-conformance:{run['id']}:{report['backend']['name']}"))
        ),
        **({"runId": run["id"]} if run["id"] else {}),
        "generatedBy": f"torch-conformance {harness['version']}",
        "results": {
            "tool": {"name": "torch-conformance", "version": harness["version"]},
            "summary": _summary(report),
            "tests": [_test(row) for row in report["cells"]],
            "environment": _environment(report),
        },
    }
    started = _started(report)
    return found | ({"timestamp": started.isoformat()} if started else {})


def _summary(report: Row) -> dict[str, Any]:
    statuses = Counter(_status(row["verdict"]) for row in report["cells"])
    began = _started(report)
    start = round(began.timestamp() * 1000) if began else 0
    duration = _milliseconds(report["run"]["seconds"])
    return {
        "tests": report["plan"]["cells"],
        **{status: statuses[status] for status in _STATUSES},
        "flaky": report["summary"]["verdicts"].get(Verdict.FLAKY.value, 0),
        "suites": len(report["summary"]["suites"]),
        "start": start,
        "stop": start + duration,
        "duration": duration,
        "extra": {
            EXTRA: {
                "verdicts": report["summary"]["verdicts"],
                "certification": report["certification"],
                "complete": report["run"]["complete"],
                "deselected": report["plan"]["deselected"],
            }
        },
    }


def _started(report: Row) -> datetime.datetime | None:
    """When the run began, as far as what a report says of it is a time."""
    try:
        told = datetime.datetime.fromisoformat(report["run"]["started"])
        return told.astimezone(datetime.UTC) if told.tzinfo else told.replace(tzinfo=datetime.UTC)
    except (ValueError, OverflowError):
        return None


def _environment(report: Row) -> dict[str, Any]:
    backend, environment, certification = report["backend"], report["environment"], report["certification"]
    return {
        "reportName": f"Conformance of {backend['name']}",
        "appName": backend["name"],
        **({"appVersion": backend["version"]} if backend["version"] else {}),
        **({"osPlatform": environment["platform"]} if "platform" in environment else {}),
        "healthy": report["run"]["complete"] and (certification["excused"] or not certification["missing"]),
        "extra": {
            EXTRA: {
                "toolchain": backend["toolchain"],
                "distribution": backend["distribution"],
                "files": backend["files"],
                "environment": environment,
                "seed": report["run"]["seed"],
                "contract": report["harness"]["contract"],
                "selftest": report["harness"].get("selftest"),
            }
        },
    }


def _test(row: Row) -> dict[str, Any]:
    verdict, error = row["verdict"], row.get("error", {})
    attempts = attempts_of(row)
    labels = {
        "clause": row["clause"],
        "level": row["level"],
        "case": row["case"],
        "runtime": row["runtime"],
        "host": row["host"],
        "target": row["target"] or "",
        "verdict": verdict,
        "phase": row["phase"],
    }
    seconds = {verb: spent for verb, spent in row["seconds"].items() if number(spent) is not None}
    extra: dict[str, Any] = {name: row[name] for name in _EXTRAS if row.get(name)}
    if seconds:
        extra["seconds"] = seconds
    reproducer = reproducer_of(row)
    texts = {
        "message": row["message"],
        "trace": "\n".join(plain(error[name]) for name in ("text", "stack") if error.get(name))[:_LONGEST_TRACE],
        "snippet": reproducer.command if reproducer else "",
    }
    lines = {name: plain(error[name]).splitlines() for name in ("stdout", "stderr") if error.get(name)}
    return {
        "testId": row["id"] or "unnamed",
        "name": row["id"] or "unnamed",
        "status": _status(verdict),
        "rawStatus": verdict,
        "duration": _milliseconds(sum(seconds.values())),
        "suite": [row["suite"], row["clause"]],
        "labels": {name: text for name, text in labels.items() if text},
        "flaky": verdict == Verdict.FLAKY.value,
        **{name: text for name, text in texts.items() if text},
        **lines,
        **_retries(attempts),
        **({"extra": {EXTRA: extra}} if extra else {}),
    }


def _retries(attempts: tuple[Any, ...]) -> dict[str, Any]:
    if not attempts:
        return {}
    told = [
        {"attempt": place, "status": _status(each.verdict), **({"message": each.message} if each.message else {})}
        for place, each in enumerate(attempts, 1)
    ]
    return {"retries": len(attempts) - 1, "retryAttempts": told}


def _status(verdict: str) -> str:
    known = {each.value for each in Verdict}
    return _STATUS.get(Verdict(verdict), "failed") if verdict in known else "other"


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
