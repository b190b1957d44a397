"""Clauses of generated cells, and what such cells note, made up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.api.clause import Clause, clause
from conformance.contract import Level, clause_of

#: One finding, as the row of a generated cell has it.
FINDING: dict[str, Any] = {
    "cause": "addmm / layout=transposed / values",
    "operators": ["addmm"],
    "axes": ["layout=transposed"],
    "observable": "values",
    "count": 3,
    "phase": "run",
    "verdict": "FAIL",
    "message": "1 of 6 elements differ: [0, 1] is 2.0 and should be 1.0",
    "source": "class Model(torch.nn.Module):\n    def forward(self, x):\n        return torch.addmm(x, x, x.t())\n",
    "inputs": ["float32[2, 3] transposed"],
    "fingerprint": "0123456789ab",
}


def generated(**changed: Any) -> dict[str, Any]:
    """What a cell noted that tried ten programs of three values, two of which never met."""
    return {
        "seed": 7,
        "tried": 10,
        "discarded": {"invalid": 3, "unstable": 1},
        "refused": {"aten::foo": 2},
        "seconds": 1.25,
        "values": ["dtype=float32", "dtype=int64", "layout=transposed"],
        "counts": [10, 4, 1],
        "pairs": [[], [4], [1, 0]],
        "findings": [],
    } | changed


def declared(function: Callable[..., None], **particulars: Any) -> Callable[..., None]:
    """The function as a clause of generated cells, of two themes."""
    common: dict[str, Any] = {"source": "none", "level": Level.CORE, "toolchain": "torchscript"}
    themes = {"cases": ("views", "calls")}
    return clause("some.programs", speaks_of="generated", **common | themes | particulars)(function)


def generated_clause(**particulars: Any) -> Clause:
    """A clause of generated cells."""

    def function(host: object) -> None:
        """It holds."""

    stated = clause_of(declared(function, **particulars))
    assert stated is not None
    return stated
