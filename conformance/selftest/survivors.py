"""The result of a run of mutants, for a terminal: the score, and what survived."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Mapping
from typing import Any


def score_line(document: Mapping[str, Any]) -> str:
    """How many of the active mutants were killed, in all and of each toolchain."""
    score = document["score"]
    equivalent = score["drawn"] - score["active"]
    parts = [
        f"mutants: {_share(score)} of {score['active']} active killed {_interval(score)} "
        f"({equivalent} equivalent of {score['drawn']})"
    ]
    if len(document["toolchains"]) > 1:
        parts += [f"{name} {_share(each)} {_interval(each)}" for name, each in document["toolchains"].items()]
    return ", ".join(parts)


def survivors_text(document: Mapping[str, Any], width: int) -> str:
    """The score, how soon mutants were killed, who caught which, and each survivor with a witness of its fault."""
    lines = [score_line(document)]
    if document["untried"]:
        lines.insert(0, f"INCOMPLETE: {document['untried']} mutants were not tried")
    median = document["score"]["median_seconds"]
    if median is not None:
        lines.append(f"median time to the first kill: {median} s, {document['programs']} programs a theme at most")
    if document["written"] is not None:
        counts = document["written"]
        lines.append(
            f"of {counts['tried']} held against both, generated and written clauses catch {counts['both']}, "
            f"generated ones alone {counts['generated_alone']}, written ones alone {counts['written_alone']}, "
            f"neither {counts['neither']}"
        )
    rows = [row for row in document["mutants"] if row["active"] and row["kill"] is None]
    if rows:
        lines += ["", f"{len(rows)} survived", *_by_kind(rows)]
    for row in rows:
        lines += ["", *_survivor(row, width)]
    failed = [row for row in document["mutants"] if row["errors"]]
    for row in failed:
        text = f"no verdict on a mutant, at {row['toolchain']} {row['number']}: {row['errors'][0]}"
        lines.append(textwrap.fill(text, width, subsequent_indent="    "))
    return "\n".join(lines)


def _share(score: Mapping[str, Any]) -> str:
    return f"{100 * score['killed'] / score['active']:.1f}%" if score["active"] else "none"


def _interval(score: Mapping[str, Any]) -> str:
    return f"[{score['low']}, {score['high']}]"


def _by_kind(rows: list[dict[str, Any]]) -> list[str]:
    conditions = Counter(axis for row in rows for axis in row["spec"]["when"])
    effects = Counter(row["spec"]["effect"] for row in rows)
    return [
        f"    by {name}: " + ", ".join(f"{count} {what}" for what, count in counted.most_common())
        for name, counted in (("condition", conditions), ("effect", effects))
    ]


def _survivor(row: dict[str, Any], width: int) -> list[str]:
    fired = row["fired_in_trial"]
    met = f"its conditions were met {fired} times" if fired else "its conditions were never met"
    head = f"{row['toolchain']} {row['number']}: {row['sentence']}; {met} by what was tried"
    return [
        textwrap.fill(head, width, subsequent_indent="    "),
        f"    --mutant '{json.dumps(row['spec'])}'",
        textwrap.fill("seen by its witness: " + "; ".join(row["differences"]), width, initial_indent="    ",
                      subsequent_indent="    "),
        textwrap.indent(row["witness"], "    | "),
    ]  # fmt: skip
