"""The page of what clauses rest on: each promise with the clauses that hold a backend to it, and what is reported."""

from __future__ import annotations

from conformance.api.promise import Promise
from conformance.contract import Clause, Level, shipped_clauses
from reference.words import linked, prose, table


def page() -> str:
    """The page."""
    clauses = shipped_clauses()
    reported = [each for each in clauses if each.level is Level.REPORTED]
    return "\n\n".join(
        [
            "# What each clause rests on",
            "Made of what the clauses themselves say. [Fairness](../fairness.md) tells how it was decided.",
            "## Promises",
            table(("what is documented", "where", "clauses"), [_row(*each) for each in _kept(clauses).items()]),
            "## Reported",
            "Nothing that is documented says it, or PyTorch leaves it open. A cell passes and its notes tell what was "
            "seen; no level depends on it.",
            table(
                ("clause", "what is looked at", "where it is left open"),
                [(_link(each), prose(each.statement), linked(each.source)) for each in reported],
            ),
        ]
    )


def _kept(clauses: tuple[Clause, ...]) -> dict[Promise, list[Clause]]:
    """The graded clauses of each promise, in the order in which they are stated."""
    found: dict[Promise, list[Clause]] = {}
    for clause in clauses:
        for promise in clause.promises if clause.level is not Level.REPORTED else ():
            found.setdefault(promise, []).append(clause)
    return found


def _row(promise: Promise, clauses: list[Clause]) -> tuple[str, str, str]:
    return prose(promise.says), linked(promise.source), ", ".join(map(_link, clauses))


def _link(clause: Clause) -> str:
    return f"[{clause.id}](#{clause.id.replace('.', '-')})"
