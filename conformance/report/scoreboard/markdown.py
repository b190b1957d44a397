"""The scoreboard as Markdown, with the same tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance._util.escaping import escape_markdown
from conformance.report.formats.markdown import markdown_table
from conformance.report.scoreboard.boards import Board, Entry
from conformance.report.scoreboard.defects import Defects
from conformance.report.scoreboard.operators import Operators
from conformance.report.scoreboard.page import Scoreboard
from conformance.report.scoreboard.releases import Release


def scoreboard_markdown(scoreboard: Scoreboard) -> str:
    """The Markdown."""
    parts = ["# Conformance of PyTorch backends", *map(_section, scoreboard.boards)]
    if scoreboard.operators:
        parts += _operators(scoreboard.operators)
    if scoreboard.defects:
        parts += _defects(scoreboard.defects)
    if scoreboard.releases:
        parts += ["## Releases", *(text for each in scoreboard.releases for text in _release(each))]
    return "\n\n".join(parts) + "\n"


def _section(board: Board) -> str:
    if not board.readable:
        table = markdown_table(["folder", "problem"], [[each.folder, each.problem] for each in board.entries])
        return f"## Reports that cannot be read\n\n{table}"
    headers = [
        "backend",
        "level",
        "passed",
        "verdicts",
        "causes",
        "packages",
        *board.suites,
        "torch",
        "seed",
        "date",
        "self-test",
    ]
    table = markdown_table(headers, [_line(each, board.suites) for each in board.entries])
    return f"## Toolchain {escape_markdown(board.toolchain)}\n\n{table}"


def _line(entry: Entry, suites: Sequence[str]) -> list[str]:
    shares = (str(entry.suites.get(suite, "")) for suite in suites)
    rest = (entry.torch, entry.seed, entry.started, entry.selftest)
    level = f"{entry.level} {entry.remarks}".strip()
    judged = (level, str(entry.all), entry.verdicts, str(entry.causes), entry.versions)
    return [entry.title, *judged, *shares, *rest]


def _operators(operators: Operators) -> Iterator[str]:
    across = operators.across
    rows = [[dtype, *(str(share or "") for share in shares)] for dtype, shares in across.dtypes]
    headers = ["dtype", *(each.title for each in across.entries)]
    yield f"## Operators right, by dtype\n\n{markdown_table(headers, rows)}"


def _defects(defects: Defects) -> Iterator[str]:
    rows = [[kind.title, *(str(kind.of(one) or "") for one in defects.owners)] for kind in defects.kinds]
    yield f"## Defects by kind\n\n{markdown_table(['kind', *defects.owners], rows)}"


def _release(release: Release) -> Iterator[str]:
    before, after = escape_markdown(release.before.title), escape_markdown(release.after.title)
    counts = ", ".join(f"{count} {word}" for word, count in release.counts.items())
    told = " ".join(filter(None, (escape_markdown(release.what) + ".", f"{counts}.", release.caveat)))
    yield f"### {before} → {after}\n\n{told}"
    if release.cells:
        rows = [[each.cell, each.word, each.before, each.after] for each in release.cells]
        yield markdown_table(["cell", "what", "before", "after"], rows)
