"""Reports of a few cells."""

from __future__ import annotations

from typing import Any

from conformance.report import assemble


def cell(case: str, verdict: str = "PASS", phase: str = "", message: str = "", **more: Any) -> dict[str, Any]:
    """A row of the clause toy.works."""
    own = {
        "id": f"toy.works[{case}-full-yes/yes]",
        "clause": "toy.works",
        "suite": "toy",
        "level": "core",
        "case": case,
        "runtime": "full",
        "host": "yes/yes",
        "target": None,
    }
    return own | {"verdict": verdict, "phase": phase, "message": message, "seconds": {}} | more


def report_of(*rows: dict[str, Any], deselected: int = 0, **changed: Any) -> dict[str, Any]:
    """A small valid report. ``changed`` replaces values: ``run__seed=1`` that of ``seed`` in ``run``."""
    head: dict[str, Any] = {
        "target": {},
        "run": {"id": "one", "started": "2026-01-01T00:00:00+00:00", "seconds": 1.5, "seed": 0, "argv": ["-k", "x"]},
        "harness": {"version": "1.0", "contract": {"version": "1", "sha256": "0" * 64}, "selftest": None},
        "environment": {"torch": "2.13.0", "python": "3.11.7", "platform": "Linux x86_64"},
        "backend": {
            "name": "toy",
            "toolchain": "torchscript",
            "distribution": "toys",
            "version": "1",
            "files": [{"name": "libtoy.so", "sha256": "a" * 64}],
            "features": {"missing": {}},
            "tolerances": {},
            "states": {"yes/yes": True},
        },
    }
    for path, value in changed.items():
        *parents, key = path.split("__")
        place = head
        for parent in parents:
            place = place[parent]
        place[key] = value
    if not head["target"]:
        del head["target"]
    clause = {"id": "toy.works", "suite": "toy", "level": "core", "statement": "It works.", "source": "here"}
    return assemble(head, [clause], rows, deselected, None)
