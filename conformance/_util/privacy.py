"""What must not get into a report, which is published: where things lie on the machine, and under whose name."""

from __future__ import annotations

import re
from typing import Any

_PART = r"[^\s/'\"`,;:()<>\[\]|]"
#: A folder or more from the root, then a name: also in a list (a:/b/c), after an option (-I/a/b), and as the path of an
#: address without a host (file:///a/b). Not the path of another address, nor one that is relative.
_PATH = re.compile(
    rf"(?:(?<![\w./-])|(?<=://)|(?<=(?<!\w)-[IL]))/(?P<folders>(?:{_PART}+/)+)(?P<name>{_PART}*)",
)
#: Where the name is that of a person.
_HOMES = ("home", "Users")


def _cut(found: re.Match[str]) -> str:
    nobody = found["folders"].rstrip("/").rpartition("/")[2] in _HOMES
    return "..." if nobody else f".../{found['name']}"


def without_paths(value: Any) -> Any:
    """The value with every absolute path in its texts cut to ``.../name``, and that of a home to ``...``.

    Containers are copied.
    """
    if isinstance(value, str):
        return _PATH.sub(_cut, value)
    if isinstance(value, dict):
        return {key: without_paths(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_paths(item) for item in value]
    return value
