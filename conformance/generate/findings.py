"""A finding of a generated cell as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def finding_text(finding: Mapping[str, Any]) -> str:
    """A finding, as the row of a cell has it, for a terminal: its cause, what differed, the program, and what
    is done with it."""
    times = f"{finding['count']} time{'' if finding['count'] == 1 else 's'}"
    phase = f" in {finding['phase']}" if finding["phase"] else ""
    parts = [f"{finding['verdict']}{phase}: {finding['cause']} ({times})", finding["message"]]
    parts += [finding["source"].strip("\n")] if finding["source"].strip() else []
    if finding["inputs"]:
        parts.append("\n".join(["what is done with it:", *(f"  {each}" for each in finding["inputs"])]))
    if finding.get("after"):
        parts.append(f"after {finding['after']} other programs in the same process")
    return "\n\n".join(parts)
