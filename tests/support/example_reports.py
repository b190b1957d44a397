"""Reports to show: a small one with everything that a report can have, and the same with harm in every string."""

from __future__ import annotations

from typing import Any

from conformance.api.verdicts import Verdict
from support.generated_rows import FINDING, generated

DIGEST = "0123456789abcdef" * 4
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></style></textarea></pre></script><script>alert(1)</script>",
    "a|b|c",
    "one\n\n| two | three |\n# four\r\n```\n",
    "`code` ``` ~~~",
    "]]>",
    "<!-- -->",
    "{{7*7}}",
    "{% include 'report.css' %}",
    "[text](javascript:alert(1)) ![](https://example.com/x.png)",
    'javascript:alert(1) x/y#1"><b>',
    "&lt;b&gt; &#60;b&#62;",
    "\\|\\`\\",
    "\ud800 \u202e \x00 \x1b[31m",
]
#: Strings that the schema chooses from a list, or that are digests: no report that was read has others there.
CHOSEN = {"format", "sha256", "level", "achieved", "host", "target", "verdict", "outcome", "script", "fingerprint"}
#: Objects whose names are an author's or a clause's own.
FREE_NAMES = {
    "environment",
    "missing",
    "tolerances",
    "states",
    "seconds",
    "expected",
    "observed",
    "suites",
    "clauses",
    "discarded",
    "refused",
    "others",
    "operator",
}

EXPECTATION = {
    "reason": "known",
    "issue": "https://github.com/mine/mine/issues/7",
    "owner": "us",
    "since": "2026-01-01",
    "expires": "2027-01-01",
}
OPERATORS = {
    "summary": {"wrong": 1, "refused": 1, "right": 1},
    "samples": 10,
    "rows": [
        {
            "operator": operator,
            "dtype": dtype,
            "outcome": outcome,
            "samples": samples,
            "counts": {outcome: samples},
            "max_abs": error,
            "max_rel": error,
            "ulp": error,
            "sqnr_db": None,
            "message": message,
        }
        for operator, dtype, outcome, samples, error, message in (
            ("add", "float32", "right", 7, 0.0, ""),
            ("add", "int64", "wrong", 2, 4.0, "off"),
            ("sort", "float32", "refused", 1, None, ""),
        )
    ],
}
#: What a report says of its generated cells: of the one below.
GENERATED = {
    "others": {"operator": {"add": 3}},
    "axes": {"dtype": ["float32", "int64"], "layout": ["transposed", "stepped"]},
    "clauses": [
        {
            "clause": "lowering.outputs",
            "cells": 1,
            "tried": 10,
            "discarded": {"invalid": 3, "unstable": 1},
            "refused": {"aten::foo": 2},
            "seconds": 1.25,
            "findings": 1,
        }
    ],
    "values": ["dtype=float32", "dtype=int64", "layout=transposed", "layout=stepped"],
    "counts": [10, 4, 1, 0],
    "pairs": [[], [4], [1, 0], [0, 0, 0]],
    "findings": [
        {
            "cause": FINDING["cause"],
            "observable": FINDING["observable"],
            "verdict": FINDING["verdict"],
            "count": 3,
            "cells": ["lowering.outputs[case_fail-full-yes/yes]"],
        }
    ],
}


def cell(case: str, verdict: Verdict, clause: str = "lowering.outputs", **more: Any) -> dict[str, Any]:
    """A cell of the report below."""
    row = {
        "id": f"{clause}[{case}-full-yes/yes]",
        "clause": clause,
        "suite": clause.partition(".")[0],
        "level": "core",
        "case": case,
        "runtime": "full",
        "host": "yes/yes",
        "target": None,
        "verdict": verdict.value,
        "phase": "run" if verdict.fails else "",
        "message": f"{case} came to {verdict.value}",
        "seconds": {"lower": 0.25, "run": 0.5},
    }
    return row | more


def report_of(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """A small report with something in every field."""
    counts: dict[str, int] = {}
    for row in cells:
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    behaviour = {"expected": {"lower": "ok", "run": "ok"}, "observed": {"lower": "ok", "run": "wrong numbers"}}
    measured = {"cell": "c", "host": "yes/yes", "runtime": "full", "verdict": "FAIL", **behaviour}
    clause = {"id": "lowering.outputs", "suite": "lowering", "level": "core"}
    return {
        "format": "torch-conformance-report/1",
        "run": {
            "id": "r1",
            "started": "2026-01-01",
            "seconds": 2.0,
            "seed": 7,
            "argv": ["--backend=b"],
            "complete": True,
        },
        "harness": {
            "version": "0.1",
            "contract": {"version": "1", "sha256": DIGEST},
            "selftest": {"caught": 3, "saboteurs": 4, "succeeded": False},
        },
        "environment": {"python": "3.11", "implementation": "CPython", "torch": "2.13", "platform": "Linux", "x": "y"},
        "backend": {
            "name": "mine",
            "toolchain": "torchscript",
            "distribution": "mine-dist",
            "version": "9.1",
            "files": [{"name": "libmine.so", "sha256": DIGEST}],
            "features": {"missing": {"loops": "prim::Loop is not lowered"}},
            "tolerances": {"float16": [0.01, 0.02]},
            "states": {"unavailable": True, "lost": False},
        },
        "plan": {"cells": len(cells), "deselected": 0, "sha256": DIGEST},
        "clauses": [clause | {"statement": "Outputs are the same.", "source": "pytorch/pytorch#41145"}],
        "cells": cells,
        "availability": {"host": [measured], "target": [measured | {"target": "yes/yes"}]},
        "summary": {"verdicts": counts, "suites": {"lowering": counts}, "clauses": {"lowering.outputs": counts}},
        "certification": {"level": "core", "achieved": None, "missing": ["lowering.outputs: FAIL"], "excused": False},
    }


def full_report() -> dict[str, Any]:
    """One cell of each verdict on a case of its own, two on one case, and everything that a row may carry."""
    error = {
        "type": "RuntimeError",
        "text": "it broke",
        "stack": "line 1\n  line 2",
        "stdout": "said",
        "stderr": "cried",
    }
    cells = [cell(f"case_{verdict.value.lower()}", verdict, notes=["a remark"]) for verdict in Verdict]
    cells[1] |= {"generated": generated(findings=[FINDING])}
    cells[1] |= {"error": {**error, "signal": 11, "more": {"deep": ["er"]}}, "expectation": EXPECTATION}
    cells[0] |= {"margin": {"comparisons": 3, "used": 0.25, "absolute": 1.5e-5, "dtype": "float32"}}
    cells[2] |= {"reproducer": {"script": "reproducers/case_crash-full-yes_yes/reproduce.py"}}
    flaky = next(row for row in cells if row["verdict"] == "FLAKY")
    flaky["attempts"] = [
        {"verdict": "FAIL", "phase": "run", "message": "it differed by 3"},
        {"verdict": "PASS", "phase": "", "message": ""},
    ]
    cells.append(cell("case_fail", Verdict.PASS) | {"id": "lowering.outputs[case_fail-lite-yes/yes]"})
    return report_of(cells) | {"operators": OPERATORS, "generated": GENERATED}


def poisoned(value: Any, text: str, name: str = "") -> Any:
    """The same report with ``text`` in every string that is free."""
    if isinstance(value, dict):
        prefix = text if name in FREE_NAMES else ""
        return {f"{prefix}{key}": poisoned(each, text, key) for key, each in value.items()}
    if isinstance(value, list):
        return [poisoned(each, text) for each in value]
    return f"{value}{text}" if isinstance(value, str) and name not in CHOSEN else value
