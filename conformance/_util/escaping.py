"""Text of a report is anybody's: what it takes to show it without obeying it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_COLOURING = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]")
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
#: What services that run tests take from a log for a command of theirs: GitHub Actions at the start of a line, and,
#: as Azure Pipelines do, anywhere.
_COMMAND = re.compile(r"(?:^|(?<=\n))(?P<indent>[^\S\n]*+)::|##(?=\[|vso\[)")

#: Longer texts are cut: a message of a real cell has at most 500 characters.
_LONGEST_LINE = 2000
#: So long may a text in Markdown be, which is read in a table.
_LONGEST = 300

_ENTITIES = {each: f"&#{ord(each)};" for each in "|`\\"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_APART = "&#8203;"
#: What has a meaning somewhere in a line; ``www.`` and ``://`` become links, ``@`` and ``#`` notify people.
_MEANING = re.compile(
    r"(?P<entity>[&<>|`\\])|(?P<mark>[*\[\]~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))"
    r"|(?P<call>@(?=\w)|\#(?=\d)|\bgh-(?=\d)|://|\bwww(?=\.))",
    re.IGNORECASE,
)
#: At the start of a block these would open a list, a heading, or a rule.
_OPENING = re.compile(r"^(?:[-+=#]|\d+(?P<stop>[.)])(?!\S))")


def legible(text: str, keep: Sequence[str] = ("\n", "\t")) -> str:
    r"""Text without terminal colours, and with what is not seen, or reorders what is, written as ``\u202e``.

    What comes out has no lone surrogates either: it can be encoded; and no line of it is a command in a log.
    """
    text = _COLOURING.sub("", text.replace("\r\n", "\n"))
    seen = "".join(
        f"\\u{ord(each):04x}" if each not in keep and unicodedata.category(each) in _UNSEEN else each for each in text
    )
    return without_commands(seen)


def without_commands(text: str) -> str:
    r"""Text no line of which is a command to whoever keeps the log: ``::error::`` at its start, ``##[error]`` anywhere.

    Their first character is written as ``\u003a`` or ``\u0023``, which JSON reads as what it was.
    """
    return _COMMAND.sub(_no_command, text)


def _no_command(found: re.Match[str]) -> str:
    return "\\u0023#" if found["indent"] is None else f"{found['indent']}\\u003a:"


def printable(text: str) -> str:
    """One line in which nothing moves the cursor, changes colours or cannot be encoded."""
    line = " ".join(legible(text).split())
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}..."


def escape_markdown(text: str) -> str:
    """One line in which GitHub sees no markup, no link, and nobody to notify. A text that is very long is cut."""
    line = printable(text)
    if len(line) > _LONGEST:
        line = f"{line[: _LONGEST - 4].rstrip()} ..."
    found = _OPENING.match(line)
    place = (found.start("stop") if found["stop"] else 0) if found else None
    if place is None:
        return _MEANING.sub(_harmless, line)
    rest = _MEANING.sub(_harmless, line[place + 1 :])
    return f"{line[:place]}&#{ord(line[place])};{rest}"


def _harmless(found: re.Match[str]) -> str:
    if found["entity"]:
        return _ENTITIES[found[0]]
    if found["mark"]:
        return f"\\{found[0]}"
    return f":{_APART}//" if found[0] == "://" else f"{found[0]}{_APART}"
