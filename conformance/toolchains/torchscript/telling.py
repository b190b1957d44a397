"""The text of an exception without the traceback that TorchScript's interpreter adds to it."""

from __future__ import annotations

import re

#: How a line begins that says what was raised.
_STATED = re.compile(r"\A(?:\w+\.)*\w*(?:Error|Exception): ")


def gist(text: str) -> str:
    """What an exception says, without the traceback that TorchScript puts around or behind it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if "Traceback of TorchScript" not in text:
        return text
    stated = [line for line in lines if _STATED.match(line)]
    if stated:
        return stated[-1]
    around = lines[0].startswith("The following operation failed in the TorchScript interpreter")
    return lines[-1] if around else lines[0]
