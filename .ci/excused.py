"""Whether plain PyTorch excuses a failure of `reference` or `eager` that it is not known to excuse.

A cell that fails is NOT_APPLICABLE where the same cell without a backend fails alike. That is right of a defect of
another's, and hides a mistake in a case or a clause of ours, which nobody is asked then. So each excuse of our own
backends is looked at, and named here.

Reads ``conformance-report``, as the runs before have left it.
"""

import json
import sys
from pathlib import Path

#: Backend → the cells that are excused, and why.
KNOWN: dict[str, dict[str, str]] = {
    "reference": {},
    "eager": {
        "export.same-outputs[unused_results-compile-yes/yes-yes/yes]": "torch.export.load cannot read what was saved",
    },
}

found = []
for backend, known in KNOWN.items():
    cells = json.loads(Path("conformance-report", backend, "report.json").read_text(encoding="utf-8"))["cells"]
    not_asked = [cell for cell in cells if cell["verdict"] == "NOT_APPLICABLE" and "error" in cell]
    excused = {cell["id"]: cell["message"] for cell in not_asked}
    found += [f"{backend}: {name}: {excused[name]:.300}" for name in sorted(excused.keys() - known.keys())]
    found += [f"{backend}: {name} is no longer excused" for name in sorted(known.keys() - excused.keys())]
sys.exit("\n".join(found) or 0)
