"""What must not get into a report, which is published: where things lie on the machine, and under whose name."""

from __future__ import annotations

import re
from typing import Any

#: Two folders or more from the root, then a name. Not the path of an address (://), nor one that is relative.
_PATH = re.compile(r"(?<![\w./:-])/(?:[^\s/'\"`,;:()<>\[\]|]+/)+(?P<name>[^\s/'\"`,;:()<>\[\]|]*)")


def without_paths(value: Any) -> Any:
    """The value with every absolute path in its texts cut to ``.../name``; containers are copied."""
    if isinstance(value, str):
        return _PATH.sub(lambda found: f".../{found['name']}", value)
    if isinstance(value, dict):
        return {key: without_paths(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_paths(item) for item in value]
    return value
