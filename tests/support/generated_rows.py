"""What generated cells note, made up."""

from __future__ import annotations

from typing import Any

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
