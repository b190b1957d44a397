"""The causes of a report as text for a terminal: what is wrong, an example, why to believe it, how to see it again."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from conformance.report.cause_details import script_beside
from conformance.report.causes import Cause
from conformance.report.model_text import model_text
from conformance.report.view import ReportView, attempt_lines

#: So many causes are told in full, and so many more in a line each, unless every one is asked for.
_IN_FULL = 5
_IN_A_LINE = 15
#: So many models are named of those in which a cause shows.
_CASES_SHOWN = 6
#: So many lines of a message, a statement or a list are shown.
_LINES_SHOWN = 3
_INDENT = "   "
_LABEL = 9


def causes_text(view: ReportView, width: int, folder: Path, *, every: bool = False) -> str:
    """What is wrong, the gravest first; empty where nothing is. ``folder`` is where report.json lies."""
    causes = view.causes
    if not causes:
        return ""
    full = causes if every else causes[:_IN_FULL]
    short = causes[len(full) :][:_IN_A_LINE]
    blocks = [f"Causes ({len(causes)}, of {_counted(len(view.failing), 'failing cell')})"]
    blocks += ["\n".join(_in_full(number, cause, width, folder)) for number, cause in enumerate(full, start=1)]
    lines = [_in_a_line(number, cause, width) for number, cause in enumerate(short, start=len(full) + 1)]
    if rest := len(causes) - len(full) - len(short):
        lines.append(f"... and {_counted(rest, 'more cause')}")
    if lines:
        blocks.append("\n".join([*lines, "(all in full: -v, or report.html)"]))
    return "\n\n".join(blocks)


def _in_full(number: int, cause: Cause, width: int, folder: Path) -> Iterator[str]:
    yield from _wrapped(f"{number}. {_head(cause)}", width, "", _INDENT)
    told = attempt_lines(cause.example) or [cause.message]
    for text in told:
        yield from _shortened(text, width, _INDENT)
    script = script_beside(cause.example, folder) if cause.reproducer else None
    facts = {
        "model": model_text(script.text) if script and cause.finding is None else "",
        "in": _listed(cause.cases) if cause.finding is None else cause.title,
        "example": cause.example.id,
        "inputs": "; ".join(cause.inputs),
        "clause": " ".join(cause.clause.statement.split()),
        "because": "; ".join(cause.grounds),
    }
    for label, text in facts.items():
        if text:
            yield from _shortened(text, width, f"{_INDENT}{label:<{_LABEL}}", _INDENT + " " * _LABEL)
    yield from _command(f"{_INDENT}{'again':<{_LABEL}}", cause.rerun.arguments(cause.example), width)
    path = folder / cause.reproducer
    if cause.reproducer and path.is_file():  # a report that is published has none beside it
        yield from _command(f"{_INDENT}{'script':<{_LABEL}}", ("python", str(path)), width)


def _in_a_line(number: int, cause: Cause, width: int) -> str:
    cells = _counted(len(cause.cells), "cell")
    text = f"{number}. {cause.verdict.value}, {cells}, {cause.title}: {cause.message}"
    return f"{_cut(text, width - len(cause.id) - 3)} [{cause.id}]"


def _head(cause: Cause) -> str:
    phase = f" in {cause.phase}" if cause.phase else ""
    clauses = f"{cause.clause.id}" if len(cause.clauses) == 1 else f"{len(cause.clauses)} clauses"
    programs = f", {_counted(cause.programs, 'program')}" if cause.programs else ""
    return f"{cause.verdict.value}{phase}: {_counted(len(cause.cells), 'cell')} of {clauses}{programs} [{cause.id}]"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _CASES_SHOWN} more" if len(names) > _CASES_SHOWN else ""
    return f"{', '.join(names[:_CASES_SHOWN])}{more}"


def _counted(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"


def _cut(text: str, width: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 4]} ..."


def _wrapped(text: str, width: int, first: str, others: str) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=others)


def _shortened(text: str, width: int, first: str, others: str | None = None) -> list[str]:
    """The text in a few lines."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=first if others is None else others,
        max_lines=_LINES_SHOWN,
        placeholder=" ...",
    )


def _command(first: str, words: Sequence[str], width: int) -> Iterator[str]:
    """A command that can be pasted: where a line is full it is continued, between words, as a shell has it."""
    line, empty = first, True
    for word in map(shlex.quote, words):
        if not empty and len(line) + 1 + len(word) > width - len(" \\"):
            yield f"{line} \\"
            line, empty = " " * (len(first) + 2), True
        line += word if empty else f" {word}"
        empty = False
    yield line
