"""The result of a self-test, for a terminal and as Markdown."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tabulate import tabulate

from conformance.discovery.describing import KnownSaboteur
from conformance.targets import LOCAL


def result_text(document: dict[str, Any], width: int) -> str:
    """What ends a self-test: escapes, unproven clauses, controls, and the count."""
    lines = []
    if document["untried"]:
        lines.append(f"INCOMPLETE: {document['untried']} tasks were not tried; what follows is of the others")
    errors = document.get("errors", {})
    lines += [_bullet(f"the harness failed in {task}: {error}", width) for task, error in errors.items()]
    for saboteur in document["saboteurs"]:
        for row in saboteur["clauses"]:
            if not row["caught"]:
                lines.append(_bullet(f"{saboteur['name']} escaped {_escape(saboteur, row)}", width))
    lines += [_bullet(f"unproven: no saboteur trips {clause}", width) for clause in document["unproven"]]
    for control in document["controls"]:
        failing = [f"{row['cell']}: {row['verdict']}: {row['message']}" for row in control["failing"]]
        lines += [_bullet(f"the control {control['name']} fails {text}", width) for text in failing]
        lines.append(
            f"control {control['name']}: {control['cells'] - len(failing)} of {control['cells']} cells without fault"
        )
    score = document["score"]
    clauses = len({row["clause"] for each in document["saboteurs"] for row in each["clauses"] if row["caught"]})
    unproven = "" if document["partial"] else f"{len(document['unproven'])} unproven, "
    lines.append(
        f"self-test: {score['caught']} of {score['saboteurs']} caught, {clauses} clauses proven, "
        f"{unproven}seed {document['seed']}, {document['seconds']} s"
    )
    return "\n".join(lines)


def _escape(saboteur: dict[str, Any], row: dict[str, Any]) -> str:
    wanted = saboteur["expected"]
    phases = "/".join(wanted["phases"])
    return (
        f"{row['clause']}: expected {'/'.join(wanted['verdicts'])} in {phases}, "
        f"found {row['verdict']} in {row['phase'] or 'no phase'} at {row['cell']}: {row['message'][:200]}"
    )


def saboteurs_text(saboteurs: Sequence[KnownSaboteur], width: int) -> str:
    """Every saboteur with its sentence and the clauses that must catch it."""
    lines = []
    for each in saboteurs:
        lines.append(f"{each.source.name}: {', '.join(each.caught_by)}")
        lines.append(textwrap.fill(each.sabotage, width, initial_indent="    ", subsequent_indent="    "))
    return "\n".join(lines)


def matrix_markdown(document: dict[str, Any]) -> str:
    """The kill matrix: for each clause the saboteurs that it catches, for each saboteur what happened."""
    score = document["score"]
    killers: dict[str, list[str]] = {}
    rows = []
    for saboteur in document["saboteurs"]:
        for row in saboteur["clauses"]:
            mark = f"{row['verdict']} ({row['phase']})" if row["caught"] else f"**escaped**: {row['verdict']}"
            where = "" if saboteur["target"] == LOCAL else f", {saboteur['target']} target"
            cell = f"`{row['cell'][len(row['clause']) :]}`{where}"
            rows.append([f"`{saboteur['name']}`", f"`{row['clause']}`", mark, cell])
            if row["caught"]:
                killers.setdefault(row["clause"], []).append(saboteur["name"])
    verdicts = Counter(row["verdict"] for each in document["saboteurs"] for row in each["clauses"] if row["caught"])
    parts = [
        "# Self-test",
        *(
            [f"INCOMPLETE: {document['untried']} tasks were not tried; what follows is of the others."]
            if document["untried"]
            else []
        ),
        *(f"The harness failed in {task}: {error}" for task, error in document.get("errors", {}).items()),
        f"{score['caught']} of {score['saboteurs']} saboteurs caught; {len(killers)} clauses proven, "
        f"{len(document['unproven'])} unproven; torch {document['torch']}, {document['platform']}, seed "
        f"{document['seed']}, {document['seconds']} s.",
        "Kills by verdict: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())) + ".",
        _controls(document),
        "## Unproven clauses",
        "\n".join(f"- `{clause}`" for clause in document["unproven"]) or "None.",
        "## What each clause catches",
        tabulate(
            [[f"`{clause}`", len(names), ", ".join(names)] for clause, names in sorted(killers.items())],
            headers=["clause", "kills", "saboteurs"],
            tablefmt="github",
        ),
        "## What caught each saboteur",
        tabulate(rows, headers=["saboteur", "clause", "verdict (phase)", "cell"], tablefmt="github"),
        "## What each saboteur does",
        tabulate(
            [[f"`{each['name']}`", each["sabotage"]] for each in document["saboteurs"]],
            headers=["saboteur", "sabotage"],
            tablefmt="github",
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _controls(document: dict[str, Any]) -> str:
    lines = [
        f"- `{each['name']}`: {each['cells'] - len(each['failing'])} of {each['cells']} cells without fault"
        for each in document["controls"]
    ]
    return "\n".join(["Controls, which must pass everything:", "", *lines])


def _bullet(text: str, width: int) -> str:
    return textwrap.fill(text, width, subsequent_indent="    ")
